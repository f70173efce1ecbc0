"""The network that rows are made from, and rows of methods on it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from leantta.errors import MissingFileError, SettingError
from leantta.measure.bench import BenchSettings, run_bench
from leantta.measure.candidates import scores
from leantta_lab.measure import network as network_module
from leantta_lab.measure.analytic import fp32_bytes
from leantta_lab.measure.network import CALIBRATION, CHECKED, Network
from leantta_lab.measure.rows import ROWS, method_row
from leantta_lab.measure.torch_engines import open_torch
from leantta_lab.samples import CIFAR10_SAMPLE


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Network:
    return Network("resnet18", weights, None, tmp_path_factory.mktemp("bench"))


def test_a_network_has_real_images_and_its_checkpoint(network: Network, weights: Path) -> None:
    assert (network.inputs_are, network.weights_are) == ("cifar10_sample.npz", weights.name)
    assert network.weights_sha256
    assert (len(network.inputs), len(network.held_out)) == (CALIBRATION, CHECKED)
    labels = np.load(CIFAR10_SAMPLE)["y_test"][:CHECKED]
    assert (network.decisions("none") == labels).mean() > 0.8


@pytest.fixture
def no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the checkout has."""

    def find_weights(name: str, dataset: str) -> Path:
        raise MissingFileError(f"no {name} for {dataset}")

    monkeypatch.setattr(network_module, "find_weights", find_weights)


@pytest.mark.usefixtures("no_checkpoint")
def test_without_a_checkpoint_weights_are_random_and_the_same_each_time(tmp_path: Path) -> None:
    first, again = (Network("mobilenet_v2", None, None, tmp_path) for _ in range(2))
    assert first.weights_sha256 is None
    assert "random (seed 0)" in first.weights_are
    state = again.model.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in first.model.state_dict().items())
    with torch.inference_mode():
        scores = first.model(torch.from_numpy(first.held_out))
    assert scores.isfinite().all()
    assert 0 < float(scores.std(0).max()) < 100  # values neither died nor exploded


@pytest.mark.slow
@pytest.mark.usefixtures("no_checkpoint")
def test_a_network_with_random_weights_can_be_rounded(tmp_path: Path) -> None:
    network = Network("mobilenet_v2", None, None, tmp_path)
    few = BenchSettings(sessions=1, rounds=1, processes=0)
    names = ["ours-none", "ours-all", "torch-x86-all"]
    rows = run_bench([ROWS[name].on(name, network) for name in names], few).rows
    for row in rows:
        assert (row.unavailable, row.agreement) == (None, None)  # its decisions mean nothing


def test_a_model_whose_inputs_are_not_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from torch import nn\ndef build(): return nn.Linear(3, 2)")
    with pytest.raises(SettingError, match="say it with --shape C,H,W"):
        Network(f"{tmp_path / 'mine.py'}:build", None, None, tmp_path)


def test_a_method_is_a_row_with_one_entry(network: Network) -> None:
    """Tent and others are such entries, too; here one whose decisions are known."""
    entry = method_row("leantta:half:calibrated", "LeanTTA as it is evaluated", fp32_bytes, adapts="half")
    few = BenchSettings(sessions=1, rounds=2, warm_up=1, processes=1)
    rows = {"torch-fp32-half": ROWS["torch-fp32-half"], "leantta": entry}
    found = run_bench([row.on(name, network) for name, row in rows.items()], few)
    eager, method = found.rows
    assert (method.unavailable, method.engine) == (None, "torch-method")
    assert eager.agreement == method.agreement == 1.0
    assert method.analytic_bytes == 4 * network.footprint.parameters
    assert len(method.processes) == 1
    own, plain = (
        scores(open_torch(row.file(network), row.engine, 1), network.held_out[:4]) for row in rows.values()
    )
    np.testing.assert_allclose(own, plain, atol=1e-4)
