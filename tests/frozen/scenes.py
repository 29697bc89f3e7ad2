# ruff: noqa: E501 (a line here is a line of the shell)
"""What is recorded: scenes, each a list of lines that run in order in a folder of their own.

A line is what follows ``shoal`` on the command line; a line that begins with ``both`` runs twice,
as text and with ``--json``. What a scene needs before is prepared by lines that begin with ``%``::

    % table NAME BUNDLED FIRST LAST   some rows of a bundled table, with its header
    % pooled NAME                     rows of both hospitals, with a column of providers
    % adult NAME ROWS                 every so many rows of Adult; such a scene is secret
    % write NAME TEXT                 one of TEXTS
    % copy FROM TO / remove NAME      a file or folder
    % python NAME                     a function of ``calls`` that uses ``import shoal``
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DISEASES = (
    "Appendicitis",
    "Asthma",
    "Breast cancer",
    "COPD",
    "Chronic kidney disease",
    "Concussion",
    "Depression",
    "Diabetes, type 1",
    "Diabetes, type 2",
    "Epilepsy",
    "Gallstones",
    "HIV infection",
    "Heart attack",
    "Heart failure",
    "Hepatitis B",
    "Hip fracture",
    "Influenza",
    "Pneumonia",
    "Pregnancy complication",
    "Prostate cancer",
    "Stroke",
)
HOSPITAL = """
[columns]
name = "identifier"
admitted = "drop"
[columns.patient]
role = "person"
kind = "code"
[columns.diagnosis]
role = "sensitive"
kind = "category"
[columns.age]
role = "quasi"
kind = "number"
hierarchy = { intervals = [5, 10, 20, 40] }
[columns.sex]
role = "quasi"
kind = "category"
[columns.zip]
role = "quasi"
kind = "code"
hierarchy = "prefixes"
"""
NOISE = f"""
[columns]
patient = "person"
name = "identifier"
zip = "identifier"
admitted = "identifier"
[columns.age]
role = "quasi"
kind = "number"
bounds = [0, 109]
hierarchy = {{ intervals = [20, 40] }}
[columns.sex]
role = "quasi"
domain = ["f", "m"]
[columns.diagnosis]
role = "sensitive"
domain = {list(DISEASES)!r}
"""
ADULT = """
[columns]
"*" = "drop"
person = "person"
age = { role = "quasi", hierarchy = { intervals = [5, 10, 20, 40] } }
workclass = "quasi"
education = "quasi"
marital_status = "quasi"
race = "quasi"
sex = "quasi"
native_country = "quasi"
occupation = "sensitive"
"""
TEXTS = {
    "HOSPITAL": HOSPITAL,
    "NOISE": NOISE,
    "ADULT": ADULT,
    "PROVIDERS": HOSPITAL.replace("[columns]\n", '[columns]\nhospital = "provider"\n').replace(
        '"person"', '"identifier"'
    ),
    "PLAIN": re.sub("hierarchy = .*", "", HOSPITAL),
    "POOL": HOSPITAL.replace('"person"', '"identifier"'),
    "TWO": HOSPITAL.replace('admitted = "drop"', 'admitted = "sensitive"'),
    "KEEP": HOSPITAL.replace('admitted = "drop"', 'admitted = "keep"'),
    "UNDECIDED": HOSPITAL.replace('admitted = "drop"', 'admitted = "undecided"'),
    "TA": '[columns]\nProvider = "provider"\nName = "identifier"\nAge = "quasi"\nZip = "quasi"\n'
    'Disease = "sensitive"\n',
    "GANTA": "Zip,Age,Nationality\n13012,28,Japanese\n",
    "WARD": "Zip,Sex,Disease\n1485*,M,Flu\n1485*,M,Lung Cancer\n1485*,M,Mumps\n1485*,M,Flu\n"
    "1485*,M,Lung Cancer\n1485*,F,Flu\n1485*,F,Breast Cancer\n1485*,F,Flu\n"
    "1485*,F,Heart Disease\n1485*,F,Ovarian Cancer\n",
    "WARD_PEOPLE": "Name,Zip,Sex\nCharlie,14850,M\nEd,14850,M\nHannah,14850,F\n",
    "EUROPEAN": "age;weight;sex;day;disease\n"
    + "".join(
        f"{20 + i % 40};{50 + i % 30},{i % 10};{'mf'[i % 2]};{1 + i % 28:02}.{1 + i % 12:02}.2024;"
        f"{('flu', 'cold', 'ulcer')[i % 3]}\n"
        for i in range(120)
    ),
    "CONTEXT": 'publisher = "St. Anna Hospital"\nrecipient = ["universities"]\n'
    'purpose = "research"\nenvironment = "public"\n',
    "BAD_TOML": "[columns\n",
    "BAD_ROLE": '[columns]\nage = "quasy"\n',
    "BAD_KEY": '[columns.age]\nrole = "quasi"\nheirarchy = "prefixes"\n',
    "RAGGED": "a,b\n1,2\n3,4,5\n",
    "TWICE": "a,a\n1,2\n",
    "EMPTY": "",
    "HEADER": "age,sex,zip\n",
    "TEXT": "note\n"
    + "".join(f"a long remark of the nurse, number {i}, ends\n" for i in range(50)),
    "JSON": '{"edition": 99}\n',
}
PEOPLE = """
% table people.csv st_anna.csv 0 600
% table others.csv harbour.csv 0 600
% table new.csv st_anna.csv 600 1100
% write schema.toml HOSPITAL
"""
"""Two hospitals' tables, later people of the first, and a schema."""
RELEASES = (
    PEOPLE
    + """
publish people.csv -s schema.toml -m "k-anonymity k=5" -o ours/ -q
publish others.csv -s schema.toml -m "k-anonymity k=5" -o theirs/ -q
"""
)
METHODS = (
    "mondrian",
    "greedy",
    "tree-order",
    "hilbert",
    "k-similar",
    "microaggregation",
    "full-domain",
    "chain",
    "datafly",
    "local",
    "mu-argus",
)
MODELS = (
    "k-anonymity k=7",
    "distinct-diversity l=3",
    "entropy-diversity l=3",
    "recursive-diversity c=2 l=3",
    "t-closeness t=0.4",
    "beta-likeness beta=4",
    "alpha-k alpha=0.5 k=4",
    "delta-disclosure delta=3",
    "ck-safety c=0.7 k=1",
    "k-anonymity k=5 & composition l=2 alpha=0.95",
)
FORMATS = ("csv.gz", "parquet", "feather", "arrow", "xlsx")
MEASURES = ("average-class", "discernibility", "height", "loss", "non-uniform-entropy", "precision")
VERIFIERS = ("exact", "direct", "top-down", "bottom-up", "binary", "adaptive")
ATTACK = "--targets people.csv -s schema.toml --seed 1"


