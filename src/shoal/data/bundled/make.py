"""Writes the bundled tables: `python -m shoal.data.bundled.make tests/golden` in the repository.

The city is invented. Its 25 ZIP codes differ in size and age, its diagnoses depend on age, sex and
season as in hospital statistics (only the shape, no real figures), and about one patient in six is
transferred between the two hospitals on the day of admission, so that both hold the same row.

So is the town: a medical table without names (`medical.csv`) and a voter list with them
(`voters.csv`), as in Figure 1 of Sweeney, k-anonymity: a model for protecting privacy, 2002. Most
grown-up patients are registered to vote, and some have a twin at the same address.
"""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

SEED = 20_020_505
FIRST_DAY = date(2024, 1, 1)
DAYS = 366
TRANSFERRED, ONLY_ST_ANNA, ONLY_HARBOUR = 500, 2_500, 2_100
COLUMNS = ("patient", "name", "age", "sex", "zip", "admitted", "diagnosis")

# Ages 0-4, 5-15, 16-29, 30-48, 49-64, 65-79, 80 and over.
BAND_STARTS = (5, 16, 30, 49, 65, 80)
BAND_PATIENTS = (5, 5, 11, 17, 22, 25, 15)
ADULT = 16

# Diagnosis: (how common in each age band, how many times as common in men as in women).
ALWAYS, NEVER = float("inf"), 0.0
DIAGNOSES: dict[str, tuple[tuple[float, ...], float]] = {
    "Appendicitis": ((1, 14, 8, 4, 2, 1, 1), 1.3),
    "Asthma": ((10, 12, 5, 3, 2, 2, 1), 0.9),
    "Breast cancer": ((0, 0, 0.3, 5, 9, 8, 4), 0.01),
    "Chronic kidney disease": ((0, 0, 1, 2, 5, 9, 10), 1.2),
    "COPD": ((0, 0, 0, 1, 9, 12, 8), 1.3),
    "Concussion": ((6, 16, 9, 4, 2, 3, 4), 1.6),
    "Depression": ((0, 4, 11, 10, 7, 3, 2), 0.6),
    "Diabetes, type 1": ((2, 7, 4, 2, 1, 1, 0), 1.0),
    "Diabetes, type 2": ((0, 0, 1, 4, 10, 11, 7), 1.3),
    "Epilepsy": ((8, 8, 5, 3, 2, 2, 2), 1.1),
    "Gallstones": ((0, 0, 5, 9, 8, 6, 4), 0.5),
    "Heart attack": ((0, 0, 0.3, 4, 12, 13, 10), 2.2),
    "Heart failure": ((0, 0, 0.2, 1, 5, 14, 22), 1.1),
    "Hepatitis B": ((0, 0, 2, 3, 2, 1, 0), 1.6),
    "Hip fracture": ((0, 0, 0.3, 1, 3, 9, 22), 0.5),
    "HIV infection": ((0, 0, 3, 4, 2, 0.5, 0), 3.0),
    "Influenza": ((14, 7, 4, 3, 3, 4, 6), 1.0),
    "Pneumonia": ((16, 5, 3, 3, 5, 8, 14), 1.2),
    "Pregnancy complication": ((0, 0, 34, 22, 0, 0, 0), NEVER),
    "Prostate cancer": ((0, 0, 0, 0, 6, 11, 7), ALWAYS),
    "Stroke": ((0, 0, 0.3, 2, 7, 13, 15), 1.2),
}
WINTER = ("Influenza", "Pneumonia")

