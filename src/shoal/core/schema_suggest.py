"""Suggest a role for each column, always with the reason, from its name and its counts alone.

Nothing is decided silently: where name and counts do not settle it the role is `undecided`, the
reason says what speaks for what, and publishing waits for a person to choose. Names are read in
English, German, French, Spanish and Italian: cut into words first (`patientID`, `zip_code`,
`Marital Status`), of which hints match whole ones, so that `message` is not an age.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from shoal.core.column import Column, Field, Profile, default_hierarchy

# What a name suggests


_PHRASES = {
    "identifier": """
        ssn; nhs number; social security; passport; passport number; iban; tax number;
        insurance number; account number; case number; record number; license plate;
        email; e mail; mail; phone; phone number; telephone; mobile; fax; ip; ip address; url;
        user name; login; full name; first name; last name; family name; maiden name; given name;
        surname; forename; street; initials; fingerprint; photo; uuid; guid;
        patient name; person name; client name; customer name;
        vorname; nachname; familienname; telefon; handy; strasse; ausweis; versichertennummer;
        prenom; nom de famille; courriel; rue; numero de securite sociale;
        apellido; apellidos; correo; telefono; calle; dni; nif; cognome; codice fiscale;
        cellulare""",
    "quasi": """
        age; sex; gender; birth; birthday; birth date; dob; yob; date of birth; birth year; death;
        zip; zip code; postal; postal code; post code; race; ethnicity; ethnic; education; school;
        degree; marital; married; occupation; profession; job; workclass; work class; employment;
        relationship; religion; nationality; citizenship; language; country; city; town; county;
        state; region; district; municipality; canton; household size; children; height; admission;
        admitted; discharge; discharged;
        alter; geschlecht; geburt; geburtsdatum; geburtsjahr; geburtstag; plz; postleitzahl; beruf;
        bildung; familienstand; nationalitat; staatsangehorigkeit; land; wohnort; stadt; ort;
        aufnahmedatum; entlassung;
        sexe; naissance; date de naissance; code postal; metier; etat civil; pays; ville; commune;
        edad; sexo; nacimiento; fecha de nacimiento; codigo postal; estado civil; profesion; pais;
        ciudad; provincia; nacionalidad;
        eta; sesso; nascita; data di nascita; codice postale; stato civile; professione; paese;
        citta; comune; nazionalita; cittadinanza""",
    "sensitive": """
        diagnosis; diagnoses; dx; disease; illness; condition; problem; complaint; symptom; icd;
        diag; icd code; salary; income; wage; pay; result; outcome; drug; medication; prescription;
        treatment; therapy; hiv; cancer; allergy; crime; conviction; debt; credit score;
        test result; diagnose; krankheit; erkrankung; befund; gehalt;
        einkommen; lohn; medikament; behandlung;
        diagnostic; maladie; salaire; revenu; medicament; traitement;
        diagnostico; enfermedad; salario; ingreso; ingresos; medicamento; tratamiento;
        diagnosi; malattia; stipendio; reddito; farmaco; terapia""",
    "provider": """
        hospital; provider; clinic; site; source; data source; practice; institution; centre;
        center; facility; krankenhaus; klinik; spital; einrichtung; hopital; clinique;
        etablissement; clinica; centro; ospedale; struttura""",
    "weight": """
        weight; weights; wt; fnlwgt; wgt; pweight; survey weight; sample weight; sampling weight;
        design weight; person weight; gewichtung; ponderation; ponderacion; ponderazione""",
    "person": """
        patient; person; patient number; patienten nummer; mrn; medical record;
        medical record number; subject; client; participant; respondent;
        pid; patientin; personne; paciente; persona; paziente; patienten; pseudonym; pseudonyme""",
    "label": """
        id; ids; identifier; key; name; names; address; adresse; direccion; indirizzo; nom; nombre;
        nome; kennung""",
}

_SPARE = frozenset("id ids identifier key no nr nbr num number code ref hash nummer numero".split())
"""Words that may stand beside a person's word without changing what the column is."""
_BESIDE_PROVIDER = _SPARE | frozenset("name names nom nombre nome kennung treating our own".split())
"""The same for a provider's: `hospital_name` is one, `time_in_hospital` is none."""