@dataclass(frozen=True)
class Scene:
    """Lines that run in order; of a secret one figures and hashes are recorded, never data."""

    lines: str
    is_secret: bool = False
    is_drawn: bool = False
    """Whether real entropy is drawn; else what stands in for it is always the same."""
    is_quick: bool = False
    """Whether the ordinary test suite replays it."""


def every(line: str, names: tuple[str, ...]) -> str:
    """A line for each name: ``{}`` is the name, ``{n}`` its number."""
    return "".join(f"{line.format(name, n=n)}\n" for n, name in enumerate(names, 1))


SCENES = {
    "first-look": Scene(
        """
--help
--version
% table people.csv st_anna.csv 0 600
both look people.csv
both schema people.csv
schema people.csv --person patient --quasi age --quasi zip --sensitive diagnosis -o schema.toml
schema people.csv -s schema.toml
look people.csv -s schema.toml --json
both look people.csv --quasi age --drop *
% write european.csv EUROPEAN
both look european.csv
schema european.csv
look european.csv --delimiter ; --decimal , --day-first --null flu --json
look people.csv --no-header --json
both data list
data copy medical.csv
data copy voters.csv -o v.csv --json
both look medical.csv
both look v.csv
study --list
study --list --json
""",
        is_quick=True,
    ),
    "publish-by-method": Scene(
        PEOPLE
        + every(
            'publish people.csv -s schema.toml -m "k-anonymity k=5 & distinct-diversity l=2" '
            "--method {0} -o {0}/ --json",
            METHODS,
        )
        + every("verify {}/ --json", METHODS)
        + """
publish people.csv -s schema.toml -m "k-anonymity k=3" --method mu-argus --hold-back 5% -o argus/ --json
publish people.csv -s schema.toml -m "k-anonymity k=5" --relaxed -o relaxed/ --json
publish people.csv -s schema.toml -m "k-anonymity k=5" --method chain --order zip --order age -o chained/ --json
publish people.csv -s schema.toml -m "k-anonymity k=10" --method full-domain --hold-back 5% -o held/ --json
publish people.csv -s schema.toml -m "k-anonymity k=10" --method full-domain --hold-back 5% --held-back-as starred -o starred/ --json
publish people.csv -s schema.toml -m "k-anonymity k=5" --method full-domain --set "levels=age=1..3" -o levels/ --json
publish people.csv --person patient --identifier name --drop admitted --quasi age --quasi sex --quasi zip --sensitive diagnosis -m "k-anonymity k=5" --method chain --auto-hierarchies -o auto/ --json
"""
    ),
    "publish-by-measure": Scene(
        PEOPLE
        + every(
            'publish people.csv -s schema.toml -m "k-anonymity k=5" --method full-domain '
            "--measure {0} --dry-run --json",
            MEASURES,
        )
        + every(
            'publish people.csv -s schema.toml -m "k-anonymity k=5" --method local '
            "--measure {0} --dry-run --json",
            ("loss", "height"),
        )
        + """
publish people.csv -s schema.toml -m "k-anonymity k=5" --dry-run
publish people.csv -s schema.toml -m "k-anonymity k=5 & t-closeness t=0.3" --dry-run --explain
publish people.csv -s schema.toml -m "k-anonymity k=400" --method datafly --dry-run --explain
"""
    ),
    "publish-by-model": Scene(
        PEOPLE
        + every('publish people.csv -s schema.toml -m "{0}" -o m{n}/ --json', MODELS)
        + every("verify m{n}/ --json", MODELS)
        + every('verify m1/ -m "{0}" --json', MODELS)
        + """
% table everybody.csv st_anna.csv 0 1500
publish people.csv -s schema.toml -m "k-map k=5" --population everybody.csv -o map/ --json
publish people.csv -s schema.toml -m "delta-presence low=0.1 high=0.9" --population everybody.csv -o presence/ --json
verify map/ --population everybody.csv --json
verify presence/ --population everybody.csv --json
both verify map/ -m "delta-presence low=0.1 high=0.9" --population everybody.csv
"""
    ),
    "publish-by-form": Scene(
        PEOPLE
        + """
publish people.csv -s schema.toml -m "k-anonymity k=5 & distinct-diversity l=2" -o plain/
publish people.csv -s schema.toml -m "ck-safety c=0.7 k=1" --form buckets -o buckets/ --json
publish people.csv -s schema.toml -m "ck-safety c=0.7 k=1" --form buckets --two-tables -o two/ --json
publish people.csv -s schema.toml -m "k-anonymity k=5" --form centroids --method microaggregation -o centroids/ --json
both verify plain/
both verify buckets/
both verify two/
both verify centroids/
"""
        + every(
            'publish people.csv -s schema.toml -m "k-anonymity k=5" --format {0} -o f{n}/ --json',
            FORMATS,
        )
        + every("verify f{n}/ --json", FORMATS)
        + """
% write two.toml TWO
publish people.csv -s two.toml -m "k-anonymity k=5 & distinct-diversity l=2 on=diagnosis" -o both/ --json
% write keep.toml KEEP
publish people.csv -s keep.toml -m "k-anonymity k=5" -o kept/ --json
publish people.csv -s keep.toml -m "k-anonymity k=5" -o kept/ --accept-keep --json
% write european.csv EUROPEAN
publish european.csv --quasi age --quasi weight --quasi day --keep sex --sensitive disease -m "k-anonymity k=4" --accept-keep -o eu/ --json
publish european.csv --quasi age --quasi weight --quasi day --drop sex --sensitive disease -m "k-anonymity k=4" --csv-style standard -o standard/ --json
both verify eu/
publish people.csv -s schema.toml -m "k-anonymity k=5" -o plain/ --replace -q
publish people.csv --quasi age --quasi sex --identifier patient --identifier name --drop zip --sensitive diagnosis --sensitive admitted -m "k-anonymity k=5" --companion apart -o three/ --json
"""
    ),
    "publish-noise": Scene("""
% table people.csv st_anna.csv 0 600
% write noise.toml NOISE
publish people.csv -s noise.toml --form counts --epsilon 1 --dry-run --explain
publish people.csv -s noise.toml --form counts --epsilon 1 --seed 1 -o counts/ --json
publish people.csv -s noise.toml --form counts --epsilon 1 --marginals 1 --seed 1 -o ones/ --json
publish people.csv -s noise.toml --form counts --epsilon 1/3 --delta 1e-6 --marginal age,sex --marginal diagnosis --seed 1 -o gauss/ --json
publish people.csv -s noise.toml --form randomised --epsilon 3 -m "k-anonymity k=5" --seed 1 -o randomised/ --json
both verify counts/
both verify ones/
both verify gauss/
both verify randomised/
% python estimates
% python audits_of_noise
attack auditing counts/ --original people.csv --runs 200 --seed 1 --json
attack auditing randomised/ --original people.csv --runs 200 --seed 1
attack red-team randomised/ --targets people.csv --seed 1 --json
both audit randomised/
report counts/ --prior 10% --json
report randomised/ --json
publish people.csv -s noise.toml --form counts --epsilon 1 -o unseeded/ --json
publish people.csv -s noise.toml --form counts --epsilon 1/3 --delta 1e-6 --marginal sex -o unseeded-gauss/ --json
publish people.csv -s noise.toml --form randomised --epsilon 3 -m "k-anonymity k=5" -o unseeded-answers/ --json
both verify unseeded/
verify unseeded-gauss/ --json
verify unseeded-answers/ --json
both attack auditing unseeded/ --original people.csv --runs 200 --seed 1
attack auditing unseeded-answers/ --original people.csv --runs 200 --seed 1 --json
"""),
    "publish-synthetic": Scene(
        """
% table people.csv st_anna.csv 0 300
% write noise.toml NOISE
publish people.csv -s noise.toml --form synthetic --epsilon 1 --delta 1e-6 --dry-run
publish people.csv -s noise.toml --form synthetic --epsilon 1 --delta 1e-6 --marginals 1 -o synthetic/ --json
% python synthesises_by_a_seed
both verify synthetic/
audit synthetic/ --json
report synthetic/ --json
""",
        is_drawn=True,
    ),
    "successors": Scene(
        PEOPLE
        + """
% table grown.csv st_anna.csv 100 800
publish people.csv -s schema.toml -m "k-anonymity k=5" -o first/ --json
publish grown.csv -s schema.toml -m "k-anonymity k=5" -o after/ --after first/ --json
publish grown.csv -s schema.toml -m "k-anonymity k=5" -o based/ --based-on first/ --json
publish people.csv -s schema.toml -m "k-anonymity k=10" -o coarser/ --based-on first/ --json
publish new.csv --like first/ -o uncovered/ --json
publish new.csv --like first/ --hold-back 5% -o like/ --json
publish people.csv -s schema.toml -m "k-anonymity k=5" --method chain -o chain/ --json
publish new.csv --like chain/ -o like-chain/ --json
publish new.csv --like chain/ -m "k-anonymity k=8" --hold-back 5% -o like-held/ --json
publish new.csv --like chain/ -o like-explained/ --dry-run --explain
% table year1.csv harbour.csv 0 2000
% table year2.csv harbour.csv 200 2300
publish people.csv -s schema.toml -m "m-invariance m=3" --method invariant -o refused/ --json
% write plain.toml PLAIN
publish year1.csv -s plain.toml -m "m-invariance m=3" --method invariant -o year1/ --json
publish year2.csv -s plain.toml -m "m-invariance m=3" --method invariant -o year2/ --based-on year1/ --json
publish grown.csv -s schema.toml -m "k-anonymity k=5" --form buckets -o buckets/ --after first/ --json
publish people.csv -s schema.toml -m "distinct-diversity l=2" --form buckets -o b1/ --json
publish grown.csv -s schema.toml -m "distinct-diversity l=2" --form buckets -o b2/ --based-on b1/ --json
both verify after/
both verify based/
both verify like/
both verify year2/
verify after/ --after first/ --json
attack temporal first/ after/ --over-time -s schema.toml --json
attack temporal first/ after/ --over-time --quasi age --quasi sex --quasi zip --quasi diagnosis --json
attack temporal first/ based/ --over-time -s schema.toml --targets people.csv --json
% table stayed.csv harbour.csv 200 2000
attack intersection year1/ year2/ --targets stayed.csv -s plain.toml --limit 0 --seed 1 --json
attack red-team first/ based/ --over-time --targets people.csv -s schema.toml --seed 1 --json
attack red-team first/ coarser/ --same-table --targets people.csv -s schema.toml --seed 1
% table gt1.csv sweeney_fig4_gt1.csv 0 99
% table gt3.csv sweeney_fig4_gt3.csv 0 99
both verify gt3.csv --quasi Race --quasi BirthDate --quasi Gender --quasi ZIP --sensitive Problem -m "k-anonymity k=2" --after gt1.csv
"""
    ),
    "verify-and-audit": Scene(
        RELEASES
        + """
both verify ours/
verify ours/ --show --json
both verify ours/table.csv --quasi age --quasi sex --quasi zip --sensitive diagnosis -m "k-anonymity k=5"
both verify people.csv -s schema.toml -m "k-anonymity k=2"
verify people.csv -s schema.toml -m "k-anonymity k=2" --show
verify people.csv -s schema.toml -m "k-anonymity k=2" --with-persons --json
both audit ours/
audit ours/ --original people.csv --json
audit ours/ --original people.csv
audit people.csv -s schema.toml --sampling-fraction 0.2 --json
% table everybody.csv st_anna.csv 0 1500
audit ours/ --population everybody.csv --json
% table fig2.csv sweeney_fig2.csv 0 99
both audit fig2.csv --drop id --quasi Race --quasi Birth --quasi Gender --quasi ZIP --sensitive Problem
% table table1.csv ganta_table1_r1.csv 0 99
both audit table1.csv --quasi Zip --quasi Age --quasi Nationality --sensitive Condition
verify table1.csv --quasi Zip --quasi Age --quasi Nationality --sensitive Condition -m "k-anonymity k=4 & distinct-diversity l=2" --json
"""
    ),
    "attack-one-release": Scene(
        RELEASES
        + f"""
both attack linking ours/ {ATTACK}
attack linking ours/ {ATTACK} --location assumed --json
attack linking ours/ {ATTACK} --location centroid --json
attack linking ours/ {ATTACK} --control new.csv --json
attack linking ours/ {ATTACK} --sample 50 --json
both attack homogeneity ours/ {ATTACK}
both attack skewness ours/ {ATTACK}
publish people.csv --quasi age --sensitive diagnosis --drop * -m "distinct-diversity l=3" -o ages/ -q
both attack minimality ages/ --targets people.csv --quasi age --sensitive diagnosis --drop * --seed 1
attack minimality ours/ {ATTACK}
both attack background ours/ --pieces 2
attack background ours/ --pieces 1 --knowledge negations --sure 0.9 --json
attack worst-pair ours/
both attack red-team ours/ {ATTACK}
attack red-team ours/ {ATTACK} --limit 0.01 --json
attack red-team people.csv {ATTACK} --json
% table medical.csv medical.csv 0 600
% table voters.csv voters.csv 0 2500
both attack linking medical.csv --targets voters.csv --quasi zip --quasi birth_date --quasi sex --sensitive diagnosis --identifier name
attack linking medical.csv --targets voters.csv --quasi zip --quasi birth_date --quasi sex --sensitive diagnosis --identifier name --limit 0.1
% write ward.csv WARD
% write ward-people.csv WARD_PEOPLE
both attack background ward.csv --quasi Zip --quasi Sex --sensitive Disease --pieces 1 --show
both attack background ward.csv --quasi Zip --quasi Sex --sensitive Disease --targets ward-people.csv --name Name --about "Charlie.Disease=Flu" --knowing "Hannah.Disease=Flu -> Charlie.Disease=Flu"
attack background ward.csv --quasi Zip --quasi Sex --sensitive Disease --about "#7.Disease=Flu" --knowing "not #7.Disease=Mumps" --json
"""
    ),
    "attack-two-releases": Scene(
        RELEASES
        + f"""
publish people.csv -s schema.toml -m "k-anonymity k=4" --method hilbert -o again/ -q
% table grown.csv st_anna.csv 0 800
publish grown.csv -s schema.toml -m "k-anonymity k=5" -o grown/ -q
both attack intersection ours/ theirs/ {ATTACK}
attack intersection ours/ theirs/ {ATTACK} --location assumed --json
attack intersection ours/ theirs/ {ATTACK} --location centroid --json
both attack order ours/ again/ {ATTACK} --same-table
both attack complementary ours/ again/ -s schema.toml --same-table
both attack temporal ours/ grown/ -s schema.toml --over-time
both attack forward ours/ grown/ {ATTACK} --over-time
both attack cross ours/ grown/ {ATTACK} --over-time
both attack backward ours/ grown/ {ATTACK} --over-time
both attack worst-pair ours/ theirs/
attack worst-pair ours/ theirs/ --l 3 --json
both attack red-team ours/ theirs/ {ATTACK}
attack red-team ours/ again/ {ATTACK} --same-table --limit 0.05
attack red-team ours/ grown/ {ATTACK} --over-time --json
% table a.csv ganta_table1_r1.csv 0 99
% table b.csv ganta_table1_r2.csv 0 99
% write one.csv GANTA
both attack intersection a.csv b.csv --targets one.csv --quasi Zip --quasi Age --quasi Nationality --sensitive Condition --show
% table s1.csv sattar_table1_a.csv 0 99
% table s2.csv sattar_table1_b.csv 0 99
both attack worst-pair s1.csv s2.csv --identifier Name --quasi Age --quasi Sex --quasi Zip --sensitive Diagnosis
% table pt.csv sweeney_fig3_pt.csv 0 99
% table g1.csv sweeney_fig3_gt1.csv 0 99
% table g2.csv sweeney_fig3_gt2.csv 0 99
both attack complementary g1.csv g2.csv --quasi Race --quasi BirthDate --quasi Gender --quasi ZIP --sensitive Problem --same-table
both attack order g1.csv g2.csv --targets pt.csv --quasi Race --quasi BirthDate --quasi Gender --quasi ZIP --sensitive Problem --same-table
"""
    ),
    "providers": Scene(
        """
% table ta.csv mprivacy_table1_ta.csv 0 99
% table tb.csv mprivacy_table1_tb.csv 0 99
% write ta.toml TA
"""
        + every(
            'm-privacy ta.csv -s ta.toml -m "k-anonymity k=2" -m "distinct-diversity l=2" --members 1 '
            "--verifier {} --json",
            VERIFIERS,
        )
        + """
both m-privacy tb.csv -s ta.toml -m "k-anonymity k=2" --members 1
m-privacy ta.csv -s ta.toml -m "k-anonymity k=2" --members 2 --show
both attack coalition ta.csv -s ta.toml --coalition P1 --show
both attack coalition ta.csv -s ta.toml --members 2
% pooled pooled.csv
% write pooled.toml PROVIDERS
publish pooled.csv -s pooled.toml -m "k-anonymity k=5 & distinct-diversity l=2" -o plain/ --json
publish pooled.csv -s pooled.toml -m "m-privacy m=1 (k-anonymity k=5 & distinct-diversity l=2)" --method provider-aware -o release/ --json
publish pooled.csv -s pooled.toml -m "m-privacy m=1 (k-anonymity k=5)" --method provider-aware --choice apart -o apart/ --json
both verify release/
both attack coalition plain/ --members 1
attack coalition release/ --members 1 --limit 0 --json
both m-privacy release/ -m "k-anonymity k=5" -m "distinct-diversity l=2" --members 1
m-privacy plain/ -m "k-anonymity k=5" --members 1 --json
% table anna.csv st_anna.csv 0 400
% write anna.toml POOL
attack red-team release/ --targets anna.csv -s anna.toml --seed 1 --json
report release/ --json
"""
    ),
    "pool": Scene(
        PEOPLE
        + """
% write schema.toml POOL
pool init POOL -s schema.toml --provider Anna --provider Harbour -m "m-privacy m=1 (k-anonymity k=5 & distinct-diversity l=2)" --json
both pool status POOL
pool add POOL --provider Anna people.csv --json
both pool status POOL
pool publish POOL -o early/
pool add POOL --provider Anna others.csv
pool add POOL --provider Nobody others.csv
pool add POOL --provider Harbour people.csv
pool add POOL --provider Harbour others.csv --agreement 000000000000
pool add POOL --provider Harbour others.csv
pool add POOL --provider Anna people.csv --replace
pool publish POOL -o release/ --json
both verify release/
pool publish POOL -o release/
pool publish POOL -o another/ --again
pool status POOL --json
pool init POOL -s schema.toml -m "m-privacy m=1 (k-anonymity k=5)"
pool init OPEN -s schema.toml -m "m-privacy m=1 (k-anonymity k=5)" --method provider-aware --choice score --hold-back 1%
pool init BARE -s schema.toml -m "k-anonymity k=5"
"""
    ),
    "forecast": Scene(
        RELEASES
        + """
both forecast ours/ --original people.csv --overlap 100 --repeats 4
forecast ours/ --others 2 --overlap 10% --repeats 4 --json
forecast ours/ --others 2 --same-people 1 --overlap 100 --rows 900 --repeats 4 --l 3 --json
forecast ours/ --method chain -m "k-anonymity k=10" --repeats 4 --json
forecast ours/ --original people.csv --overlap 1 --repeats 4 --limit 0 -o forecast.html --show
forecast ours/ --confidence 0.9 --repeats 4 --seed 5 --json
both forecast --validate people.csv -s schema.toml --overlap 100 --k 5 --k 10 --seeds 1 --repeats 3 -o validation.html
% table everybody.csv st_anna.csv 0 1500
forecast ours/ --population everybody.csv --repeats 4 --json
"""
    ),
    "frontier": Scene("""
% table people.csv st_anna.csv 0 400
% write schema.toml HOSPITAL
frontier people.csv -s schema.toml --strengths 3,10 -o all/ --json
both frontier people.csv -s schema.toml --methods mondrian,chain --strengths 5,10 --max-loss 0.3 -o kept/
frontier people.csv -s schema.toml --methods mondrian -m "k-anonymity k=5" -m "k-anonymity k=5 & entropy-diversity l=3" --risk value --max-risk 0.9 --json
% write noise.toml NOISE
both frontier people.csv -s noise.toml --side-by-side -m "k-anonymity k=5" --epsilons 1 --seeds 1 --forms randomised,counts -o sides/
"""),
    "ledger": Scene("""
% table people.csv st_anna.csv 0 200
% table others.csv harbour.csv 0 200
% write schema.toml HOSPITAL
ledger init --name "St Anna" --json
both ledger key
both ledger list
publish people.csv -s schema.toml -m "k-anonymity k=5" -o first/ -q
ledger admit first/ --to "the public" --people people.csv --json
ledger admit first/ --people people.csv
publish people.csv -s schema.toml -m "k-anonymity k=4" --method hilbert -o second/ -q
ledger admit second/ --to "the ministry" --people people.csv
ledger admit second/ --people people.csv --dry-run --json
ledger admit second/ --people people.csv --same-table --l 3 --dry-run --show
ledger admit second/ --people people.csv --accept-risk "agreed with the board" --json
publish people.csv -s schema.toml -m "k-anonymity k=5" -o based/ --based-on first/ -q
ledger admit based/ --people people.csv --same-table --limit 100%
% table grown.csv st_anna.csv 0 300
publish grown.csv -s schema.toml -m "k-anonymity k=5" -o third/ --ledger releases.db --over-time --to board --json
publish grown.csv -s schema.toml -m "k-anonymity k=5" -o fourth/ --ledger releases.db --over-time --limit 100% --to board --json
publish others.csv -s schema.toml -m "k-anonymity k=5" -o fifth/ --ledger releases.db --about others --json
% table theirs.csv ganta_table1_r1.csv 0 99
ledger add-foreign theirs.csv --quasi Zip --quasi Age --quasi Nationality --sensitive Condition --by "City hospital" --about city --json
both ledger list
ledger list --last 2
ledger list --all --about city --json
both ledger show 2
ledger show 3 --json
ledger show 99
both ledger verify
both ledger recheck --people people.csv
ledger withdraw 2 --reason recalled --json
ledger withdraw 3 --never-out --reason "it was not sent"
ledger withdraw 3 --reason again
ledger key --new Lake -o lake.key --json
ledger trust Lake 0123456789
% python trusts_a_publisher
ledger acknowledge --reason "nothing was lost"
ledger verify --head 3:0123456789abcdef
ledger verify --restore-triggers --json
report based/ --ledger releases.db --original people.csv --json
both ledger list --all
ledger init
"""),
    "ledger-of-noise": Scene("""
% table people.csv st_anna.csv 0 600
% write noise.toml NOISE
ledger init --ledger noise.db --epsilon 2 --delta 1e-6 --json
publish people.csv -s noise.toml --form counts --epsilon 1 -o counts/ --ledger noise.db --json
publish people.csv -s noise.toml --form counts --epsilon 2 -o more/ --ledger noise.db --json
publish people.csv -s noise.toml --form counts --epsilon 1/2 --seed 1 -o seeded/ --ledger noise.db
% table theirs.csv ganta_table1_r1.csv 0 99
ledger add-foreign theirs.csv --quasi Zip --quasi Age --quasi Nationality --sensitive Condition --by City --epsilon 1/3 --ledger noise.db --json
both ledger list --ledger noise.db
ledger show 2 --ledger noise.db --json
ledger verify --ledger noise.db --json
ledger init --ledger advanced.db --epsilon 2 --delta 1e-6 --composition advanced
ledger init --ledger zcdp.db --epsilon 2 --delta 1e-6 --composition zcdp --json
publish people.csv -s noise.toml --form counts --epsilon 1 --delta 1e-7 -o zcdp/ --ledger zcdp.db --json
both ledger list --ledger zcdp.db
"""),
    "report": Scene(
        RELEASES
        + """
% write context.toml CONTEXT
report ours/ --original people.csv -o report.html --json
report ours/ --original people.csv -o report.json
report ours/ --original people.csv --with theirs/ --context context.toml --pieces 3 --json
report ours/ --public -o public.html --json
report ours/ --public --fewest 20 --title "Figures" -o public.json
report ours/ --original people.csv --limit 0 -o limited.json
report ours/ --original people.csv --control new.csv --threshold 1/11 --sample 50 --json
report ours/table.csv --quasi age --quasi sex --quasi zip --sensitive diagnosis -m "k-anonymity k=50" --json
publish people.csv -s schema.toml -m "ck-safety c=0.7 k=1" --form buckets -o buckets/ -q
report buckets/ --original people.csv --json
% python reads_a_report
"""
    ),
    "meaning": Scene(
        """
both meaning --epsilon 1
both meaning --epsilon 1 --prior 10%
both meaning --epsilon 0.5 --delta 1e-9 --people 1000
both meaning --epsilon 1/3 --prior flu=70% --prior other=30% --presence
meaning --epsilon 0
meaning --epsilon -1
meaning --epsilon many
meaning --epsilon 1 --prior 110%
meaning
""",
        is_quick=True,
    ),
    "python": Scene("""
% table people.csv st_anna.csv 0 600
% table others.csv harbour.csv 0 600
% write schema.toml HOSPITAL
% python hierarchies
% python schemas
% python rules
% python beliefs
% python disclosure
% python releases
% python errors
% python studies
"""),
    "studies": Scene("""
study sweeney-figure-2 -o studies/ --jobs 1 --json
study sweeney-figure-3 -o studies/ --jobs 1
study sweeney-figure-2 -o studies/ --jobs 1
study sweeney-figure-7 -o studies/
study
"""),
    "demo": Scene("demo -o story/ --json\n"),
    "errors": Scene(
        PEOPLE
        + """
% write bad.toml BAD_TOML
% write role.toml BAD_ROLE
% write key.toml BAD_KEY
% write undecided.toml UNDECIDED
% write ragged.csv RAGGED
% write twice.csv TWICE
% write empty.csv EMPTY
% write header.csv HEADER
% write text.csv TEXT
% write manifest.json JSON
publis people.csv
look
look nothing.csv
look people.csv --sheet a
look people.csv --nonsense
look people.csv --encoding klingon
look people.csv --header-row 0
look ragged.csv
look twice.csv
look empty.csv
look header.csv
look schema.toml
look people.csv --quasi height
look people.csv --quasi age --sensitive age
look postgresql://nobody@127.0.0.1:1/none --query "select 1"
look nothing.csv --json
schema people.csv -s bad.toml
schema people.csv -s role.toml
schema people.csv -s key.toml
schema people.csv -s nothing.toml
schema people.csv -o schema.toml
publish people.csv
publish people.csv -s schema.toml
publish people.csv -s schema.toml -m "k-anonymity k=5"
publish people.csv -s schema.toml -m "k-anonymity" -o r/
publish people.csv -s schema.toml -m "k-anonymity k=0" -o r/
publish people.csv -s schema.toml -m "k-anonymity k=five" -o r/
publish people.csv -s schema.toml -m "k-anonymity l=5" -o r/
publish people.csv -s schema.toml -m "k-anonimity k=5" -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5 &" -o r/
publish people.csv -s schema.toml -m "m-privacy m=1 (k-anonymity k=5" -o r/
publish people.csv -s schema.toml -m "t-closeness t=0.1 on=height" -o r/
publish people.csv -s schema.toml -m "k-map k=5" -o r/
publish people.csv -s schema.toml -m "k-anonymity k=1000" -o r/
publish people.csv -s schema.toml -m "k-anonymity k=1000" -o r/ --json
publish people.csv -s schema.toml -m "distinct-diversity l=50" -o r/ --explain
publish people.csv -s undecided.toml -m "k-anonymity k=5" -o r/
publish people.csv --quasi age --sensitive diagnosis -m "k-anonymity k=5" -o r/
publish text.csv --quasi note -m "k-anonymity k=5" -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --method fast -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --method full-domain --measure beauty -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --method mondrian --measure loss -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --set speed=1 -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --hold-back 2 -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --form paper -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --two-tables -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" --epsilon 1 -o r/
publish people.csv -s schema.toml --form counts -o r/
publish people.csv -s schema.toml --form counts --epsilon 1 -o r/
publish people.csv -s schema.toml --form synthetic --epsilon 1 -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" -o r/ --based-on nothing/
publish people.csv --like nothing/ -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" -o r/ --after people.csv --based-on r/
publish people.csv -s schema.toml -m "k-anonymity k=5" -o people.csv
publish people.csv -s schema.toml -m "k-anonymity k=5" -o r/ --ledger nothing.db
publish people.csv -s schema.toml -m "k-anonymity k=5" -o r/ --one-row "best"
publish people.csv -s schema.toml -m "m-privacy m=1 (k-anonymity k=5)" -o r/
publish people.csv -s schema.toml -m "m-invariance m=3" -o r/
publish people.csv -s schema.toml -m "k-anonymity k=5" -o ok/ -q
publish people.csv -s schema.toml -m "k-anonymity k=5" -o ok/
verify people.csv
verify people.csv -s schema.toml
verify nothing/
verify .
% copy ok broken
% copy manifest.json broken/manifest.json
verify broken/
audit people.csv
attack
attack linkin ok/
attack linking ok/
attack intersection ok/ --targets people.csv
attack coalition ok/
attack auditing ok/
attack background ok/ --about nonsense
attack linking ok/ --targets nothing.csv
attack homogeneity people.csv
attack complementary ok/ ok/
attack red-team ok/ --limit 3
m-privacy people.csv -s schema.toml -m "k-anonymity k=2" --members 1
m-privacy people.csv -s schema.toml -m "k-anonymity k=2" --members 1 --verifier guess
forecast ok/ --overlap -1
forecast ok/ --others 0
forecast people.csv
forecast ok/ --method fast
frontier people.csv -s schema.toml --methods fast
frontier people.csv -s schema.toml --strengths many
report nothing/
report nothing/ -o r.html
report people.csv -o r.html
report ok/ -o report.docx
ledger list
ledger admit ok/
ledger nonsense
pool status nothing
pool add nothing --provider A people.csv
data copy nothing.csv
data copy st_anna.csv -o people.csv
data fetch nothing
data fetch adult --from nowhere -o data
study nothing
study nothing -o studies/
study ganta-figure-1 -o studies/ --jobs 1
demo -o people.csv
"""
    ),
    "adult": Scene(
        """
% adult people.csv 24
% write schema.toml ADULT
look people.csv -s schema.toml --json
publish people.csv -s schema.toml -m "k-anonymity k=10 & entropy-diversity l=3" -o ours/ --json
publish people.csv -s schema.toml -m "k-anonymity k=10" --method hilbert -o second/ --json
publish people.csv -s schema.toml -m "ck-safety c=0.8 k=1" --form buckets -o buckets/ --json
publish people.csv -s schema.toml -m "k-anonymity k=25" --based-on second/ -o based/ --json
verify ours/ --json
verify based/ --json
audit ours/ --original people.csv --json
attack red-team ours/ second/ --same-table --targets people.csv -s schema.toml --seed 1 --sample 300 --json
forecast ours/ --overlap 500 --repeats 3 --json
report ours/ --public --json
""",
        is_secret=True,
    ),
    "adult-whole": Scene(
        """
% adult people.csv 1
% write schema.toml ADULT
publish people.csv -s schema.toml -m "k-anonymity k=10 & entropy-diversity l=3" -o ours/ --json
verify ours/ --json
audit ours/ --json
publish people.csv -s schema.toml -m "t-closeness t=0.4" --dry-run --json
""",
        is_secret=True,
    ),
}
"""Every scene by its name."""
