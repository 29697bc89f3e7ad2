"""Adult as ARX's own tests use it."""

ADULT_NINE = (
    "sex",
    "age",
    "race",
    "marital_status",
    "education",
    "native_country",
    "workclass",
    "occupation",
    "income",
)