# ZIP code: (share of the city, how young its adults are: 1 = students, -1 = pensioners,
# how much nearer to St. Anna than to Harbour).
ZIPS: dict[str, tuple[float, float, float]] = {
    "04101": (9, 0.6, 1.0),
    "04102": (8, 0.4, 1.5),
    "04103": (7, 0.8, 2.0),
    "04105": (6, 0.2, 2.5),
    "04107": (4, -0.2, 3.0),
    "04109": (2, 0.9, 2.0),
    "04112": (7, 0.0, 1.5),
    "04113": (5, -0.3, 2.0),
    "04115": (4, -0.4, 2.5),
    "04116": (3, 0.0, 3.0),
    "04118": (1.2, -0.6, 3.0),
    "04119": (0.8, -0.8, 3.0),
    "04121": (6, 0.3, 0.5),
    "04122": (5, 0.1, 0.4),
    "04124": (5, 0.0, 0.4),
    "04126": (3, -0.2, 0.3),
    "04129": (1.5, -0.5, 0.3),
    "04151": (4, 0.2, 0.6),
    "04152": (3, 0.0, 0.5),
    "04155": (2, -0.3, 0.7),
    "04158": (1, -0.6, 0.8),
    "04173": (1.5, -0.4, 1.0),
    "04175": (0.8, -0.7, 1.0),
    "04181": (0.6, -0.5, 0.6),
    "04189": (0.4, -0.9, 0.8),
}

WOMEN = """Ada Agnes Alma Amira Anna Astrid Clara Dora Edith Elena Elif Ella Emma Esther Eva Fatima
Frida Greta Hanna Helen Ida Ines Irene Jana Johanna Julia Karin Lea Lena Lina Lucia Maria Marta Maya
Mila Nadia Nina Nora Olga Paula Rosa Ruth Sara Selma Sofia Tessa Vera Wanda Yara Zoe""".split()
MEN = """Adam Albin Ali Anton Arno Bruno Carl Daniel David Edgar Elias Emil Erik Felix Frank Georg
Hans Hugo Ivan Jakob Jan Jonas Josef Karim Konrad Lars Leo Liam Linus Lukas Marco Martin Max Milan
Nils Noah Omar Oskar Otto Paul Peter Rafael Robin Samuel Simon Theo Tomas Victor Walter
Yusuf""".split()
SURNAMES = """Abel Ahlers Anders Arslan Bach Baker Becker Berg Blum Brandt Carlsen Costa Dahl Demir
Dietz Eder Falk Fischer Frost Garcia Graf Haas Hahn Hansen Hartmann Holm Horvat Jansen Jensen Kaya
Keller Klein Koch Kovac Kraus Kruse Lang Larsen Lind Lorenz Marino Mayer Moreau Moser Nagy Nowak
Olsen Peters Petrov Pohl Rossi Roth Sander Santos Sauer Schmidt Seidel Silva Simons Stein Sommer
Thomsen Torres Ulrich Vogel Wagner Weber Winter Wolf Yilmaz Zimmer""".split()

Row = tuple[str | int, ...]


def draw_weighted(rng: Generator, weights: Sequence[float], size: int) -> NDArray[np.int64]:
    """Indices drawn with the given weights."""
    share = np.asarray(weights, dtype=np.float64)
    return rng.choice(len(share), size=size, p=share / share.sum())


def draw_ages(rng: Generator, size: int) -> NDArray[np.int64]:
    """Ages of hospital patients: the band by its share, evenly inside, thinning out above 80."""
    starts, ends = (0, *BAND_STARTS), (*BAND_STARTS, 81)
    band = draw_weighted(rng, BAND_PATIENTS, size)
    age = rng.integers(np.take(starts, band), np.take(ends, band))
    beyond = (rng.geometric(0.16, size) - 1) % 20
    return np.asarray(np.where(band == len(BAND_STARTS), 80 + beyond, age), dtype=np.int64)


def draw_zip(rng: Generator, age: int, pull: float) -> str:
    """A ZIP code: by size, by age, and by the pull of a hospital (+1 St. Anna, -1 Harbour)."""
    youth = float(np.clip((45 - age) / 25, -1, 1)) if age >= ADULT else 0.0
    weights = [s * np.exp(0.9 * y * youth) * near**pull for s, y, near in ZIPS.values()]
    return list(ZIPS)[int(draw_weighted(rng, weights, 1)[0])]


