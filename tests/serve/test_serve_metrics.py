"""What Prometheus and Grafana are told: readable by the official parsers, true, under names in use."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain_text

import leantta
from leantta.outputs import LOGITS, Head
from leantta.runtime.metadata import Info
from leantta.runtime.prediction import Outputs
from leantta.serve.tally import MOST_LABELS, OTHER, Tally, collected
from serve.served import GOLDEN, Served, serving

EXAMPLES = Path(__file__).parents[2] / "examples" / "serving"
IMAGES = np.load(GOLDEN / "format1.npz")["images"]
COUNT = len(IMAGES) + 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has answered requests of each kind."""
    files = (GOLDEN / "format1.onnx", GOLDEN / "format1_stream.onnx")
    with serving(tmp_path_factory.mktemp("metrics"), *files, "--threads", 1) as served:
        served.infer("format1", IMAGES)
        served.infer("format1", IMAGES[:2] * 0)
        served.infer("format1_stream", IMAGES[:2], stream="gate")
        served.infer("format1", IMAGES[:, :2])  # a mistake
        served.ask("POST", "/predict?model=format1", b"no image")
        served.ask("POST", "/v2/models/none-such/infer", b"{}")
        yield served


def text_of(served: Served, accept: str) -> tuple[str, str]:
    answer = served.ask("GET", "/metrics", headers={"Accept": accept})
    return answer.body.decode(), answer.headers["content-type"]


def test_both_official_parsers_read_the_numbers(server: Served) -> None:
    text, kind = text_of(server, "text/plain")
    assert kind.startswith("text/plain")
    families = list(plain_text(text))
    text, kind = text_of(server, "application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    opened = list(open_metrics(text))
    assert len(opened) == len({family.name for family in opened}) > 12
    assert {sample.name for family in families for sample in family.samples} == {
        sample.name for family in opened for sample in family.samples
    }


def test_the_numbers_are_those_of_a_session(server: Served) -> None:
    with leantta.load(GOLDEN / "format1.onnx", threads=1) as session:
        outputs = session.run(np.concatenate([IMAGES, IMAGES[:2] * 0]))
        info = session.info
    assert outputs.shift is not None
    assert outputs.distance is not None
    numbers = server.metrics()
    model = "|model=format1"
    assert numbers["leantta_inputs_total" + model] == COUNT
    assert numbers["leantta_inputs_beyond_total" + model] == (outputs.shift > 1).sum() > 0
    assert numbers["leantta_shift_count" + model] == COUNT
    assert numbers["leantta_shift_sum" + model] == pytest.approx(outputs.shift.sum(), rel=0.01)
    for bound in (0.5, 1.0, 3.0):
        wanted = (outputs.shift <= bound).sum()
        assert abs(numbers[f"leantta_shift_bucket|le={bound}{model}"] - wanted) <= 1
    for place, layer in enumerate(info.layers):
        key = f"|layer={layer}{model}"
        assert numbers["leantta_distance_count" + key] == COUNT
        assert numbers["leantta_distance_sum" + key] == pytest.approx(
            float(outputs.distance[:, place].sum()), rel=0.01
        )
    labels = {key: value for key, value in numbers.items() if key.startswith("leantta_labels_total")}
    assert sum(value for key, value in labels.items() if key.endswith(model)) == COUNT
    assert numbers["leantta_streams|model=format1_stream"] == 1


def test_requests_are_counted_by_what_was_answered(server: Served) -> None:
    numbers = server.metrics()
    assert numbers["leantta_requests_total|code=200|model=format1|route=infer"] == 2
    assert numbers["leantta_requests_total|code=400|model=format1|route=infer"] == 1
    assert numbers["leantta_requests_total|code=422|model=format1|route=predict"] == 1
    assert numbers["leantta_requests_total|code=404|model=|route=infer"] == 1
    assert not any("none-such" in key for key in numbers)  # what clients make up makes no label
    assert numbers["leantta_request_seconds_count|model=format1|route=infer"] == 3


def queries() -> list[str]:
    """All that the dashboard and the alerts ask."""
    dashboard = json.loads((EXAMPLES / "grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [each["query"]["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    alerts = (EXAMPLES / "alerts.yml").read_text()
    return [*asked, *re.findall(r"expr: (?:\|\n)?((?:.*\n)*?)\s+for:", alerts)]


def test_the_dashboard_and_the_alerts_ask_for_what_there_is(server: Served) -> None:
    labels: dict[str, set[str]] = {}
    for family in plain_text(text_of(server, "text/plain")[0]):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    asked = queries()
    assert len(asked) > 14
    seen = set()
    for query in asked:
        names = re.findall(r"\b(?:leantta|process)_[a-z_]+", query)
        assert names, query
        for name in names:
            assert name in labels, f"{query} asks for {name}"
            seen.add(name)
            allowed = labels[name]
            for inner in re.findall(re.escape(name) + r"\{([^}]*)\}", query):
                assert set(re.findall(r"(\w+)\s*=~?", inner)) <= allowed, query
            by = re.findall(r"by \(([\w, ]+)\)", query)
            assert {each.strip() for group in by for each in group.split(",")} <= allowed, query
    ours = {name for name in labels if name.startswith("leantta_") and not name.endswith("_created")}
    ours = {re.sub(r"_(bucket|sum|count)$", "", name) for name in ours}
    assert ours == {re.sub(r"_(bucket|sum|count)$", "", name) for name in seen if name.startswith("leantta_")}


def test_labels_are_counted_by_name_only_up_to_a_limit() -> None:
    tally = Tally("many")
    info = Labelled(300)
    for start in range(0, 300, 50):
        tally.add(info, outputs_of(np.eye(300, dtype=np.float32)[start : start + 50]))
    found = {
        sample.labels["label"]: sample.value
        for family in collected([tally])
        for sample in family.samples
        if sample.name == "leantta_labels_total"
    }
    assert len(found) == MOST_LABELS + 1
    assert found[OTHER] == 300 - MOST_LABELS
    assert sum(found.values()) == 300


def test_what_is_not_finite_does_not_spoil_a_sum() -> None:
    tally = Tally("odd")
    tally.add(Labelled(2), outputs_of(np.zeros((3, 2), np.float32), [0.5, np.inf, np.nan]))
    sums = {s.name: s.value for family in collected([tally]) for s in family.samples if "le" not in s.labels}
    assert np.isfinite(sums["leantta_shift_sum"])
    assert sums["leantta_shift_count"] == 3
    assert sums["leantta_inputs_beyond_total"] == 2


class Labelled(Info):
    """The classes of a model, which is all that is looked at."""

    def __init__(self, count: int) -> None:
        names = tuple(f"class {i}" for i in range(count))
        heads = (Head(LOGITS, (count,), "classes"),)
        for name, value in {"classes": names, "layers": (), "heads": heads}.items():
            object.__setattr__(self, name, value)


def outputs_of(logits: Any, shift: Any = None) -> Outputs:
    shifts = None if shift is None else np.array(shift, np.float32)
    return Outputs({LOGITS: logits}, None, shifts, latency_ms=1.0)


def test_the_dockerfile_has_nothing_to_complain_about() -> None:
    beside = Path(sys.executable).with_name("hadolint")
    program = str(beside) if beside.exists() else shutil.which("hadolint")
    if program is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([program, EXAMPLES / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
