"""A server with limits, and requests to it that are broken in every way."""

import io
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.client import HTTPException
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image

from runtime.artifacts import artifact
from serve.served import GOLDEN, Answer, Served, binary_body, json_body, serving

MOST_BYTES = 200_000
IMAGES = np.random.default_rng(0).random((2, 3, 12, 12), dtype=np.float32)
INFER = "/v2/models/format1/infer"


@contextmanager
def hostile_server(folder: Path) -> Iterator[Served]:
    """A server of a model for images and one for sound, with low limits."""
    sound = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}
    changes = {"input.kind": "frames", "input.sound": sound, "classes": ["no bird", "bird"]}
    artifact(folder / "ear.onnx", shape=(1, 240, 64), normalized=False, outputs=1, changes=changes)
    files = (GOLDEN / "format1.onnx", folder / "ear.onnx")
    limits = ("--threads", 1, "--max-bytes", MOST_BYTES, "--max-pixels", 10_000, "--max-batch", 8)
    with serving(folder, *files, *limits) as served:
        yield served


def sound_of(seconds: int, kind: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.zeros(seconds * 8000, np.int16), 8000, format=kind)
    return file.getvalue()


def encoded(size: tuple[int, int], kind: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size).save(file, kind)
    return file.getvalue()


def mutated(random_: random.Random, body: bytes) -> bytes:
    """The body with some of its bytes changed, gone, doubled, or replaced by what parsers dislike."""
    data = bytearray(body)
    for _ in range(random_.choice((1, 1, 2, 5, 20))):
        place = random_.randrange(len(data) + 1)
        stop = min(len(data), place + random_.choice((0, 1, 4, 50)))
        match random_.randrange(4):
            case 0:
                data[place:stop] = random_.randbytes(random_.randrange(6))
            case 1:
                data[place:stop] = data[place:stop] * 2
            case 2:
                del data[place:]
                data = data or bytearray(b"{")
            case _:
                nasty = (
                    b"-1",
                    b"1e400",
                    b"NaN",
                    b"[[",
                    b"]",
                    b"null",
                    b"99999999999999999999",
                    b'"',
                    b"\\ud800",
                )
                data[place:stop] = random_.choice(nasty)
    return bytes(data)


@cache
def _whole() -> tuple[bytes, bytes, int, tuple[bytes, ...]]:
    """Bodies that are right: JSON, binary, where its head ends, and files."""
    binary, headers = binary_body(IMAGES[:1])
    files = (*(encoded((20, 20), kind) for kind in ("PNG", "JPEG", "BMP", "WEBP")), sound_of(1, "WAV"))
    return (
        json_body(np.round(IMAGES[:1], 2)),
        binary,
        int(headers["Inference-Header-Content-Length"]),
        files,
    )


def broken_request(server: Served, random_: random.Random, number: int) -> Answer:
    """The answer to a broken request; the number says of which kind."""
    small, binary, cut, files = _whole()
    match number % 4:
        case 0:
            return server.ask("POST", INFER, mutated(random_, small))
        case 1:
            head = mutated(random_, binary[:cut])
            length = random_.choice((cut, len(head), random_.randrange(5000)))
            headers = {"Inference-Header-Content-Length": str(length)}
            return server.ask("POST", INFER, head + binary[cut:], headers)
        case 2:
            model = random_.choice(("format1", "ear", "ear%00", "..", ""))
            return server.ask("POST", f"/predict?model={model}", mutated(random_, random_.choice(files)))
        case _:
            return _odd_request(server, random_, small)


def _odd_request(server: Served, random_: random.Random, body: bytes) -> Answer:
    """A request whose path, method or headers are broken."""
    path = random_.choice(
        ("/v2/models/%s/infer", "/predict?model=%s", "/predict?top=%s", "/v2/models/%s", "/%s")
    )
    name = "".join(random_.choice("abc%./\\?&=#:;~[]{}<>'0123456789") for _ in range(random_.randrange(30)))
    headers = {"X-Stream-Id": random_.randbytes(8).hex() * random_.choice((1, 100))}
    method = random_.choice(("GET", "POST", "PUT", "HEAD", "OPTIONS", "PATCH"))
    try:
        return server.ask(method, path % name.replace("#", ""), body[: random_.randrange(len(body))], headers)
    except HTTPException:
        return Answer(400, {}, b"")  # not even a request