def draw_diagnosis(rng: Generator, age: int, sex: str) -> str:
    """A diagnosis by age band and sex; pregnancies only in women of 16 to 48."""
    band = int(np.searchsorted(BAND_STARTS, age, side="right"))
    weights = [rates[band] * sex_factor(men, sex) for rates, men in DIAGNOSES.values()]
    return list(DIAGNOSES)[int(draw_weighted(rng, weights, 1)[0])]


def sex_factor(men: float, sex: str) -> float:
    """How much a diagnosis's rate counts for one sex."""
    if men == ALWAYS:
        return float(sex == "m")
    return men if sex == "m" else 1.0


def draw_day(rng: Generator, diagnosis: str) -> str:
    """A day of admission in 2024; respiratory infections gather in winter."""
    day = int(rng.integers(DAYS))
    if diagnosis in WINTER and rng.random() < 0.7:
        day = int(rng.normal(20, 35)) % DAYS
    return (FIRST_DAY + timedelta(days=day)).isoformat()


def draw_people(rng: Generator, ids: Iterable[int], pull: float) -> list[Row]:
    """One row for each register number."""
    numbers = list(ids)
    rows: list[Row] = []
    for number, age in zip(numbers, draw_ages(rng, len(numbers)).tolist(), strict=True):
        sex = "f" if rng.random() < 0.52 else "m"
        name = draw_name(rng, sex)
        diagnosis = draw_diagnosis(rng, age, sex)
        day = draw_day(rng, diagnosis)
        rows.append((f"R{number:06d}", name, age, sex, draw_zip(rng, age, pull), day, diagnosis))
    return rows


def hospitals(seed: int = SEED) -> tuple[list[Row], list[Row]]:
    """The rows of St. Anna and of Harbour, each in the order of admission.

    >>> anna, harbour = hospitals()
    >>> len(anna), len(harbour), len(set(anna) & set(harbour))
    (3000, 2600, 500)
    """
    rng = np.random.default_rng(seed)
    total = TRANSFERRED + ONLY_ST_ANNA + ONLY_HARBOUR
    ids = rng.choice(400_000, size=total, replace=False).tolist()
    both = draw_people(rng, ids[:TRANSFERRED], 0.0)
    anna = draw_people(rng, ids[TRANSFERRED : TRANSFERRED + ONLY_ST_ANNA], 1.0)
    harbour = draw_people(rng, ids[TRANSFERRED + ONLY_ST_ANNA :], -1.0)
    return sorted(both + anna, key=admission), sorted(both + harbour, key=admission)


def admission(row: Row) -> tuple[str, str]:
    """The order of the files: by day, then by register number."""
    return str(row[COLUMNS.index("admitted")]), str(row[0])


# The town: a medical table and a voter list

TOWN_SEED = 20_021_010
PATIENTS, VOTERS, TWINS = 600, 2_500, 24
REGISTERED = 0.85
"""The share of grown-up patients who are registered to vote."""
FULL_AGE = 18
MEDICAL = (
    "ethnicity",
    "visit_date",
    "diagnosis",
    "procedure",
    "medication",
    "total_charge",
    "zip",
    "birth_date",
    "sex",
)
VOTER_LIST = ("name", "address", "zip", "birth_date", "sex", "party", "registered")

# ZIP code: (share of the town, its streets).
QUARTERS: dict[str, tuple[float, list[str]]] = {
    "04210": (9, ["Main St", "Court St", "Elm St", "Spring St", "High St", "Academy St"]),
    "04212": (5, ["Mill St", "Canal St", "Water St", "Bridge St"]),
    "04240": (8, ["Pine St", "Walnut St", "Maple St", "Ash St", "Birch St", "College St"]),
    "04243": (3, ["Lake Rd", "Orchard Ln", "Meadow Ln"]),
    "04250": (2, ["Ridge Rd", "Quarry Rd"]),
    "04252": (1, ["Ferry Rd", "Old County Rd"]),
}
ETHNICITIES = {"White": 70, "Hispanic": 12, "Black": 10, "Asian": 6, "Native American": 2}
PARTIES = {"Democratic": 38, "Unenrolled": 30, "Republican": 28, "Green": 4}