def split_words(name: str) -> tuple[str, ...]:
    """The words of a column's name, in lower case and without accents.

    >>> [split_words(name) for name in ("PatientID", "Marital-Status", "Größe_cm", "ICD10")]
    [('patient', 'id'), ('marital', 'status'), ('grosse', 'cm'), ('icd',)]
    """
    split = re.sub(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    bare = unicodedata.normalize("NFKD", split.casefold())
    letters = "".join(letter for letter in bare if not unicodedata.combining(letter))
    return tuple(re.findall(r"[^\W\d_]+", letters))


_HINTS = {
    role: {tuple(phrase.split()) for phrase in text.split(";")} for role, text in _PHRASES.items()
}
_LONGEST = max(len(phrase) for phrases in _HINTS.values() for phrase in phrases)


def find_name_hints(name: str) -> dict[str, str]:
    """The roles that a column's name suggests, each with the words that do.

    Besides the roles there is `label`: `id`, `name`, `address`, which say little when they stand
    beside a stronger word (`hospital_name`). Longer phrases hide the shorter ones inside them
    (`person weight` is no person).

    >>> find_name_hints("zipCode"), find_name_hints("message"), find_name_hints("hospital_name")
    ({'quasi': 'zip code'}, {}, {'provider': 'hospital', 'label': 'name'})
    """
    words, hints, at = split_words(name), dict[str, str](), 0
    while at < len(words):
        role, length = _longest_hint(words[at:])
        if role:
            hints.setdefault(role, " ".join(words[at : at + length]))
        at += length
    for role, spare in (("person", _SPARE), ("provider", _BESIDE_PROVIDER)):
        if role in hints and not set(words) <= spare.union(hints[role].split()):
            del hints[role]  # `patient_id` names a person; `patient_age` does not
    return hints


def _longest_hint(parts: tuple[str, ...]) -> tuple[str, int]:
    """The role of the longest phrase that the words start with, and how many words it takes."""
    for length in range(min(_LONGEST, len(parts)), 0, -1):
        for role, phrases in _HINTS.items():
            if parts[:length] in phrases:
                return role, length
            if length == 1 and _joined(parts[0], phrases):
                return role, 1
    return "", 1


def _joined(word: str, phrases: set[tuple[str, ...]]) -> bool:
    """Whether the word is a phrase written together (`zipcode`), or one in the plural (`drugs`)."""
    return any(word == "".join(phrase) for phrase in phrases if len(phrase) > 1) or (
        word.endswith("s") and (word[:-1],) in phrases
    )


# What name and counts suggest together


UNIQUE_SHARE = 0.95
"""From this share of rows with a value of their own, a column points at single rows."""

MIN_ROWS = 20
"""In a table of fewer rows nearly everything is unique, so uniqueness says nothing."""

_SINGLE = ("provider", "person", "weight")
_BODY = frozenset("body height bmi blood grosse taille talla altezza".split())

_PLAIN = frozenset(("weight", "weights", "wt"))

RoleReason = tuple[str, str]
"""A role and the reason for it."""


def suggest_columns(fields: Sequence[Field], profiles: Mapping[str, Profile]) -> tuple[Column, ...]:
    """A column with role and reason for each field, in their order.

    >>> age = suggest_columns([Field("age", "number")], {"age": Profile(9, 0, 5, 2, 2.2, 2, 2)})[0]
    >>> age.role, age.reason
    ('quasi', "the name says 'age'; 5 values in 9 rows")
    """
    body = any(_BODY.intersection(split_words(field.name)) for field in fields)
    taken: dict[str, str] = {}
    columns = []
    for field in fields:
        role, reason = _judge(field, profiles[field.name], body)
        if role in taken:
            reason = f"{reason}; but '{taken[role]}' is the {role} already"
            role = "identifier" if role == "person" else "undecided"
        elif role in _SINGLE:
            taken[role] = field.name
        in_order = field.ordered and role == "sensitive"
        hierarchy = default_hierarchy(field) if role == "quasi" or in_order else None
        columns.append(Column(field.name, role, field.kind, hierarchy, reason=reason))
    return tuple(columns)


def _judge(field: Field, profile: Profile, body: bool) -> RoleReason:
    if field.kind == "text":
        return "identifier", "free text can name anybody and cannot be generalised: left out"
    if profile.distinct == 0:
        return "undecided", "no row has a value: leave it out as an identifier, or keep it"
    hints = find_name_hints(field.name)
    strong = {role: word for role, word in hints.items() if role != "label"}
    if "identifier" in strong or "person" in strong:
        return _person_or_identifier(strong, profile)
    if len(strong) > 1:
        words = " and ".join(f"'{word}' ({role})" for role, word in strong.items())
        return "undecided", f"the name says {words}; {_count(profile)}"
    if strong:
        return _by_name(field, profile, strong, "label" in hints, body)
    if "label" in hints:
        return _label(field, profile, hints["label"])
    return _by_counts(field, profile)


def _person_or_identifier(strong: Mapping[str, str], profile: Profile) -> RoleReason:
    reason = f"the name says '{strong.get('identifier') or strong['person']}'"
    if "identifier" in strong:
        return "identifier", f"{reason}, which points at one person; {_count(profile)}"
    filled = profile.rows - profile.nulls
    if profile.distinct < filled:
        return "person", f"{reason}, and {_count(profile)}: some people have several rows"
    return "person", f"{reason}, and every row has its own: one row a person"


def _by_name(
    field: Field, profile: Profile, strong: Mapping[str, str], label: bool, body: bool
) -> RoleReason:
    ((role, word),) = strong.items()
    reason = f"the name says '{word}'; {_count(profile)}"
    if label and _points_at_rows(profile):
        return "identifier", f"{reason}: nearly every row has its own"
    if role == "weight" and field.kind != "number":
        return "undecided", f"{reason}; but a survey weight is a number, and this is a {field.kind}"
    if role == "weight" and (body or word in _PLAIN):
        return "undecided", f"{reason}; a survey weight, or body weight (quasi or sensitive)?"
    return role, reason


def _label(field: Field, profile: Profile, word: str) -> RoleReason:
    reason = f"the name says '{word}'; {_count(profile)}"
    if split_words(field.name) == (word,) and word not in ("id", "ids", "key"):
        return "identifier", reason
    if profile.distinct == profile.rows - profile.nulls or _points_at_rows(profile):
        return "identifier", f"{reason}: nearly every row has its own"
    return "undecided", f"{reason}, so it repeats: people on several rows (person), or things?"


def _by_counts(field: Field, profile: Profile) -> RoleReason:
    counts = _count(profile)
    if field.kind == "date":
        return "quasi", f"a date: others often know when something happened; {counts}"
    if profile.distinct == 1:
        return "undecided", f"{counts}: keep it if everybody may know it, or leave it out"
    if not _points_at_rows(profile):
        return "undecided", (
            f"no hint in the name; {counts}, {profile.entropy:.1f} bits: known to others (quasi), "
            "confidential (sensitive), or harmless (keep)?"
        )
    if field.kind == "number":
        return "undecided", f"{counts}, nearly one each: given to people, or measured?"
    return "identifier", f"{counts}: nearly every row has its own"


def _points_at_rows(profile: Profile) -> bool:
    filled = profile.rows - profile.nulls
    return filled >= MIN_ROWS and profile.once >= UNIQUE_SHARE * filled


def _count(profile: Profile) -> str:
    value = "value" if profile.distinct == 1 else "values"
    row = "row" if profile.rows == 1 else "rows"
    empty = f", {profile.nulls:,} of them empty" if profile.nulls else ""
    return f"{profile.distinct:,} {value} in {profile.rows:,} {row}{empty}"
