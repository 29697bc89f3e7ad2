"""`shoal data fetch` against a small archive on this machine, and the real one's files rebuilt."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import json
import os
import threading
import urllib.parse
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import shoal as front
from shoal.core.errors import InputError, OutputError
from shoal.data import download
from shoal.data.catalogue import ADULT_COLUMNS, FILES, IPUMS_COLUMNS

TRAIN = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K\n"
    "54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 60, ?, "
    ">50K\n\n"
)
TEST = (
    "|1x3 Cross validator\n25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, "
    "Own-child, Black, Male, 0, 0, 40, United-States, <=50K.\n\n"
)
ADULT = f"""{",".join(ADULT_COLUMNS)}
39,State-gov,77516,Bachelors,13,Never-married,Adm-clerical,Not-in-family,White,Male,2174,0,40,United-States,<=50K,train
54,?,180211,Some-college,10,Married-civ-spouse,?,Husband,White,Male,0,0,60,?,>50K,train
25,Private,226802,11th,7,Never-married,Machine-op-inspct,Own-child,Black,Male,0,0,40,United-States,<=50K,test
"""
BODY = {
    year: "\n".join(",".join(str(year + i * j) for i in range(61)) for j in (0, -1)) + "\n"
    for year in (97, 98, 99)
}
TABLES = {"adult.csv.gz": ADULT} | {
    f"ipums_la_{year}.csv.gz": f"{','.join(IPUMS_COLUMNS)}\n{body}" for year, body in BODY.items()
}


def zipped(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return held.getvalue()


def as_archived() -> dict[str, bytes]:
    """The archive's files, for the small tables."""
    parts = {"adult.data": TRAIN.encode(), "adult.test": TEST.encode(), "Index": b"..."}
    single = {f"ipums.la.{year}.gz": gzip.compress(body.encode()) for year, body in BODY.items()}
    return {"adult.zip": zipped(**parts), **single}


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """The known hashes are those of the small tables, and nothing is found outside the folder."""
    for file, text in TABLES.items():
        digest = hashlib.sha256(text.encode()).hexdigest()
        monkeypatch.setitem(
            FILES, file, replace(FILES[file], sha256=digest, rows=text.count("\n") - 1)
        )
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


class Served:
    """A server on this machine, with what it was asked for."""

    def __init__(self, files):
        self.files, self.asked, self.status, self.short = files, [], 404, False
        self.troubled = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).split("/")[-1]
                trouble = outer.troubled.get(name, "short" if outer.short else "")
                content = outer.files.get(
                    name, b"no zip" if trouble in ("short", "damaged") else None
                )
                missing = 503 if trouble == "503" else outer.status
                self.send_response(missing if content is None else 200)
                length = len(content or b"") + (7 if trouble == "short" else 0)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def served():
    one = Served(as_archived())
    yield one
    one.server.shutdown()
    one.server.server_close()


def content(file):
    return gzip.decompress(file.read_bytes()).decode()


def test_everything_is_fetched_converted_and_kept(shoal, here, served):
    done = shoal("data", "fetch", "-o", "data", "--from", f"{served.address}/files/", "--json")
    assert done.exit_code == 0, done.output
    assert {file: content(here / "data" / file) for file in TABLES} == TABLES
    found = json.loads(done.stdout)
    assert [one["file"] for one in found["files"]] == list(FILES)
    assert [one["rows"] for one in found["files"]] == [3, 2, 2, 2]
    assert all(one["new"] for one in found["files"])
    assert found["found_there"] is False
    terms = (here / "data" / "LICENCES.txt").read_text()
    assert "CC BY 4.0" in terms
    assert "Ruggles" in terms
    assert {path.name for path in (here / "data").iterdir()} == {*FILES, "LICENCES.txt"}


def test_what_is_there_and_right_is_not_asked_for_again(shoal, here, served):
    first = shoal("data", "fetch", "adult-train", "-o", "data", "--from", served.address)
    assert "adult.csv.gz: 3 rows, fetched. Licence: CC BY 4.0." in first.output
    assert "SHOAL_DATA=data" in first.output
    assert served.asked == ["/adult.zip"]  # one bundle for both parts
    again = shoal("data", "fetch", "adult", "-o", "data", "--from", served.address)
    assert "adult.csv.gz: 3 rows, was here." in again.output
    assert served.asked == ["/adult.zip"]


