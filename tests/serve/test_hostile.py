"""Requests that mean harm or make no sense are refused with 4xx, and leave nothing behind."""

import json
import os
import random
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from serve.broken import IMAGES, INFER, MOST_BYTES, broken_request, encoded, hostile_server, sound_of
from serve.served import Served, binary_body, json_body


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with hostile_server(tmp_path_factory.mktemp("hostile")) as served:
        yield served


def still_answers(server: Served) -> bool:
    return server.infer("format1", IMAGES).status == 200


def png_of(width: int, height: int) -> bytes:
    """A PNG that says it is so large, with next to no data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(bytes(1000))), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def tensor(**changes: object) -> bytes:
    data = IMAGES.ravel().tolist()
    told = {"name": "input", "shape": [2, 3, 12, 12], "datatype": "FP32", "data": data, **changes}
    return json.dumps({"inputs": [told]}).encode()


BAD_TENSORS: dict[str, tuple[bytes, dict[str, str]]] = {
    "empty": (b"", {}),
    "no JSON": (b"\x00\xff{", {}),
    "nested": (b"[" * 100_000, {}),
    "nested data": (tensor(data="DATA").replace(b'"DATA"', b"[" * 60 + b"1" + b"]" * 60), {}),
    "a list": (b"[]", {}),
    "no inputs": (b"{}", {}),
    "two inputs": (b'{"inputs": [{}, {}]}', {}),
    "another name": (tensor(name="image"), {}),
    "a name that is none": (tensor(name=[1]), {}),
    "another type": (tensor(datatype="BYTES"), {}),
    "a type that is none": (tensor(datatype={}), {}),
    "huge": (tensor(shape=[2**31 - 1, 2**31 - 1, 2**31 - 1, 2**31 - 1]), {}),
    "too huge": (tensor(shape=[10**40]), {}),
    "negative": (tensor(shape=[-2, -3, 12, 12]), {}),
    "fraction": (tensor(shape=[2.0, 3, 12, 12]), {}),
    "nothing": (tensor(shape=[0, 3, 12, 12], data=[]), {}),
    "axes": (tensor(shape=[1] * 40), {}),
    "no axes": (tensor(shape=[], data=[1]), {}),
    "wrong shape": (tensor(shape=[2, 12, 12, 3]), {}),
    "texts": (tensor(data=["a"] * 864), {}),
    "nulls": (tensor(data=[None] * 864), {}),
    "flags": (tensor(data=[True] * 864), {}),
    "ragged": (tensor(data=[[1, 2], [3]]), {}),
    "an object": (tensor(data={"a": 1}), {}),
    "not finite": (tensor().replace(b"[0.", b"[NaN, 0.", 1), {}),
    "infinite": (tensor(data=[1e999] * 864), {}),
    "as infinite": (tensor(data="DATA").replace(b'"DATA"', b"[" + b"1e999," * 863 + b"1]"), {}),
    "large": (tensor(data=[1e39] * 864), {}),
    "long number": (tensor(data="DATA").replace(b'"DATA"', b"[" + b"9" * 5000 + b"]"), {}),
    "outside": (tensor(data=[2] * 864), {}),
    "too many": (json_body(np.zeros((9, 3, 12, 12), np.float32)), {}),
    "unknown output": (b'{"outputs": [{"name": "x"}],' + tensor()[1:], {}),
    "output of none": (b'{"outputs": [3],' + tensor()[1:], {}),
    "classification": (
        b'{"outputs": [{"name": "logits", "parameters": {"classification": 2}}],' + tensor()[1:],
        {},
    ),
    "id": (b'{"id": 7,' + tensor()[1:], {}),
    "parameters": (b'{"parameters": [1],' + tensor()[1:], {}),
    "a stream": (b'{"parameters": {"stream": "a"},' + tensor()[1:], {}),
    "a stream of none": (b'{"parameters": {"stream": [1]},' + tensor()[1:], {}),
    "no binary": (tensor(data=None, parameters={"binary_data_size": 3456}), {}),
    "header": (tensor(), {"Inference-Header-Content-Length": "-1"}),
    "header of none": (tensor(), {"Inference-Header-Content-Length": "many"}),
    "long header": (tensor(), {"Inference-Header-Content-Length": "9" * 5000}),
    "header beyond": (tensor(), {"Inference-Header-Content-Length": "999999"}),
    "short header": (tensor(), {"Inference-Header-Content-Length": "5"}),
    "more binary": (binary_body(IMAGES)[0] + b"x", binary_body(IMAGES)[1]),
    "less binary": (binary_body(IMAGES)[0][:-1], binary_body(IMAGES)[1]),
    "compressed": (zlib.compress(tensor()), {"Content-Encoding": "deflate"}),
    "large body": (b" " * (MOST_BYTES + 1), {}),
}


@pytest.mark.parametrize("name", BAD_TENSORS)
def test_tensors_that_make_no_sense_are_refused(server: Served, name: str) -> None:
    body, headers = BAD_TENSORS[name]
    answer = server.ask("POST", INFER, body, headers)
    assert 400 <= answer.status < 500, answer
    error = answer.json()["error"]
    assert error
    assert "\n" not in error
    assert "Traceback" not in error
    assert len(error) < 500


BAD_FILES: dict[str, Callable[[], tuple[str, bytes]]] = {
    "empty": lambda: ("format1", b""),
    "bomb": lambda: ("format1", png_of(60_000, 60_000)),
    "wide": lambda: ("format1", png_of(2**31 - 1, 1)),
    "no size": lambda: ("format1", png_of(0, 0)),
    "too many pixels": lambda: ("format1", encoded((101, 100), "PNG")),
    "too many of a jpeg": lambda: ("format1", encoded((101, 100), "JPEG")),
    "cut off": lambda: ("format1", encoded((90, 90), "JPEG")[:500]),
    "no data": lambda: ("format1", png_of(90, 90)),
    "a sound": lambda: ("format1", sound_of(1, "WAV")),
    "an image": lambda: ("ear", encoded((9, 9), "PNG")),
    "a long silence": lambda: ("ear", sound_of(660, "FLAC")),
    "half a sound": lambda: ("ear", b"RIFF\xff\xff\xff\xffWAVEfmt "),
    "postscript": lambda: ("format1", b"%!PS-Adobe-3.0 EPSF-3.0\n"),
    "text": lambda: ("format1", b"hello"),
    "zip": lambda: ("ear", b"PK\x03\x04" + bytes(100)),
    "no such model": lambda: ("none", b"x"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_files_that_cannot_be_used_are_refused(server: Served, name: str) -> None:
    model, body = BAD_FILES[name]()
    assert len(body) < MOST_BYTES
    answer = server.ask("POST", f"/predict?model={model}", body)
    assert 400 <= answer.status < 500, answer
    assert "/" not in answer.json()["error"].replace("g/rad", ""), "a path of the server"


def test_a_route_that_is_not_there_says_so_as_json(server: Served) -> None:
    for method, path in (
        ("GET", "/none"),
        ("GET", INFER),
        ("DELETE", "/v2"),
        ("POST", "/v2/models/no/infer"),
    ):
        answer = server.ask(method, path)
        assert 400 <= answer.status < 500
        assert answer.json()["error"]


def raw(server: Served, data: bytes, wait_s: float = 5) -> bytes:
    """What comes back for bytes as they are, until the server closes or the time is over."""
    with socket.create_connection((server.host, server.port), timeout=wait_s) as connection:
        connection.sendall(data)
        found = b""
        try:
            while part := connection.recv(65_536):
                found += part
        except (TimeoutError, ConnectionError):
            pass
        return found


def test_lengths_that_lie(server: Served) -> None:
    head = f"POST {INFER} HTTP/1.1\r\nHost: a\r\n"
    huge = raw(server, f"{head}Content-Length: 99999999999999999999\r\n\r\n".encode(), 3)
    assert huge.startswith(b"HTTP/1.1 413")
    assert raw(server, f"{head}Content-Length: -5\r\n\r\n".encode()).startswith(b"HTTP/1.1 400")
    assert raw(server, f"{head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n".encode()).startswith(
        b"HTTP/1.1 400"
    )
    endless = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"fff0\r\n" + b" " * 0xFFF0 + b"\r\n"
    chunk = b"fff0\r\n" + b" " * 0xFFF0 + b"\r\n"
    assert b"413" in raw(server, endless + 4 * chunk, 3).split(b"\r\n")[0]
    assert still_answers(server)


def test_heads_without_end(server: Served) -> None:
    assert raw(server, b"GET /v2 HTTP/1.1\r\nX: " + b"a" * 100_000).startswith(b"HTTP/1.1 400")
    assert raw(server, b"\x16\x03\x01" + os.urandom(300)).startswith(b"HTTP/1.1 400")
    assert still_answers(server)


def test_many_slow_clients_do_not_keep_others_out(server: Served) -> None:
    waiting = []
    try:
        for _ in range(100):
            connection = socket.create_connection((server.host, server.port), timeout=5)
            connection.sendall(f"POST {INFER} HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n1".encode())
            waiting.append(connection)
        started = time.monotonic()
        assert still_answers(server)
        assert time.monotonic() - started < 5
    finally:
        for connection in waiting:
            connection.close()


@pytest.mark.slow
def test_clients_that_never_finish_are_sent_away(server: Served) -> None:
    head = f"POST {INFER} HTTP/1.1\r\nHost: a\r\n"
    started = time.monotonic()
    assert raw(server, f"{head}Content-Length: 50\r\n\r\n1".encode(), 20).startswith(b"HTTP/1.1 408")
    assert raw(server, head.encode(), 20) == b""
    assert raw(server, b"", 20) == b""
    assert 25 < time.monotonic() - started < 45


def fuzz(server: Served, count: int) -> dict[int, int]:
    """How often which status was the answer to so many broken requests."""
    random_ = random.Random(0)
    found: dict[int, int] = {}
    for number in range(count):
        answer = broken_request(server, random_, number)
        found[answer.status] = found.get(answer.status, 0) + 1
        assert answer.status < 500, (number, answer)
    return found


def test_broken_bodies_are_refused(server: Served) -> None:
    found = fuzz(server, 400)
    assert sum(found.get(code, 0) for code in (400, 404, 405, 422)) > 300
    assert still_answers(server)
    assert "Traceback" not in server.said()


@pytest.mark.slow
def test_ten_thousand_broken_bodies_leave_nothing_behind(server: Served) -> None:
    fuzz(server, 2000)
    before = server.rss_bytes()
    fuzz(server, 10_000)
    assert server.rss_bytes() - before < 10_000_000
    assert len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) < 50
    assert still_answers(server)
    assert "Traceback" not in server.said()


def schemathesis(server: Served, examples: int, folder: Path) -> None:
    # A schema cannot say "a picture", so valid requests in its sense may be refused: all other checks hold.
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
        *("--exclude-checks", "positive_data_acceptance", "--max-examples", str(examples)),
        *("--seed", "1", "--no-color"),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "Traceback" not in server.said()


def test_what_the_description_says_is_so(server: Served, tmp_path: Path) -> None:
    schemathesis(server, 5, tmp_path)


@pytest.mark.slow
def test_what_the_description_says_is_so_at_length(server: Served, tmp_path: Path) -> None:
    schemathesis(server, 500, tmp_path)
