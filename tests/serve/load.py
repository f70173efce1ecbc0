"""A client that sends requests to a server on this machine: so many at once, for so long, and no longer.

    python tests/serve/load.py PORT MODEL --seconds 10 --clients 32 --batch 1

It prints what came back as JSON. Only loopback addresses are asked.
"""

import argparse
import asyncio
import json
import time
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np

HOST = "127.0.0.1"


class Request(NamedTuple):
    head: bytes
    body: bytes


@dataclass
class Found:
    """What came back."""

    answered: int = 0  # inputs
    seconds: float = 0.0
    codes: dict[str, int] = field(default_factory=dict)
    lost: int = 0  # requests that got no answer, however often they were tried
    tries_again: int = 0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    max_ms: float = 0.0
    kinds: int = 0  # different answers to each input, at most


async def client(
    port: int, requests: list[Request], offset: int, until: float, most: int, found: Found, retry: bool
) -> tuple[list[float], dict[int, set[bytes]]]:
    times: list[float] = []
    answers: dict[int, set[bytes]] = {}
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None
    for number in range(most):
        if time.monotonic() > until:
            break
        which = (offset + number) % len(requests)
        started = time.monotonic()
        while True:
            try:
                if writer is None or reader is None:
                    reader, writer = await asyncio.open_connection(HOST, port)
                status, body = await exchange(reader, writer, requests[which])
            except (ConnectionError, asyncio.IncompleteReadError):
                if writer is not None:
                    writer.close()
                reader = writer = None
                if not retry or time.monotonic() - started > 60:
                    found.lost += 1
                    break
                found.tries_again += 1
                await asyncio.sleep(0.05)
                continue
            found.codes[status] = found.codes.get(status, 0) + 1
            if status in ("429", "503") and retry:
                found.tries_again += 1
                await asyncio.sleep(0.05)
                continue
            if status == "200":
                times.append(time.monotonic() - started)
                answers.setdefault(which, set()).add(body)
            break
    if writer is not None:
        writer.close()
    return times, answers


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request
) -> tuple[str, bytes]:
    writer.write(request.head + request.body)
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
    body = await reader.readexactly(length)
    if b"connection: close" in lines:
        writer.close()
    return head[9:12].decode(), body


async def load(port: int, requests: list[Request], *, clients: int, seconds: float, batch: int,
               most: int = 10**7, retry: bool = False) -> tuple[Found, dict[int, set[bytes]]]:  # fmt: skip
    """Send requests from so many clients at once, each its next when it has the answer."""
    found = Found()
    started = time.monotonic()
    results = await asyncio.gather(
        *(
            client(port, requests, number, started + seconds, most // clients, found, retry)
            for number in range(clients)
        )
    )
    found.seconds = time.monotonic() - started
    times = np.array([value for some, _ in results for value in some])
    answers: dict[int, set[bytes]] = {}
    for _, some in results:
        for which, bodies in some.items():
            answers.setdefault(which, set()).update(bodies)
    found.answered = len(times) * batch
    found.kinds = max(map(len, answers.values()), default=0)
    if len(times):
        found.p50_ms, found.p99_ms, found.max_ms = (
            float(np.quantile(times, share) * 1000) for share in (0.5, 0.99, 1.0)
        )
    return found, answers


def requests_for(model: str, shape: tuple[int, ...], batch: int, count: int = 16) -> list[Request]:
    """Return requests with random values between 0 and 1, in binary."""
    random = np.random.default_rng(0)
    made = []
    for _ in range(count):
        data = random.random((batch, *shape), dtype=np.float32).tobytes()
        tensor = {"name": "input", "shape": [batch, *shape], "datatype": "FP32"}
        told = {
            "inputs": [{**tensor, "parameters": {"binary_data_size": len(data)}}],
            "parameters": {"binary_data_output": True},
        }
        text = json.dumps(told).encode()
        head = (
            f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: {HOST}\r\n"
            f"Content-Length: {len(text) + len(data)}\r\nInference-Header-Content-Length: {len(text)}\r\n\r\n"
        )
        made.append(Request(head.encode(), text + data))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("model")
    parser.add_argument("--shape", default="3,32,32")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--most", type=int, default=10_000_000, help="requests, of all clients")
    parser.add_argument("--retry", action="store_true")
    asked = parser.parse_args()
    shape = tuple(map(int, asked.shape.split(",")))
    requests = requests_for(asked.model, shape, asked.batch)
    found, _ = asyncio.run(
        load(
            asked.port,
            requests,
            clients=min(asked.clients, 500),
            seconds=min(asked.seconds, 900),
            batch=asked.batch,
            most=asked.most,
            retry=asked.retry,
        )
    )
    print(json.dumps(asdict(found)))  # noqa: T201 - a script


if __name__ == "__main__":
    main()
