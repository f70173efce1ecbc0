"""Signatures: a file is taken if the owner of the key signed it as it is, and never else."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from hostile.seals import resealed
from leantta.errors import ArtifactError, MissingFileError, SettingError, StorageError
from leantta.runtime.session import load
from leantta.runtime.signing import check_signed, make_keys, sign, signature_of
from leantta.runtime.verify import verify
from running import Run
from serve.served import serving

GOLDEN = Path(__file__).parent / "golden" / "format1.onnx"


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Path]:
    """A signed file and the public key."""
    private, public = make_keys(tmp_path / "ours")
    path = Path(shutil.copy(GOLDEN, tmp_path / "model.onnx"))
    sign(path, private)
    return path, public


def test_a_signed_file_is_loaded_and_verified(signed: tuple[Path, Path]) -> None:
    path, public = signed
    with load(path, key=public) as session:
        assert session.native
    first, *rest = verify(path, key=public)
    assert (first.name, first.ok) == ("signature", True)
    assert all(check.ok for check in rest)
    assert [check.name for check in rest] == [check.name for check in verify(path)]


def test_the_private_key_is_private(tmp_path: Path) -> None:
    private, public = make_keys(tmp_path / "ours")
    assert private.stat().st_mode & 0o077 == 0
    assert b"PRIVATE" in private.read_bytes()
    assert b"PRIVATE" not in public.read_bytes()
    kept = private.read_bytes()
    with pytest.raises(StorageError, match="never overwritten"):
        make_keys(tmp_path / "ours")
    assert private.read_bytes() == kept


def another_byte(path: Path, _: Path) -> None:
    """Damage that its maker has sealed anew: without a key, nothing sees it."""
    data = path.read_bytes()
    assert b'"leantta":"0.1.0"' in data
    path.write_bytes(resealed(data.replace(b'"leantta":"0.1.0"', b'"leantta":"0.1.9"')))


def no_signature(path: Path, _: Path) -> None:
    signature_of(path).unlink()


def empty_signature(path: Path, _: Path) -> None:
    signature_of(path).write_bytes(b"")


def another_signature(path: Path, _: Path) -> None:
    text = signature_of(path).read_text()
    signature_of(path).write_text(text[:30] + ("A" if text[30] != "A" else "B") + text[31:])


def no_text(path: Path, _: Path) -> None:
    signature_of(path).write_bytes(bytes(range(256)))


def endless_signature(path: Path, _: Path) -> None:
    signature_of(path).write_bytes(b"A" * 1_000_000)


def a_folder(path: Path, _: Path) -> None:
    signature_of(path).unlink()
    signature_of(path).mkdir()


def another_version(path: Path, _: Path) -> None:
    signature_of(path).write_text(signature_of(path).read_text().replace(" 1 ", " 2 "))


def of_somebody_else(path: Path, _: Path) -> None:
    other, _ = make_keys(path.parent / "other")
    sign(path, other)


def another_key(path: Path, public: Path) -> None:
    _, other = make_keys(path.parent / "other")
    shutil.copy(other, public)


SPOILS = (
    *(another_byte, no_signature, empty_signature, another_signature, no_text, endless_signature),
    *(a_folder, another_version, of_somebody_else, another_key),
)


@pytest.mark.parametrize("spoil", SPOILS)
def test_anything_else_is_refused(spoil: Callable[[Path, Path], None], signed: tuple[Path, Path]) -> None:
    path, public = signed
    spoil(path, public)
    with pytest.raises(ArtifactError, match="sign") as told:
        load(path, key=public)
    assert "\n" not in str(told.value)
    (check,) = verify(path, key=public)
    assert (check.name, check.ok) == ("signature", False)
    load(path).close()  # who does not ask is not told


def test_every_flipped_bit_of_a_signature_is_seen(signed: tuple[Path, Path]) -> None:
    path, public = signed
    place = signature_of(path)
    whole = place.read_bytes()
    for i in range(len(whole) - 1):
        spoilt = bytearray(whole)
        spoilt[i] ^= 1
        place.write_bytes(spoilt)
        with pytest.raises(ArtifactError):
            check_signed(path, public)


def curve_key(path: Path) -> None:
    key = generate_private_key(SECP256R1())
    path.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))


def test_keys_of_the_wrong_kind_are_told_apart(signed: tuple[Path, Path], tmp_path: Path) -> None:
    path, public = signed
    private = public.with_suffix(".key")
    with pytest.raises(SettingError, match="It is a private key"):
        load(path, key=private)
    with pytest.raises(SettingError, match="no private key to sign with"):
        sign(path, public)
    with pytest.raises(SettingError, match="no public key to check with"):
        load(path, key=path)
    curve_key(tmp_path / "curve.key")
    with pytest.raises(SettingError, match="no private key to sign with"):
        sign(path, tmp_path / "curve.key")
    for call in (lambda: load(path, key=tmp_path / "gone"), lambda: sign(path, tmp_path / "gone")):
        with pytest.raises(MissingFileError, match="no key at"):
            call()
    for call in (
        lambda: load(tmp_path / "gone.onnx", key=public),
        lambda: sign(tmp_path / "gone.onnx", private),
    ):
        with pytest.raises(MissingFileError, match="no model file at"):
            call()


def test_the_commands(run: Run, tmp_path: Path) -> None:
    model = Path(shutil.copy(GOLDEN, tmp_path / "model.onnx"))
    assert run("keys", "ours").returncode == 0
    assert run("sign", "model.onnx", "--key", "ours.key").stdout == "model.onnx.sig\n"
    done = run("verify", "model.onnx", "--key", "ours.pub")
    assert (done.returncode, "signature" in done.stdout) == (0, True)
    another_byte(model, tmp_path)
    done = run("verify", "model.onnx", "--key", "ours.pub")
    assert (done.returncode, "FAILED" in done.stdout) == (1, True)
    (tmp_path / "text.onnx").write_text("no model")
    assert run("sign", "text.onnx", "--key", "ours.key").returncode == 1
    assert not (tmp_path / "text.onnx.sig").exists()


def test_without_the_package_the_line_that_brings_it_is_told() -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\nimport leantta\n"
        f"leantta.load({str(GOLDEN)!r}).close()\nleantta.load({str(GOLDEN)!r}, key={str(GOLDEN)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'leantta[sign]'" in done.stderr.splitlines()[-1]


def test_a_server_takes_signed_files_only(signed: tuple[Path, Path], tmp_path: Path) -> None:
    path, public = signed
    images = np.zeros((1, 3, 12, 12), np.float32)
    unsigned = Path(shutil.copy(GOLDEN, tmp_path / "unsigned.onnx"))
    done = subprocess.run(
        [sys.executable, "-m", "leantta", "serve", unsigned, "--key", public, "--port", "0"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, "is not signed" in done.stderr) == (1, True)
    with serving(tmp_path, path, "--key", public) as server:
        version = server.ask("GET", "/v2/models/model").json()["versions"]
        other = GOLDEN.with_name("format1_fused.onnx")
        shutil.copy(other, tmp_path / "new.onnx")
        (tmp_path / "new.onnx").replace(path)  # the old signature does not fit it
        wait_for(lambda: "is not taken" in server.errors.read_text())
        assert server.ask("GET", "/v2/models/model").json()["versions"] == version
        assert server.infer("model", images).status == 200
        sign(path, public.with_suffix(".key"))  # comes late, and is seen
        wait_for(lambda: server.ask("GET", "/v2/models/model").json()["versions"] != version)


def wait_for(done: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