# Diagnosis: (procedure, medication, typical charge).
TREATMENTS: dict[str, tuple[str, str, int]] = {
    "Appendicitis": ("Appendectomy", "Cefoxitin", 14_000),
    "Asthma": ("Spirometry", "Salbutamol", 400),
    "Breast cancer": ("Biopsy", "Tamoxifen", 9_000),
    "Chronic kidney disease": ("Dialysis", "Furosemide", 5_000),
    "COPD": ("Spirometry", "Tiotropium", 700),
    "Concussion": ("Head scan", "Paracetamol", 1_300),
    "Depression": ("Psychotherapy", "Sertraline", 250),
    "Diabetes, type 1": ("Blood test", "Insulin", 450),
    "Diabetes, type 2": ("Blood test", "Metformin", 300),
    "Epilepsy": ("Brain wave recording", "Valproate", 900),
    "Gallstones": ("Gallbladder removal", "Ibuprofen", 11_000),
    "Heart attack": ("Angioplasty", "Clopidogrel", 24_000),
    "Heart failure": ("Echocardiogram", "Furosemide", 3_500),
    "Hepatitis B": ("Blood test", "Tenofovir", 800),
    "Hip fracture": ("Hip replacement", "Enoxaparin", 21_000),
    "HIV infection": ("Blood test", "Dolutegravir", 1_900),
    "Influenza": ("Examination", "Oseltamivir", 180),
    "Pneumonia": ("Chest X-ray", "Amoxicillin", 1_100),
    "Pregnancy complication": ("Ultrasound", "Iron", 2_400),
    "Prostate cancer": ("Biopsy", "Bicalutamide", 8_000),
    "Stroke": ("Head scan", "Alteplase", 17_000),
}


class Person(NamedTuple):
    """Somebody of the town."""

    name: str
    address: str
    zip: str
    born: date
    sex: str

    @property
    def age(self) -> int:
        """In full years at the beginning of the year."""
        birthday = (self.born.month, self.born.day) > (FIRST_DAY.month, FIRST_DAY.day)
        return FIRST_DAY.year - self.born.year - birthday


def draw_share(rng: Generator, shares: dict[str, int]) -> str:
    """One of the names, by its share."""
    return list(shares)[int(draw_weighted(rng, list(shares.values()), 1)[0])]


def draw_person(rng: Generator, age: int) -> Person:
    """Somebody of about that age."""
    code = list(QUARTERS)[int(draw_weighted(rng, [share for share, _ in QUARTERS.values()], 1)[0])]
    address = f"{rng.integers(1, 240)} {rng.choice(QUARTERS[code][1])}"
    born = FIRST_DAY - timedelta(days=round(365.25 * (age + rng.random())))
    sex = "f" if rng.random() < 0.52 else "m"
    return Person(draw_name(rng, sex), address, code, born, sex)


def draw_name(rng: Generator, sex: str) -> str:
    """A first name and a surname."""
    return f"{rng.choice(WOMEN if sex == 'f' else MEN)} {rng.choice(SURNAMES)}"


def draw_visit(rng: Generator, person: Person) -> Row:
    """A patient's row: what was found and done, when, for how much, and no name."""
    diagnosis = draw_diagnosis(rng, person.age, person.sex)
    procedure, medication, typical = TREATMENTS[diagnosis]
    charge = round(typical * float(rng.lognormal(0, 0.35)))
    visit = draw_share(rng, ETHNICITIES), draw_day(rng, diagnosis), diagnosis
    person_columns = person.zip, person.born.isoformat(), person.sex
    return (*visit, procedure, medication, charge, *person_columns)


