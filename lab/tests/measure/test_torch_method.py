"""Baselines as rows: they meet a stream, learn from it, and have the memory figures of the paper."""

from pathlib import Path

import numpy as np
import pytest
import torch

from leantta.measure.bench import BenchSettings, run_bench
from leantta.measure.candidates import scores
from leantta.models.named import build
from leantta_lab.measure.analytic import Footprint, cotta_bytes, eata_bytes, footprint, tent_bytes
from leantta_lab.measure.network import Network
from leantta_lab.measure.rows import ROWS
from leantta_lab.measure.torch_engines import TorchMethod
from leantta_lab.measure.torch_method import MET, OnStream
from leantta_lab.models.table import MODELS

BASELINES = ["torch-realistic-tta", "torch-tent", "torch-eata", "torch-cotta-4"]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Network:
    return Network("resnet18", weights, None, tmp_path_factory.mktemp("methods"))


@pytest.mark.parametrize("name", BASELINES)
def test_a_saved_baseline_meets_the_stream_and_learns(name: str, network: Network) -> None:
    nothing = np.zeros((8, 3, 32, 32), np.float32)
    opened = TorchMethod(ROWS[name].file(network), ROWS[name].engine, 1)
    predictor = opened.model
    assert isinstance(predictor, OnStream)
    assert len(predictor.stream) == MET
    assert 0 <= predictor.stream.min() < predictor.stream.max() <= 1  # before it is normalised
    predictor.stream = predictor.stream[:8]
    first, second = scores(opened, nothing), scores(opened, nothing)
    assert first.shape == (8, 10)
    assert not np.allclose(first[0], first[1])  # not the images that it was given
    assert not np.array_equal(first, second)  # it has learnt from the same images, or remembers them
    predictor.reset()
    assert np.array_equal(first, scores(opened, nothing))


def test_a_stream_is_met_in_order_and_begun_anew_by_reset() -> None:
    class Echo:
        stateless = False
        resets = 0

        def predict(self, images: np.ndarray) -> np.ndarray:
            return images

        def reset(self) -> None:
            self.resets += 1

    echo = Echo()
    streamed = OnStream(echo, np.arange(5, dtype=np.float32))
    two = np.zeros(2, np.float32)
    assert [streamed.predict(two).tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 0]]
    streamed.reset()
    assert streamed.predict(two).tolist() == [0, 1]
    assert echo.resets == 1


def test_a_benchmark_of_baselines_has_no_decisions_to_agree_with(network: Network) -> None:
    few = BenchSettings(
        sessions=1, rounds=1, warm_up=0, processes=0, throughput_batch=1, throughput_rounds=0, batch=2
    )
    names = ["torch-fp32", "torch-tent", "torch-eata"]
    found = run_bench([ROWS[name].on(name, network, few.batch) for name in names], few)
    plain, tent, eata = found.rows
    assert [row.unavailable for row in found.rows] == [None, None, None]
    assert plain.agreement == 1.0
    assert (tent.adapts, tent.agreement, eata.agreement) == (None, None, None)
    assert tent.analytic_bytes == tent_bytes(network.footprint, 2)


def test_a_footprint_counts_what_layers_put_out() -> None:
    found = footprint(build("vggish"), torch.zeros(1, 1, 240, 64))
    assert found == Footprint(4_686_657, norms=3_686_400, last_norm=122_880, layers=11_520_001)


PAPER_MB = {
    "vggish": {tent_bytes: (78.2, 306.8, 1038.2), eata_bytes: (63.5, 292.0, 1023.4)},
    "resnet18": {tent_bytes: (48.0, 60.7, 101.1), eata_bytes: (47.2, 59.8, 100.3)},
    "mobilenet_v2": {tent_bytes: (36.0, 138.4, 466.1), eata_bytes: (29.3, 131.7, 459.4)},
}


@pytest.mark.parametrize("name", PAPER_MB)
def test_memory_is_as_in_the_paper_s_table(name: str) -> None:
    found = footprint(build(name), torch.zeros(1, *MODELS[name].input_shape))
    nearly = 0.001 if name == "vggish" else 0.03
    for formula, cells in PAPER_MB[name].items():
        ours = [formula(found, batch) / 1e6 for batch in (1, 16, 64)]
        assert ours == pytest.approx(cells, rel=nearly)
    assert cotta_bytes(found, 1) == 24 * found.parameters + 12 * found.layers
