"""A pool of providers: what they agree on, hand in and are told, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import shutil
import stat
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.pool import partner_certificate, pool_folder
from shoal.pool.verbs import pool_add, pool_init, pool_publish

RULE = "m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)"
NAMES = ("North", "South", "St Mary")
KINDS = {
    "name": "category",
    "age": "number",
    "sex": "category",
    "zip": "code",
    "diagnosis": "category",
}


def schema(**changes) -> shoal.Schema:
    roles = {
        "name": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "diagnosis": "sensitive",
        **changes,
    }
    columns = (shoal.Column(n, role, KINDS.get(n, "category")) for n, role in roles.items())
    return shoal.Schema(tuple(columns))


def rows(number: int = 40, seed: int = 1) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "name": [f"Secret Person {seed}-{i}" for i in range(number)],
            "age": [rng.randrange(20, 80) for _ in range(number)],
            "sex": [rng.choice("fm") for _ in range(number)],
            "zip": [rng.choice(("01301", "01302", "02138")) for _ in range(number)],
            "diagnosis": [rng.choice(("flu", "cold", "asthma", "angina")) for _ in range(number)],
        }
    )


def begun(folder: Path) -> Path:
    """A pool to which everybody has added rows."""
    pool_init(folder / "pool", schema(), RULE, providers=NAMES)
    for seed, name in enumerate(NAMES):
        pool_add(folder / "pool", name, rows(40 + 7 * seed, seed))
    return folder / "pool"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A pool that was published, for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("pooled")
    return folder, pool_publish(begun(folder), folder / "release")


@pytest.fixture
def pool(done, tmp_path):
    """A copy of that pool, as it was before it was published, to be changed."""
    not_yet = shutil.ignore_patterns("published.json")
    return Path(shutil.copytree(done[0] / "pool", tmp_path / "pool", ignore=not_yet))


# The whole way


def test_everybody_s_rows_become_one_verified_release(done):
    folder, pooled = done
    found = shoal.verify(folder / "release")
    assert found.holds
    assert found.rows == 40 + 47 + 54
    assert found.how == "counted with the private companion"
    assert pooled.release.folder == folder / "release"
    names = {path.name for path in folder.iterdir()}
    assert names == {"pool", "release", "release.private", "release.partners"}
    public = (folder / "release" / "manifest.json").read_text(encoding="utf-8")
    assert not any(name in public for name in NAMES)


def test_hashes_are_those_of_the_files(done):
    folder, pooled = done
    told = pooled.certificate
    for file, known in (
        ("pool/pool.json", told["agreement"]),
        ("release/table.csv", told["release_sha256"]),
        ("release.partners/certificate.json", pooled.hash),
    ):
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == known
    page = (folder / "release.partners/certificate.html").read_text(encoding="utf-8")
    assert all(one in page for one in (pooled.hash, told["agreement"], told["release_sha256"]))
    assert json.loads((folder / "release.partners/certificate.json").read_text()) == told


def test_what_is_private_is_for_its_owner_alone(done):
    folder, _ = done
    for private in ("pool/private", "release.partners"):
        assert stat.S_IMODE((folder / private).stat().st_mode) == 0o700
        assert {stat.S_IMODE(p.stat().st_mode) for p in (folder / private).iterdir()} == {0o600}


def test_identifiers_are_not_stored(done):
    folder, _ = done
    for path in (folder / "pool/private").glob("*.parquet"):
        assert pq.read_schema(path).names == ["age", "sex", "zip", "diagnosis", "provider"]
    assert not any(b"Secret Person" in content for content in everything(folder).values())


def test_a_page_is_about_its_provider_alone(done):
    folder, pooled = done
    assert set(pooled.pages) == set(NAMES)
    sizes = {"North": "40", "South": "47", "St Mary": "54"}
    for name, file in pooled.pages.items():
        page = (folder / "release.partners" / file).read_text(encoding="utf-8")
        assert name in page
        assert sizes[name] in page
        assert not any(other in page for other in NAMES if other != name)
        assert ">Kept<" in page  # nothing is left open
    assert "No requirement" not in str(pooled)
    certificate = json.dumps({**pooled.certificate, "signers": []})
    assert not any(name in certificate for name in NAMES)


def test_the_certificate_says_what_holds(done):
    _, pooled = done
    told = pooled.certificate
    assert (told["m"], told["k"], told["providers"]) == (1, 3, 3)
    assert (told["withstood"], told["apart"]) == (1, False)
    assert pooled.counts["survive"][:2] == [told["classes"]] * 2
    assert pooled.counts["survive"][2] < told["classes"]
    assert told["worst"] == {"members": 1, "rows": "at least 3"}
    assert (told["earlier"], told["loss"]) == (0, round(told["loss"], 2))
    assert (told["beside"], told["unjudged"], told["held_back"]) == ([], [], 0)
    assert told["beyond"] == {"members": 2, "rows": "fewer than 3"}
    assert any("saw every row" in one for one in told["trust"])


def test_files_that_would_be_read_differently_fit_as_agreed(tmp_path):
    """Codes that look like numbers, and a word that others take for null."""
    pool_init(tmp_path / "pool", schema(), RULE, method="mondrian")
    for seed, (name, code) in enumerate((("North", "13053"), ("South", "01301"))):
        table = rows(60, seed).to_pydict() | {"zip": [code] * 60, "sex": ["NA"] * 60}
        pool_add(tmp_path / "pool", name, pa.table(table), nulls=())
    pooled = pool_publish(tmp_path / "pool", tmp_path / "release")
    table = pooled.release.path.read_text(encoding="utf-8")
    assert ",NA," in table
    assert "13053.0" not in table
    text = (tmp_path / "release.partners/certificate.html").read_text(encoding="utf-8")
    assert "signers" not in pooled.certificate  # nobody named them to each other
    assert not any(name in text for name in NAMES)


# What others could learn


def test_the_pages_tell_steps_of_k_and_zero_only_where_it_is_promised(done):
    folder, pooled = done
    found = pool_folder.load_pool(folder / "pool")
    rule = shoal.rule("m-privacy m=1 (k-anonymity k=3)")
    found = replace(found, agreement=replace(found.agreement, rule=rule))
    told = partner_certificate.collect_partner_facts(found, pooled.release, date(2026, 1, 31))
    for page in told.pages.values():
        one, two = page["lines"]
        assert one["few"] == 0  # k-anonymity is promised, diversity is not
        assert one["values"] != 0
        for line in (one["values"], two["few"], two["values"]):
            low, _, high = str(line).partition(" to ")
            assert line == "fewer than 3" or (int(low) % 3, int(high) - int(low)) == (0, 2)


# The agreement


def test_the_agreement_is_the_hash_of_its_file_and_anybody_can_ask_for_it(tmp_path):
    made = pool_init(tmp_path / "pool", schema(), RULE)
    content = (tmp_path / "pool/pool.json").read_bytes()
    assert made.agreement == hashlib.sha256(content).hexdigest()
    assert json.loads(content)["rule"] == RULE
    assert pool_add(tmp_path / "pool", "North", rows(), agreement=made.agreement[:12]).rows == 40
    for wrong, error, said in (
        ("0" * 64, shoal.InputError, "not the one given"),
        (made.agreement[:5], shoal.UsageError, "given by 5 digits"),
        ("", shoal.UsageError, "given by 0 digits"),
    ):
        with pytest.raises(error, match=said):
            pool_add(tmp_path / "pool", "South", rows(), agreement=wrong)
        with pytest.raises(error, match=said):
            pool_publish(tmp_path / "pool", tmp_path / "release", agreement=wrong)


def test_an_agreement_that_was_changed_is_noticed(pool, tmp_path):
    path = pool / "pool.json"
    path.write_text(path.read_text(encoding="utf-8").replace("k=3", "k=2"), encoding="utf-8")
    with pytest.raises(shoal.InputError, match="changed after it was signed"):
        pool_publish(pool, tmp_path / "release")
    with pytest.raises(shoal.InputError, match="changed after it was signed"):
        pool_add(pool, "North", rows(), replace=True)


# The folder


def test_rows_are_replaced_only_when_asked_and_the_old_ones_are_gone(pool):
    before = everything(pool)
    with pytest.raises(shoal.InputError, match="already"):
        pool_add(pool, "North", rows(12))
    assert everything(pool) == before
    assert pool_add(pool, "North", rows(12), replace=True).rows == 12
    assert len(everything(pool)) == len(before)
    assert pool_folder.load_pool(pool).rows().num_rows == 12 + 47 + 54


def test_an_interrupted_run_leaves_the_pool_as_it_was(pool, monkeypatch):
    before = everything(pool)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            pool_add(pool, "North", rows(12), replace=True)
    assert everything(pool) == before
    (pool / "private" / "left.parquet").write_bytes(b"by a run that was killed")
    pool_add(pool, "North", rows(12), replace=True)
    assert "private/left.parquet" not in everything(pool)


def test_rows_are_kept_when_an_interrupt_comes_after_they_were_added(pool, monkeypatch):
    real = os.replace

    def stop(*names):
        real(*names)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            pool_add(pool, "North", rows(12), replace=True)
    assert pool_folder.load_pool(pool).rows().num_rows == 12 + 47 + 54
    assert len(list((pool / "private").glob("*.parquet"))) == 3


def test_two_cannot_be_at_work_in_a_pool_at_once(pool, tmp_path):
    with pool_folder.lock_pool(pool):
        with pytest.raises(shoal.InputError, match="Somebody else"):
            pool_add(pool, "North", rows(), replace=True)
        with pytest.raises(shoal.InputError, match="Somebody else"):
            pool_publish(pool, tmp_path / "release")
    assert pool_add(pool, "North", rows(), replace=True).rows == 40


# Publishing


def test_rows_that_were_changed_are_noticed(pool, tmp_path):
    path = sorted((pool / "private").glob("*.parquet"))[0]
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(shoal.InputError, match="changed after they were added") as error:
        pool_publish(pool, tmp_path / "release")
    assert shlex.split(error.value.hint)[-2:] == ["FILE", "--replace"]
    path.unlink()
    with pytest.raises(shoal.InputError, match="changed after they were added"):
        pool_publish(pool, tmp_path / "release")


def test_a_pool_is_published_when_everybody_is_there(tmp_path):
    pool_init(tmp_path / "pool", schema(), RULE, providers=NAMES)
    for seed, name in enumerate(NAMES[:2]):
        with pytest.raises(shoal.InputError, match="have added no rows"):
            pool_publish(tmp_path / "pool", tmp_path / "release")
        pool_add(tmp_path / "pool", name, rows(seed=seed))
    with pytest.raises(shoal.InputError, match="1 of 3 providers has added no rows: St Mary") as e:
        pool_publish(tmp_path / "pool", tmp_path / "release")
    assert e.value.hint.endswith("pool --provider 'St Mary' FILE")


def test_too_few_providers_are_refused(tmp_path):
    pool_init(tmp_path / "pool", schema(), "m-privacy m=2 (k-anonymity k=3)")
    with pytest.raises(shoal.InputError, match="Nobody has added"):
        pool_publish(tmp_path / "pool", tmp_path / "release")
    pool_add(tmp_path / "pool", "North", rows())
    with pytest.raises(shoal.InputError, match="one provider"):
        pool_publish(tmp_path / "pool", tmp_path / "release")
    pool_add(tmp_path / "pool", "South", rows(seed=2))
    with pytest.raises(shoal.UsageError, match="m=2 of 2"):
        pool_publish(tmp_path / "pool", tmp_path / "release")


def test_what_fails_leaves_everything_as_it_was(pool, tmp_path, monkeypatch):
    before = everything(tmp_path)

    def full(*_):
        raise shoal.OutputError("The disk is full.")

    monkeypatch.setattr(partner_certificate.pages, "write_provider_page", full)
    with pytest.raises(shoal.OutputError):
        pool_publish(pool, tmp_path / "release")
    assert everything(tmp_path) == before


def test_a_folder_is_replaced_with_its_pages_or_not_at_all(done, pool, tmp_path):
    """Another's release, as far as this pool remembers."""
    for end in ("", ".private", ".partners"):
        shutil.copytree(done[0] / f"release{end}", tmp_path / f"release{end}")
    with pytest.raises(shoal.UsageError, match="exists already"):
        pool_publish(pool, tmp_path / "release")
    pool_add(pool, "North", rows(60, 9), replace=True)
    second = pool_publish(pool, tmp_path / "release", replace=True)
    assert second.hash != done[1].hash
    assert shoal.verify(tmp_path / "release").rows == 60 + 47 + 54
    (tmp_path / "release.partners/notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(shoal.UsageError, match="not a pool's"):
        pool_publish(pool, tmp_path / "release", replace=True)
