"""The files of the playground for one model: what a web server sends, by the path below the page's own.

All paths in the page are relative, so the files may lie anywhere: at the root of our own little server, below
/play of another one, or in a folder.
"""

import json
import mimetypes
from collections.abc import Mapping
from pathlib import Path

from leantta.data.collection.search import find_images
from leantta.files import replacing
from leantta.play.web_engine import engine_files
from leantta.runtime.container import check_crc, read_container
from leantta.runtime.metadata import read_info

PAGE = Path(__file__).parent / "page"
START = "index.html"
MOST_SAMPLES = 12

Content = Path | bytes

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
    "img-src 'self' blob: data:; connect-src 'self'; media-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'"
)
"""What the page may do: nothing outside the server that it came from. The same stands in index.html."""


def site_files(model: Path, samples: Path | None = None) -> Mapping[str, Content]:
    """Return the page's files for a model file, with the first pictures of a folder as samples.

    Raises:
        ArtifactError: the model file is damaged, or not one of ours.
        MissingFileError: there is no such file or folder.
        DataError: the folder has no pictures.
        DownloadError: onnxruntime-web is not there.
    """
    container = read_container(model)
    check_crc(container)
    read_info(container)
    pictures = [] if samples is None else find_images(samples)[:MOST_SAMPLES]
    carried = {f"samples/{number}{path.suffix.lower()}": path for number, path in enumerate(pictures)}
    told = {
        "model": {"name": model.name, "path": "model.onnx"},
        "samples": [{"name": path.stem, "path": place} for place, path in carried.items()],
    }
    return {
        **{path.name: path for path in sorted(PAGE.iterdir()) if path.is_file()},
        **{f"engine/{name}": path for name, path in engine_files().items()},
        **carried,
        "model.onnx": model,
        "site.json": json.dumps(told).encode(),
    }


def content_type(name: str) -> str:
    """Return the type that a browser wants of a file; what it does not know is bytes.

    >>> content_type("engine/ort.wasm.min.mjs"), content_type("model.onnx")
    ('text/javascript', 'application/octet-stream')
    """
    suffix = Path(name).suffix
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


_TYPES = {  # not left to the machine's own table: a browser refuses modules and wasm of another type
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
    ".html": "text/html; charset=utf-8",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    "": "text/plain; charset=utf-8",
}


def read(content: Content) -> bytes:
    """Return the bytes of a file of the page."""
    return content if isinstance(content, bytes) else content.read_bytes()


def export(files: Mapping[str, Content], folder: Path) -> None:
    """Write the page into a folder, for any web server; other files there stay.

    Raises:
        StorageError: the folder cannot be written.
    """
    for name, content in files.items():
        with replacing(folder / name) as part:
            part.write_bytes(read(content))