def draw_voter(rng: Generator, person: Person) -> Row:
    """A person's row in the voter list: registered some day after coming of age."""
    since = (FIRST_DAY - person.born).days - FULL_AGE * 365.25
    day = FIRST_DAY - timedelta(days=int(rng.integers(max(int(since), 1))))
    person_columns = person.name, person.address, person.zip, person.born.isoformat(), person.sex
    return (*person_columns, draw_share(rng, PARTIES), day.isoformat())


def draw_twin(rng: Generator, person: Person) -> Person:
    """A twin of the same sex who lives at the same address."""
    first, last = person.name.split()
    others = [name for name in (WOMEN if person.sex == "f" else MEN) if name != first]
    return person._replace(name=f"{rng.choice(others)} {last}")


def town(seed: int = TOWN_SEED) -> tuple[list[Row], list[Row]]:
    """The rows of the medical table by day of visit, and of the voter list by name.

    >>> medical, voters = town()
    >>> len(medical), len(voters)
    (600, 2500)
    """
    rng = np.random.default_rng(seed)
    patients = [draw_person(rng, age) for age in draw_ages(rng, PATIENTS).tolist()]
    grown = [person for person in patients if person.age >= FULL_AGE]
    voters = [person for person in grown if rng.random() < REGISTERED]
    voters += [draw_twin(rng, person) for person in grown[:TWINS]]
    ages = rng.triangular(FULL_AGE, 30, 95, VOTERS - len(voters)).astype(int).tolist()
    voters += [draw_person(rng, age) for age in ages]
    visits = [draw_visit(rng, person) for person in patients]
    listed = [draw_voter(rng, person) for person in voters]
    return sorted(visits, key=lambda row: str(row[1:])), sorted(listed, key=str)


# Bundled name: (golden file, key of its rows).
PAPERS = {
    "ganta_table1_r1": ("ganta_table1", "R1"),
    "ganta_table1_r2": ("ganta_table1", "R2"),
    "martin_fig1": ("martin_fig1_3", "fig1"),
    "martin_fig3": ("martin_fig1_3", "fig3"),
    "mprivacy_table1_ta": ("mprivacy_table1", "Ta"),
    "mprivacy_table1_tb": ("mprivacy_table1", "Tb"),
    "sattar_table1_a": ("sattar_tables1_2", "A_original"),
    "sattar_table1_b": ("sattar_tables1_2", "B_original"),
    "sattar_table2_a": ("sattar_tables1_2", "A_published_corrected"),
    "sattar_table2_b": ("sattar_tables1_2", "B_published"),
    "sweeney_fig2": ("sweeney_fig2", "rows"),
    "sweeney_fig3_pt": ("sweeney_fig3", "PT"),
    "sweeney_fig3_gt1": ("sweeney_fig3", "GT1"),
    "sweeney_fig3_gt2": ("sweeney_fig3", "GT2"),
    "sweeney_fig4_pt": ("sweeney_fig4_5", "PT"),
    "sweeney_fig4_gt1": ("sweeney_fig4_5", "GT1"),
    "sweeney_fig4_gt3": ("sweeney_fig4_5", "GT3"),
    "sweeney_fig5_lt": ("sweeney_fig4_5", "LT"),
}


def write_table(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """One CSV file, UTF-8, lines ended by a line feed."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(golden: Path, out: Path) -> None:
    """Write hospitals, town, and the papers' tables from the golden files into `out`."""
    for name, rows in zip(("st_anna", "harbour"), hospitals(), strict=True):
        write_table(out / f"{name}.csv", COLUMNS, rows)
    medical, voters = town()
    write_table(out / "medical.csv", MEDICAL, medical)
    write_table(out / "voters.csv", VOTER_LIST, voters)
    for name, (file, key) in PAPERS.items():
        table = json.loads((golden / f"{file}.json").read_text(encoding="utf-8"))[key]
        write_table(out / f"{name}.csv", list(table[0]), [list(row.values()) for row in table])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
