"""onnxruntime-web, which runs a model in the browser: one pinned npm package, checked, the few files we need.

The files are too large for the repository. They are put beside the page once, with the ordinary npm client:
by `leantta play` when they are missing, and before a wheel is built by scripts/web_engine.py.
"""

import base64
import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from leantta.errors import DownloadError
from leantta.files import replacing

PACKAGE = "onnxruntime-web@1.30.0"
SHA512 = "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ=="
"""Of the package as npm has it, in npm's own form."""

FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
LICENCES = ("LICENSE", "ThirdPartyNotices.txt")
"""The npm package has neither; they are those of the Python package of ONNX Runtime, the same code."""

FOLDER = Path(__file__).parent / "page" / "engine"
_STAMP = "VERSION"  # written last: what is there is whole, and of the version that is wanted


def is_there() -> bool:
    """Tell whether the files are there, in the version that the page was made for."""
    stamp = FOLDER / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == PACKAGE


def engine_files() -> Mapping[str, Path]:
    """Return the files of the engine by name.

    Raises:
        DownloadError: they are not there; the message says how to fetch them.
    """
    if not is_there():
        raise DownloadError(
            f"the page needs {PACKAGE}, which is not in {FOLDER}. `leantta play` fetches it with npm, once."
        )
    return {name: FOLDER / name for name in (*FILES, *LICENCES)}


def fetch() -> None:
    """Put the engine's files beside the page, with npm.

    Raises:
        DownloadError: there is no npm, it cannot fetch the package, or gave another one than is pinned.
        StorageError: the folder cannot be written.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise DownloadError(
            f"the page needs {PACKAGE} in {FOLDER}, and npm, which fetches it, is not installed. Install npm "
            f"(Debian: apt install npm) and run the command again."
        )
    with TemporaryDirectory() as place:
        command = [npm, "pack", PACKAGE, "--ignore-scripts", "--pack-destination", place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        archives = list(Path(place).glob("*.tgz"))
        if done.returncode or len(archives) != 1:
            reason = next(reversed(done.stderr.strip().splitlines()), "npm gives no reason")
            raise DownloadError(f"npm cannot fetch {PACKAGE}: {reason}. Check the connection and try again.")
        unpack(archives[0])


def unpack(archive: Path, sha512: str = SHA512) -> None:
    """Put the files that the page needs from npm's archive beside it, with the licences.

    Raises:
        DownloadError: it is not the package that is pinned.
        StorageError: the folder cannot be written.
    """
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != sha512:
        raise DownloadError(
            f"npm gave another {PACKAGE} than this leantta was made with (sha512 {digest[:12]}..., not "
            f"{sha512[:12]}...). Nothing was installed; upgrade leantta, or look what is in your registry."
        )
    for name, content in (*_members(archive), *_licences(), (_STAMP, PACKAGE.encode())):
        with replacing(FOLDER / name) as part:
            part.write_bytes(content)


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as package:
        for name in FILES:
            member = package.extractfile(f"package/dist/{name}")
            assert member is not None  # the digest says which archive it is
            yield name, member.read()


def _licences() -> Iterator[tuple[str, bytes]]:
    spec = find_spec("onnxruntime")
    assert spec is not None  # a dependency of ours
    assert spec.origin is not None
    for name in LICENCES:
        yield name, Path(spec.origin).with_name(name).read_bytes()