def test_it_goes_where_studies_look_for_it(shoal, here, served, monkeypatch, tmp_path):
    told = shoal("data", "fetch", "ipums-1970", "--from", served.address)
    assert "SHOAL_DATA" not in told.output
    assert (
        content(tmp_path / "user" / "shoal" / "ipums_la_97.csv.gz") == TABLES["ipums_la_97.csv.gz"]
    )
    monkeypatch.setenv("SHOAL_DATA", str(here / "mine"))
    shoal("data", "fetch", "adult", "--from", served.address)
    assert content(here / "mine" / "adult.csv.gz") == ADULT
    listed = json.loads(shoal("data", "list", "--json").stdout)
    here_now = {one["name"]: one["here"] for one in listed["datasets"]}
    assert here_now == {
        "adult": True,
        "adult-train": True,
        "ipums-1970": True,
        "ipums-stacked": False,
    }
    files = {one["name"]: one["files"] for one in listed["datasets"]}
    assert files["adult"] == {"adult.csv.gz": str(here / "mine" / "adult.csv.gz")}
    assert files["ipums-stacked"]["ipums_la_99.csv.gz"] is None
    assert "st_anna.csv" in listed["tables"]
    lines = shoal("data", "list").output.splitlines()
    assert any(line.startswith("adult ") and line.endswith(str(here / "mine")) for line in lines)
    assert any(line.endswith("not here: shoal data fetch") for line in lines)


@pytest.mark.parametrize("form", ["plain", "gz", "zip", "folders in a zip"])
def test_a_folder_of_downloads_will_do(shoal, here, form):
    parts = {"adult.data": TRAIN.encode(), "adult.test": TEST.encode()}
    parts |= {f"ipums.la.{year}": body.encode() for year, body in BODY.items()}
    if form == "gz":
        parts = {f"{name}.gz": gzip.compress(part) for name, part in parts.items()}
    if form == "zip":
        adult = {name: part for name, part in parts.items() if name.startswith("adult")}
        parts = {"adult.zip": zipped(**adult), "ipums+census+database.zip": zipped(**parts)}
    if form == "folders in a zip":
        parts = {f"x/{name}.gz": gzip.compress(part) for name, part in parts.items()}
        parts = {name: zipped(**parts) for name in ("adult.zip", "ipums+census+database.zip")}
    (here / "downloads").mkdir()
    for name, part in parts.items():
        (here / "downloads" / name).write_bytes(part)
    done = shoal("data", "fetch", "-o", "data", "--from", "downloads")
    assert done.exit_code == 0, done.output
    assert {file: content(here / "data" / file) for file in TABLES} == TABLES


def test_numbers_may_be_written_otherwise(shoal, here):
    (here / "downloads").mkdir()
    padded = "\r\n".join(line.replace(",", ", ") for line in BODY[97].splitlines()) + "\r\n"
    (here / "downloads" / "ipums.la.97").write_text(padded, newline="")
    assert shoal("data", "fetch", "ipums-1970", "-o", "d", "--from", "downloads").exit_code == 0
    assert content(here / "d" / "ipums_la_97.csv.gz") == TABLES["ipums_la_97.csv.gz"]


