"""A real server in a process of its own, and requests to it over real HTTP."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

GOLDEN = Path(__file__).parents[1] / "runtime" / "golden"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Served(NamedTuple):
    host: str
    port: int
    process: subprocess.Popen[bytes]
    errors: Path  # what it wrote to stderr

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Answer:
        connection = HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Answer(
                response.status,
                {key.lower(): value for key, value in response.headers.items()},
                response.read(),
            )
        finally:
            connection.close()

    def infer(self, name: str, values: npt.NDArray[Any], **parameters: Any) -> Answer:
        return self.ask("POST", f"/v2/models/{name}/infer", json_body(values, **parameters))

    def metrics(self) -> dict[str, float]:
        """What Prometheus would read: `name{label="value"}` to number."""
        from prometheus_client.parser import text_string_to_metric_families

        text = self.ask("GET", "/metrics").body.decode()
        samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
        return {
            each.name + "".join(f"|{key}={each.labels[key]}" for key in sorted(each.labels)): each.value
            for each in samples
        }

    def rss_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("VmRSS:")[1].split()[0])

    def said(self) -> str:
        return self.errors.read_text()


DATATYPES = {"float32": "FP32", "uint8": "UINT8", "float64": "FP64"}


def json_body(values: npt.NDArray[Any], **parameters: Any) -> bytes:
    tensor = {
        "name": "input",
        "shape": list(values.shape),
        "datatype": DATATYPES[values.dtype.name],
        "data": values.ravel().tolist(),
    }
    return json.dumps({"inputs": [tensor], "parameters": parameters}).encode()


def binary_body(values: npt.NDArray[Any]) -> tuple[bytes, dict[str, str]]:
    data = values.tobytes()
    tensor = {
        "name": "input",
        "shape": list(values.shape),
        "datatype": DATATYPES[values.dtype.name],
        "parameters": {"binary_data_size": len(data)},
    }
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    return head + data, {"Inference-Header-Content-Length": str(len(head))}


def read_json(answer: Answer) -> dict[str, npt.NDArray[Any]]:
    assert answer.status == 200, answer.body
    return {
        each["name"]: np.array(each["data"], np.float32).reshape(each["shape"])
        for each in answer.json()["outputs"]
    }


def read_binary(answer: Answer) -> dict[str, npt.NDArray[Any]]:
    assert answer.status == 200, answer.body
    at = int(answer.headers["inference-header-content-length"])
    arrays = {}
    for each in json.loads(answer.body[:at])["outputs"]:
        size = each["parameters"]["binary_data_size"]
        arrays[each["name"]] = np.frombuffer(answer.body[at : at + size], "<f4").reshape(each["shape"])
        at += size
    assert at == len(answer.body)
    return arrays


@contextmanager
def serving(folder: Path, *words: object, port: int = 0, one_core: int | None = None) -> Iterator[Served]:
    """Run `leantta serve` until the block ends; by then it must have stopped by itself when asked."""
    errors = folder / f"stderr-{time.monotonic_ns()}.txt"
    core = [] if one_core is None else ["taskset", "-c", str(one_core)]
    command = [*core, sys.executable, "-m", "leantta", "serve", *map(str, words), "--port", str(port)]
    with errors.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, cwd=folder)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert " at http://" in line, (line, errors.read_text())
        host, number = line.strip().rpartition("http://")[2].rsplit(":", 1)
        served = Served(host, int(number), process, errors)
        until = time.monotonic() + 30
        while True:
            try:
                if served.ask("GET", "/v2/health/ready").status == 200:
                    break
            except ConnectionError:
                assert time.monotonic() < until
            time.sleep(0.02)
        yield served
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            assert process.stdout is not None
            process.stdout.close()
