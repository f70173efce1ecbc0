"""Who made a model file: a detached signature beside it, and the public key that it must fit.

The seals inside a file find damage; whoever changes the file can seal it anew. A signature needs the private
key. It is Ed25519, of the SHA-256 of the whole file, in a text file `model.onnx.sig`:

    leantta-ed25519 1 BASE64

Keys are PEM files as OpenSSL reads and writes them: PKCS #8 and SubjectPublicKeyInfo.
"""

import base64
import binascii
import hashlib
import os
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.errors import ArtifactError, MissingFileError, SettingError, StorageError
from leantta.extras import missing_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KeyPath = str | PathLike[str]

ENDING = ".sig"
"""What the name of a signature has behind that of its file."""

_HEAD = "leantta-ed25519 1"
_PURPOSE = b"leantta model file 1\0"  # so that a signature of ours fits nothing else
_CHUNK_BYTES = 1_048_576
_MOST_BYTES = 10_000  # of a key or a signature; ours have some hundred


def make_keys(name: Path) -> tuple[Path, Path]:
    """Write a new pair of keys, NAME.key to sign with and keep secret, and NAME.pub to give away.

    Raises:
        StorageError: one of the files is there already, or cannot be written.
        MissingExtraError: the extra `sign` is not installed.
    """
    try:
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ModuleNotFoundError as e:
        raise missing_extra(e) from e
    private = Ed25519PrivateKey.generate()
    secret = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = private.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    places = Path(f"{name}.key"), Path(f"{name}.pub")
    for place in places:
        if place.exists():
            raise StorageError(
                f"{place} is there already, and a key is never overwritten. Take another name."
            )
    for place, content, mode in zip(places, (secret, public), (0o600, 0o644), strict=True):
        _write_new(place, content, mode)
    return places


def _write_new(place: Path, content: bytes, mode: int) -> None:
    try:
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
    except OSError as e:
        raise StorageError(f"cannot write {place}: {e.strerror or e}. Choose another place.") from e


def sign(path: Path, key: KeyPath) -> Path:
    """Write the signature of a file beside it, and return where; `key` is a private key.

    Raises:
        MissingFileError: there is no such file, or no such key.
        SettingError: the key is none to sign with.
        StorageError: the signature cannot be written.
        MissingExtraError: the extra `sign` is not installed.
    """
    from leantta.files import replacing  # here, not above: who loads a model file writes none

    signature = base64.b64encode(_private(key).sign(_message(path))).decode()
    target = signature_of(path)
    with replacing(target) as part:
        part.write_text(f"{_HEAD} {signature}\n", encoding="ascii")
    return target


def check_signed(path: str | PathLike[str], key: KeyPath) -> None:
    """Look whether the file at `path` is as the owner of the key signed it; `key` is a public key.

    Raises:
        MissingFileError: there is no such file, or no such key.
        SettingError: the key is none to check with.
        ArtifactError: the file has no signature, or one that does not fit.
        MissingExtraError: the extra `sign` is not installed.
    """
    public, place = _public(key), signature_of(path)
    from cryptography.exceptions import InvalidSignature

    message = _message(path)
    try:
        text = _small(place).decode("ascii")
    except FileNotFoundError as e:
        raise ArtifactError(
            f"{path} is not signed: there is no {place}. `leantta sign` writes it; or leave the key out."
        ) from e
    except (OSError, ValueError) as e:
        raise ArtifactError(f"cannot read the signature {place}: {e}. Sign the file again.") from e
    head, _, told = text.strip().rpartition(" ")
    try:
        signature = base64.b64decode(told, validate=True)
    except binascii.Error:
        signature = b""
    if head != _HEAD or len(signature) != 64:
        raise ArtifactError(f"{place} is no signature: it should be one line, {_HEAD} BASE64. Sign again.")
    try:
        public.verify(signature, message)
    except InvalidSignature as e:
        raise ArtifactError(
            f"{path} is not what was signed with {key}: the file, its signature or the key is another one. "
            f"Take the file again from who made it."
        ) from e


def signature_of(path: str | PathLike[str]) -> Path:
    """Return where the signature of a file is.

    >>> signature_of("model.onnx").name
    'model.onnx.sig'
    """
    return Path(f"{os.fspath(path)}{ENDING}")


def _message(path: str | PathLike[str]) -> bytes:
    """Return what is signed for a file."""
    try:
        hashed = hashlib.sha256()
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                hashed.update(chunk)
        return _PURPOSE + hashed.digest()
    except FileNotFoundError as e:
        raise MissingFileError(f"no model file at {path}. Check the path.") from e
    except (OSError, ValueError) as e:
        raise ArtifactError(
            f"cannot read {path}: {getattr(e, 'strerror', None) or e}. Check the path."
        ) from e


def _small(path: KeyPath) -> bytes:
    with Path(path).open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError("it is too long")
    return content


def _pem(path: KeyPath) -> bytes:
    try:
        return _small(path)
    except FileNotFoundError as e:
        raise MissingFileError(f"no key at {path}. `leantta keys NAME` makes a pair.") from e
    except (OSError, ValueError) as e:
        raise SettingError(f"cannot read the key {path}: {getattr(e, 'strerror', None) or e}.") from e


def _private(path: KeyPath) -> "Ed25519PrivateKey":
    content = _pem(path)
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ModuleNotFoundError as e:
        raise missing_extra(e) from e
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a password
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise SettingError(
            f"{path} is no private key to sign with: a PEM file of Ed25519 without a password, as NAME.key "
            f"of `leantta keys NAME`."
        )
    return key


def _public(path: KeyPath) -> "Ed25519PublicKey":
    content = _pem(path)
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ModuleNotFoundError as e:
        raise missing_extra(e) from e
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        hint = " It is a private key, which belongs to who signs." if b"PRIVATE" in content else ""
        raise SettingError(
            f"{path} is no public key to check with: a PEM file of Ed25519, such as NAME.pub of "
            f"`leantta keys NAME`.{hint}"
        )
    return key