BROKEN = {
    "a value": ({"adult.data": TRAIN.replace("39,", "38,", 1)}, "its hash differs"),
    "a row": ({"adult.data": TRAIN[TRAIN.index("54") :]}, "2 rows, not 3"),
    "columns": ({"adult.data": TRAIN.replace(", White", "")}, "other than 15 columns"),
    "a page": ({"adult.data": "<html>log in first</html>"}, "other than 15 columns"),
    "no zip": ({"adult.zip": "<html>", "adult.data": None}, "adult.zip cannot be unpacked"),
    "no gzip": ({"adult.data": "\x1f\u008b rest"}, "adult.data cannot be unpacked"),
    "missing": ({"adult.data": None}, "has no adult.data, alone or in adult.zip"),
    "words": ({"ipums.la.97": BODY[97].replace("97", "many", 1)}, "61 whole numbers"),
    "fewer": ({"ipums.la.97": "1,2,3\n"}, "61 whole numbers"),
    "nothing": ({"ipums.la.97": ""}, "61 whole numbers"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_not_the_data_set_is_not_kept(shoal, here, case):
    changed, told = BROKEN[case]
    files = {"adult.data": TRAIN, "adult.test": TEST, "ipums.la.97": BODY[97]} | changed
    (here / "downloads").mkdir()
    for name, text in files.items():
        if text is not None:
            (here / "downloads" / name).write_bytes(text.encode("latin-1"))
    name = "ipums-1970" if "ipums.la.97" in changed else "adult"
    done = shoal("data", "fetch", name, "-o", "data", "--from", "downloads")
    assert done.exit_code == 5, done.output
    assert told in done.stderr
    assert "many" not in done.stderr  # no cell is shown
    assert not (here / "data").exists()


def packed_with(method) -> bytes:
    """A bundle packed so, with a part of it damaged."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as packed:
        packed.writestr("adult.data", TRAIN)
    content = bytearray(held.getvalue())
    start = content.index(b"adult.data") + len("adult.data")
    content[start + 12 : start + 40] = b"\xff" * 28
    return bytes(content)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_bundle_is_said_to_be_damaged(method):
    with pytest.raises(InputError, match=r"adult\.zip cannot be unpacked: it is damaged"):
        download._read_bundle_member("adult.zip", packed_with(method), "adult.data")


@pytest.mark.parametrize("bundle", [b"<html>", packed_with(zipfile.ZIP_LZMA)], ids=["page", "lzma"])
def test_a_damaged_bundle_does_not_hide_the_files_beside_it(shoal, here, bundle):
    (here / "downloads").mkdir()
    (here / "downloads" / "adult.zip").write_bytes(bundle)
    (here / "downloads" / "adult.data").write_text(TRAIN)
    (here / "downloads" / "adult.test").write_text(TEST)
    done = shoal("data", "fetch", "adult", "-o", "data", "--from", "downloads")
    assert done.exit_code == 0, done.output
    assert content(here / "data" / "adult.csv.gz") == ADULT


def test_what_is_far_too_long_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MAX_BYTES", 1000)
    (tmp_path / "adult.data").write_bytes(b"x" * 1001)
    with pytest.raises(InputError, match=r"adult\.data cannot be unpacked"):
        download.Archive(str(tmp_path), lambda *_: None).part("adult.data")
    (tmp_path / "adult.data").write_bytes(b"x" * 1000)
    assert download.Archive(str(tmp_path), lambda *_: None).part("adult.data") == b"x" * 1000


def test_another_content_gives_way_only_when_told_to(shoal, here, served):
    (here / "data").mkdir()
    (here / "data" / "adult.csv.gz").write_bytes(b"mine")
    asked = ("data", "fetch", "adult", "-o", "data", "--from", served.address)
    refused = shoal(*asked)
    assert refused.exit_code == 5
    assert "adult.csv.gz is there already, with another content." in refused.stderr
    assert "--replace" in refused.stderr
    assert (here / "data" / "adult.csv.gz").read_bytes() == b"mine"
    assert served.asked == []
    assert shoal(*asked, "--replace").exit_code == 0
    assert content(here / "data" / "adult.csv.gz") == ADULT


def put_folder(path):
    path.mkdir()


def put_link(path):
    path.symlink_to("nowhere")


def put_pipe(path):
    os.mkfifo(path)


def put_endless(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [put_folder, put_link, put_pipe, put_endless])
def test_what_is_no_file_is_not_taken_for_a_free_place(shoal, here, served, put):
    (here / "data").mkdir()
    place = here / "data" / "adult.csv.gz"
    put(place)
    asked = ("data", "fetch", "adult", "-o", "data", "--from", served.address)
    refused = shoal(*asked)
    assert refused.exit_code == 5
    assert "adult.csv.gz is there already, but is no file that can be opened." in refused.stderr
    assert os.path.lexists(place)
    assert not place.is_file()
    assert served.asked == []
    replaced = shoal(*asked, "--replace")
    if put is put_folder:
        assert "adult.csv.gz cannot be written: Is a directory." in replaced.stderr
    else:
        assert replaced.exit_code == 0, replaced.output
        assert not place.is_symlink()
        assert content(place) == ADULT
    assert not (here / "data" / "nowhere").exists()


def test_a_file_that_cannot_be_read_is_not_called_another_one(served, tmp_path, monkeypatch):
    place = tmp_path / "adult.csv.gz"
    place.write_bytes(gzip.compress(ADULT.encode()))

    def refused(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(
        download, "_read_compressed", refused
    )  # an administrator may read everything
    with pytest.raises(OutputError, match=r"but cannot be read \(Permission denied\)"):
        front.fetch("adult", out=tmp_path, source=served.address)
    assert served.asked == []


def test_a_file_is_not_read_beyond_what_any_has(served, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MAX_BYTES", len(ADULT))
    place = tmp_path / "adult.csv.gz"
    place.write_bytes(gzip.compress(ADULT.encode()))
    assert front.fetch("adult", out=tmp_path, source=served.address).old == ("adult.csv.gz",)
    for longer in (gzip.compress(b"x" * 10**6), b"x" * 10**6, gzip.compress(ADULT.encode())[:-9]):
        place.write_bytes(longer)
        assert len(download._read_compressed(place)) <= len(ADULT) + 1
        with pytest.raises(OutputError, match="with another content"):
            front.fetch("adult", out=tmp_path, source=served.address)
    assert served.asked == []


# The network


def test_without_a_network_the_way_by_hand_is_told(shoal, here, served):
    served.server.shutdown()
    served.server.server_close()
    done = shoal("data", "fetch", "-o", "data", "--from", served.address, "--json")
    assert done.exit_code == 5
    assert "127.0.0.1" in done.stderr
    assert "cannot be reached" in done.stderr
    for hint in ("https_proxy", "https://archive.ics.uci.edu/dataset/2/adult", "--from FOLDER"):
        assert hint in json.loads(done.stdout)["error"]["hint"]
    assert not (here / "data").exists()


def test_a_download_that_breaks_off_is_not_kept(shoal, here, served):
    served.short = True
    done = shoal("data", "fetch", "adult", "-o", "data", "--from", served.address)
    assert done.exit_code == 5
    assert "bytes came" in done.stderr
    assert not (here / "data").exists()


def test_a_server_in_trouble_is_not_taken_for_an_empty_one(shoal, here, served):
    served.files, served.status = {}, 503
    done = shoal("data", "fetch", "adult", "-o", "data", "--from", served.address)
    assert done.exit_code == 5
    assert "it answers 503" in done.stderr
    # Every place that it might lie in was asked, once each.
    assert served.asked == [f"/adult.{end}" for end in ("zip", "data.gz", "data", "data.gz.old")]


@pytest.mark.parametrize("trouble", ["503", "short", "damaged"])
def test_where_one_address_is_out_of_order_the_next_is_asked(shoal, here, served, trouble):
    served.files = {"adult.data": TRAIN.encode(), "adult.test": TEST.encode()}
    served.troubled = {"adult.zip": trouble}
    done = shoal("data", "fetch", "adult", "-o", "data", "--from", served.address)
    assert done.exit_code == 0, done.output
    assert content(here / "data" / "adult.csv.gz") == ADULT
    assert served.asked.count("/adult.zip") == 1  # not again for the second part


def test_the_archive_s_own_addresses_are_tried_one_after_another(monkeypatch, served, tmp_path):
    assert all(
        one.startswith("https://archive.ics.uci.edu/") for one in download.ADDRESSES.values()
    )
    elsewhere = {
        name: address.replace(download.UCI, served.address)
        for name, address in download.ADDRESSES.items()
    }
    monkeypatch.setattr(download, "ADDRESSES", elsewhere)
    served.files["ipums+census+database.zip"] = zipped(
        **{"ipums.la.98.gz": served.files.pop("ipums.la.98.gz")}
    )
    front.fetch(out=tmp_path / "data")
    old = "/ml/machine-learning-databases/ipums-mld/ipums.la"
    assert served.asked == [
        "/static/public/2/adult.zip",
        f"{old}.97.gz",
        f"{old}.98.gz",
        "/static/public/127/ipums+census+database.zip",
        f"{old}.99.gz",
    ]
    assert content(tmp_path / "data" / "ipums_la_98.csv.gz") == TABLES["ipums_la_98.csv.gz"]


def test_proxies_are_those_of_the_environment(monkeypatch, served, tmp_path):
    monkeypatch.setenv("http_proxy", served.address)
    monkeypatch.setenv("no_proxy", "")
    front.fetch("adult", out=tmp_path / "data", source="http://mirror.invalid/uci")
    assert served.asked == ["http://mirror.invalid/uci/adult.zip"]
    assert content(tmp_path / "data" / "adult.csv.gz") == ADULT


# Stopped, refused


def test_stopped_in_a_download_nothing_is_there(served, tmp_path):
    def stop(step, done, total):
        if step == "ipums.la.97.gz" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        front.fetch("ipums-1970", out=tmp_path / "data", source=served.address, progress=stop)
    assert not (tmp_path / "data").exists()


def test_stopped_while_a_file_is_written_none_is_half_there(served, tmp_path, monkeypatch):
    calls = []

    def stop(descriptor):
        calls.append(descriptor)
        if len(calls) == 4:  # Adult and its terms are in place, and the terms again
            raise KeyboardInterrupt

    monkeypatch.setattr(download.os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        front.fetch(out=tmp_path / "data", source=served.address)
    left = {path.name for path in (tmp_path / "data").iterdir()}
    assert left == {"adult.csv.gz", "LICENCES.txt"}
    assert content(tmp_path / "data" / "adult.csv.gz") == ADULT


def test_progress_says_how_many_bytes_came(served, tmp_path):
    steps = []
    front.fetch(
        "adult",
        out=tmp_path / "data",
        source=served.address,
        progress=lambda *step: steps.append(step),
    )
    size = len(served.files["adult.zip"])
    assert steps[0] == ("adult.zip", 0, size)
    assert ("adult.zip", size, size) in steps
    assert steps[-1] == ("adult.csv.gz written", 1, 1)


def test_wrong_names_and_places_are_refused_first(shoal, here, served):
    unknown = shoal("data", "fetch", "census", "--from", served.address)
    assert unknown.exit_code == 2
    assert "one of adult, adult-train, ipums-1970, ipums-stacked." in unknown.stderr
    nowhere = shoal("data", "fetch", "--from", "downloads")
    assert nowhere.exit_code == 2
    assert "There is no folder downloads." in nowhere.stderr
    (here / "file").write_text("")
    blocked = shoal("data", "fetch", "-o", "file/data", "--from", served.address)
    assert blocked.exit_code == 5
    assert "cannot be written to" in blocked.stderr
    assert served.asked == []


# The real files


def rebuilt(folder):
    """`adult.data` and `adult.test` as the archive has them, from the table."""
    with gzip.open(folder / "adult.csv.gz", "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    lines = {
        split: [", ".join(row[:-1]) for row in rows if row[-1] == split]
        for split in ("train", "test")
    }
    train = "".join(f"{line}\n" for line in lines["train"]) + "\n"
    test = "|1x3 Cross validator\n" + "".join(f"{line}.\n" for line in lines["test"]) + "\n"
    return {"adult.data": train.encode(), "adult.test": test.encode()}


def test_the_real_archive_s_files_become_the_real_tables(real_data, served, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    parts = rebuilt(real_data)
    # The hashes that the archive's own files are known by: these are its bytes.
    assert {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()} == {
        "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    }
    served.files = {"adult.zip": zipped(**parts)}
    tables = {file: gzip.decompress((real_data / file).read_bytes()) for file in FILES}
    body = tables["ipums_la_97.csv.gz"].partition(b"\n")[2]  # the archive's has no header
    served.files["ipums.la.97.gz"] = gzip.compress(body, 0)
    front.fetch("adult", "ipums-1970", out=tmp_path / "data", source=served.address)
    for file in ("adult.csv.gz", "ipums_la_97.csv.gz"):
        assert gzip.decompress((tmp_path / "data" / file).read_bytes()) == tables[file]
    assert {file: hashlib.sha256(table).hexdigest() for file, table in tables.items()} == {
        file: known.sha256 for file, known in FILES.items()
    }
