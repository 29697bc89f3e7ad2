"""What a publisher holds to write a ledger: a signing key of its own and the key of the contents.

Signatures are Ed25519 (Bernstein, Duif, Lange, Schwabe, Yang 2012; RFC 8032); contents are sealed
with AES-256-GCM (NIST SP 800-38D, 2007), a random nonce each, bound to one ledger's identity. The
key of the contents and that of the founding's mark are both derived from ``sealing`` by HKDF
(Krawczyk 2010; RFC 5869).

It does not protect against whoever reads the key file: that person can open every content and sign
in the publisher's name. A lost key cannot be made again, and what it sealed stays closed.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shoal.core.errors import InputError, OutputError, UsageError

EDITION, KIND = 1, "shoal ledger key"
_BYTES, _NONCE, _LONGEST_NAME = 32, 12, 200
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Keys:
    """A publisher's name and two secrets, which are shown nowhere.

    >>> keys = Keys.new("City hospital")
    >>> keys
    Keys(name='City hospital')
    >>> keys.sibling("Lake hospital").sealing == keys.sealing
    True
    """

    name: str
    signing: bytes = field(repr=False)
    """The seed of the Ed25519 key."""
    sealing: bytes = field(repr=False)
    """Shared by all publishers of a ledger, since each must judge with the others' releases."""

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable() or len(self.name) > _LONGEST_NAME:
            raise UsageError(
                "A publisher's name must be some printable text.",
                f"Give a name of at most {_LONGEST_NAME} characters in one line.",
            )

    @classmethod
    def new(cls, name: str) -> Keys:
        """Keys that nobody has yet, from the operating system's randomness."""
        return cls(name, secrets.token_bytes(_BYTES), secrets.token_bytes(_BYTES))

    def sibling(self, name: str) -> Keys:
        """Keys for another publisher of the same ledger: it signs for itself and opens the same."""
        return Keys(name, secrets.token_bytes(_BYTES), self.sealing)

    @property
    def public(self) -> str:
        """The key that checks this publisher's signatures, as 64 hexadecimal digits."""
        return self._private.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, 64 bytes."""
        return self._private.sign(message)

    def seal(self, content: bytes, ledger: str) -> bytes:
        """The content under the sealing key: nonce, ciphertext and tag."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._cipher.encrypt(nonce, content, ledger.encode())

    def unseal(self, sealed: bytes, ledger: str) -> bytes | None:
        """What was sealed for this ledger; None if it was changed, or sealed with another key."""
        if len(sealed) < _NONCE:
            return None
        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], ledger.encode())
        except InvalidTag:
            return None

    def mark(self, ledger: str, founder: str) -> str:
        """What only a holder of the sealing key can write under a ledger's founding.

        It binds the founder's public key to the ledger's identity: who has no key cannot found the
        ledger anew, and a wrong key is noticed at the door.
        """
        message = f"{founder}\n{ledger}".encode()
        return hmac.digest(self._derived(b"founding"), message, "sha256").hex()

    @property
    def _cipher(self) -> AESGCM:
        return AESGCM(self._derived(b"contents"))

    def _derived(self, use: bytes) -> bytes:
        derivation = HKDF(
            algorithm=SHA256(), length=_BYTES, salt=None, info=b"shoal ledger 1 " + use
        )
        return derivation.derive(self.sealing)

    @property
    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.signing)

    # The file

    def write(self, path: str | Path) -> None:
        """Write a new file that only its owner may read; one that is there is never overwritten."""
        target = Path(path)
        text = json.dumps(self._to_json(), indent=1, ensure_ascii=False) + "\n"
        try:
            _write_new(target, text.encode())
        except FileExistsError:
            raise OutputError(
                f"There is a file {target.name} already, and a key is never overwritten.",
                "Give another name for the key.",
            ) from None
        except OSError as error:
            raise OutputError(
                f"The key cannot be written to {target.name} ({error.strerror}).",
                "Check the folder and the space left.",
            ) from None

    def _to_json(self) -> dict[str, Any]:
        return {
            "edition": EDITION,
            "kind": KIND,
            "name": self.name,
            "public": self.public,
            "signing": self.signing.hex(),
            "sealing": self.sealing.hex(),
        }

    @classmethod
    def read(cls, path: str | Path) -> Keys:
        """The keys in a file that only its owner can read."""
        source = Path(path)
        try:
            with source.open("rb") as file:
                _must_be_private(source, os.fstat(file.fileno()).st_mode)
                stored = json.loads(file.read())
        except FileNotFoundError:
            raise InputError(
                f"There is no key file {source.name}.",
                "Name the file that was written when the ledger was made.",
            ) from None
        except OSError as error:
            raise InputError(
                f"The key file {source.name} cannot be read ({error.strerror}).",
                "Check its owner and that it is a file.",
            ) from None
        except ValueError:
            raise _not_a_key_error(source) from None
        return _parse_keys(source, stored)


def is_public_key(text: Any) -> TypeGuard[str]:
    """Whether a text is a public key: 64 hexadecimal digits, lower case."""
    return isinstance(text, str) and _HEX.fullmatch(text) is not None


def is_valid_signature(public: str, signature: str, message: bytes) -> bool:
    """Whether a signature, in hexadecimal, is that key's over the message."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def _write_new(path: Path, content: bytes) -> None:
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        sync_parent_folder(path)
    except OSError:
        path.unlink()  # half a key would stand in the way of a whole one
        raise


def sync_parent_folder(path: Path) -> None:
    """Make a new file's name in its folder survive a crash, where the system lets one."""
    if os.name == "posix":
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _must_be_private(path: Path, mode: int) -> None:
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise InputError(
            f"Others than its owner can read the key file {path.name}.", f"chmod 600 {path}"
        )


def _parse_keys(source: Path, stored: Any) -> Keys:
    if not isinstance(stored, dict) or stored.get("kind") != KIND:
        raise _not_a_key_error(source)
    if stored.get("edition") != EDITION:
        raise InputError(
            f"The key file {source.name} is of an edition that this shoal does not know.",
            "Install a newer shoal.",
        )
    name, signing, sealing = (stored.get(part) for part in ("name", "signing", "sealing"))
    if not isinstance(name, str) or not is_public_key(signing) or not is_public_key(sealing):
        raise _not_a_key_error(source)
    keys = Keys(name, bytes.fromhex(signing), bytes.fromhex(sealing))
    if stored.get("public") != keys.public:
        raise _not_a_key_error(source)
    return keys


def _not_a_key_error(source: Path) -> InputError:
    return InputError(
        f"{source.name} is not the key of a ledger, or is damaged.",
        "Name the file that was written when the ledger was made.",
    )
