"""Coverage-guided fuzzing of the readers of model files: atheris sees which lines an input reaches.

    python tests/hostile/fuzz_readers.py {wire,metadata} CORPUS -max_total_time=300

CORPUS is a folder that keeps what reached something new; files of ours are its beginning. Anything but an
error of ours ends the run with the input that caused it. atheris is no extra of ours: pip install atheris.
"""

import json
import sys
from pathlib import Path

import atheris

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "src")]
# atheris sees into modules that Python itself finds, and an editable installation has a finder of its own.
sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]

with atheris.instrument_imports(include=["leantta.runtime", "leantta.outputs", "leantta.data.preprocess"]):
    from leantta.runtime.bodies import changed_functions
    from leantta.runtime.container import check_crc, read_container
    from leantta.runtime.metadata import read_info

from hostile.seals import resealed  # noqa: E402 - found by the line above
from leantta.errors import LeanTTAError  # noqa: E402
from runtime.artifacts import Recipe, info_of, model_of, said, sealed  # noqa: E402

FILE = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path()
GOLDEN = TESTS / "runtime" / "golden"
KINDS = (
    Recipe(),
    Recipe(kind="image"),
    Recipe(normalized=False, adapts=False),
    Recipe(changes={"format": 2}),
)


def wire(data: bytes) -> None:
    """A file, as it is and sealed anew."""
    path = FILE / "leantta_fuzz.onnx"
    for content in (data, resealed(data)):
        path.write_bytes(content)
        try:
            container = read_container(path)
            changed_functions(str(path))
            check_crc(container)
            read_info(container)
        except LeanTTAError:
            pass


def metadata(data: bytes) -> None:
    """The note about a model, and the input of its self-test."""
    try:
        info = read_info(said(data.decode(errors="surrogateescape")))
        info.selftest.images()
    except LeanTTAError:
        pass


def beginnings(kind: str) -> list[bytes]:
    """What the corpus begins with."""
    infos = [(model_of(recipe), info_of(recipe, model_of(recipe))) for recipe in KINDS]
    if kind == "metadata":
        return [json.dumps(info).encode() for _, info in infos]
    small = [sealed(model, info) for model, info in infos]
    return small + [path.read_bytes() for path in sorted(GOLDEN.glob("*.onnx"))]


def main() -> None:
    kind, corpus, *options = sys.argv[1:]
    folder = Path(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(beginnings(kind)):
        (folder / f"begin{number}").write_bytes(content)
    atheris.Setup([sys.argv[0], str(folder), *options], {"wire": wire, "metadata": metadata}[kind])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
