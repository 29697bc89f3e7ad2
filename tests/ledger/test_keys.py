"""Key files: private, whole, never overwritten; and what is sealed opens only with the key."""

from __future__ import annotations

import hmac
import json
import os
import stat

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shoal.core.errors import InputError, OutputError, UsageError
from shoal.ledger.chain.keys import Keys, is_valid_signature

LEDGER = "ab" * 16


@pytest.fixture
def keys():
    return Keys.new("Stadtspital Zürich")


def test_a_key_is_read_as_it_was_written(tmp_path, keys):
    keys.write(tmp_path / "a.key")
    assert Keys.read(str(tmp_path / "a.key")) == keys
    assert json.loads((tmp_path / "a.key").read_text(encoding="utf-8"))["edition"] == 1


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_only_the_owner_can_read_it(tmp_path, keys):
    path = tmp_path / "a.key"
    before = os.umask(0)
    try:
        keys.write(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for mode in (0o640, 0o604, 0o660, 0o644):
        path.chmod(mode)
        with pytest.raises(InputError, match=r"Others than its owner.*\nHint: chmod 600 .*a\.key"):
            Keys.read(path)
    path.chmod(0o400)
    assert Keys.read(path) == keys


def test_it_is_never_overwritten(tmp_path, keys):
    keys.write(tmp_path / "a.key")
    with pytest.raises(OutputError, match="never overwritten"):
        Keys.new("x").write(tmp_path / "a.key")
    assert Keys.read(tmp_path / "a.key") == keys
    with pytest.raises(OutputError, match="cannot be written"):
        keys.write(tmp_path / "none" / "a.key")


def test_half_a_key_is_not_left(tmp_path, keys, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        keys.write(tmp_path / "a.key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"edition": 2}, "edition that this shoal does not know"),
        ({"kind": "other"}, "not the key of a ledger"),
        ({"name": 3}, "not the key of a ledger"),
        ({"signing": "ab"}, "not the key of a ledger"),
        ({"sealing": None}, "not the key of a ledger"),
        ({"signing": "ab" * 32}, "not the key of a ledger"),  # no longer that of the public key
    ],
)
def test_damaged_keys(tmp_path, keys, change, fact):
    path = tmp_path / "a.key"
    keys.write(path)
    told = json.loads(path.read_text(encoding="utf-8")) | change
    path.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match=fact):
        Keys.read(path)


@pytest.mark.parametrize("text", ["", "not json", "[]", "3", "\x00", "{}"])
def test_what_is_no_key(tmp_path, text):
    (tmp_path / "a.key").write_text(text)
    (tmp_path / "a.key").chmod(0o600)
    with pytest.raises(InputError, match="not the key of a ledger"):
        Keys.read(tmp_path / "a.key")


def test_no_file(tmp_path):
    with pytest.raises(InputError, match=r"no key file a\.key"):
        Keys.read(tmp_path / "a.key")
    with pytest.raises(InputError, match="cannot be read"):
        Keys.read(tmp_path)


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201])
def test_names(name):
    with pytest.raises(UsageError, match="name must be some printable text"):
        Keys.new(name)


def test_secrets_are_not_shown(keys):
    for shown in (repr(keys), str(keys)):
        assert keys.signing.hex() not in shown
        assert repr(keys.sealing) not in shown


def test_a_sibling_signs_for_itself_and_opens_the_same(keys):
    other = keys.sibling("Lake hospital")
    assert other.public != keys.public
    assert other.mark(LEDGER, keys.public) == keys.mark(LEDGER, keys.public)
    assert other.unseal(keys.seal(b"x", LEDGER), LEDGER) == b"x"


def test_the_mark_is_of_one_founder_and_one_ledger(keys):
    marks = {
        one.mark(ledger, founder)
        for one in (keys, Keys.new("x"))
        for ledger in (LEDGER, "cd" * 16)
        for founder in (keys.public, Keys.new("x").public)
    }
    assert len(marks) == 8


def test_one_key_for_each_use(keys):
    """Contents and marks are under keys derived from the sealing key, as the theory page says."""

    def derived(use: bytes) -> bytes:
        early = hmac.digest(bytes(32), keys.sealing, "sha256")  # RFC 5869, one block
        return hmac.digest(early, b"shoal ledger 1 " + use + b"\x01", "sha256")

    sealed = keys.seal(b"content", LEDGER)
    opened = AESGCM(derived(b"contents")).decrypt(sealed[:12], sealed[12:], LEDGER.encode())
    assert opened == b"content"
    told = f"{keys.public}\n{LEDGER}".encode()
    assert keys.mark(LEDGER, keys.public) == hmac.digest(derived(b"founding"), told, "sha256").hex()


def test_signatures(keys):
    signature = keys.sign(b"message").hex()
    assert is_valid_signature(keys.public, signature, b"message")
    assert not is_valid_signature(keys.public, signature, b"massage")
    assert not is_valid_signature(Keys.new("x").public, signature, b"message")
    for wrong in (
        "",
        "zz",
        signature[:-2],
        signature[:-2] + "00" if signature[-2:] != "00" else "",
    ):
        assert not is_valid_signature(keys.public, wrong, b"message")
    assert not is_valid_signature("ab", signature, b"message")


def test_sealing(keys):
    sealed = keys.seal(b"content", LEDGER)
    assert keys.unseal(sealed, LEDGER) == b"content"
    assert keys.seal(b"content", LEDGER) != sealed  # a nonce of its own each time
    assert keys.unseal(sealed, "cd" * 16) is None
    assert Keys.new("x").unseal(sealed, LEDGER) is None
    for place in range(len(sealed)):
        changed = bytes(byte ^ (at == place) for at, byte in enumerate(sealed))
        assert keys.unseal(changed, LEDGER) is None
    for length in range(len(sealed)):
        assert keys.unseal(sealed[:length], LEDGER) is None
