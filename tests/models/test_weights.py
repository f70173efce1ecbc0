"""Checkpoints: what goes in comes out, and a file that does not fit changes nothing."""

import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from leantta.errors import CheckpointError, MissingFileError, StorageError
from leantta.models.named import build
from leantta.models.weights import load_weights, save_weights, stored_classes
from leantta_lab.models.checkpoints import find_weights

SHARED = Path(__file__).resolve().parents[2] / "../shared/weights"
CIFAR = Path(__file__).resolve().parents[2] / "../data/cifar10.npz"


def tiny(seed: int = 0, classes: int = 5) -> nn.Module:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, classes))
    norm = model[1]
    assert isinstance(norm, nn.BatchNorm2d)
    norm.running_mean, norm.running_var = torch.randn(4), torch.rand(4) + 0.5
    return model.eval()


def values(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_what_was_saved_comes_back_in_half_precision(tmp_path: Path) -> None:
    saved, loaded = tiny(0), tiny(1)
    save_weights(saved, tmp_path / "new" / "tiny.safetensors")
    load_weights(loaded, tmp_path / "new" / "tiny.safetensors")
    wanted = {k: v.half().float() if v.is_floating_point() else v for k, v in values(saved).items()}
    assert same(values(loaded), wanted)
    assert not same(values(loaded), values(tiny(1)))
    stored = safetensors.torch.load_file(tmp_path / "new" / "tiny.safetensors")
    assert {v.dtype for v in stored.values()} == {torch.float16}
    assert "1.num_batches_tracked" not in stored
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["tiny.safetensors"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_the_model_keeps_its_own_precision(tmp_path: Path, dtype: torch.dtype) -> None:
    save_weights(tiny(0), tmp_path / "w")
    model = tiny(1).to(dtype)
    load_weights(model, str(tmp_path / "w"))
    assert {v.dtype for v in model.state_dict().values() if v.is_floating_point()} == {dtype}
    wanted = values(tiny(0))["3.weight"].to(dtype)
    torch.testing.assert_close(model.state_dict()["3.weight"], wanted, rtol=1e-3, atol=1e-3)


def test_a_tensor_too_large_for_half_precision_keeps_its_own(tmp_path: Path) -> None:
    saved, loaded = tiny(0), tiny(1)
    saved.state_dict()["1.running_var"].fill_(1e6)
    save_weights(saved, tmp_path / "w")
    load_weights(loaded, tmp_path / "w")
    assert torch.equal(loaded.state_dict()["1.running_var"], torch.full((4,), 1e6))


def test_tied_and_strided_tensors_can_be_saved(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    model.register_buffer("turned", torch.arange(6.0).reshape(2, 3).T)
    save_weights(model, tmp_path / "w")
    load_weights(model, tmp_path / "w")
    assert torch.equal(model.state_dict()["turned"], torch.arange(6.0).reshape(2, 3).T)


def test_counters_in_the_file_are_welcome(tmp_path: Path) -> None:
    stored = values(tiny(0))
    stored["1.num_batches_tracked"].fill_(7)
    safetensors.torch.save_file({**stored, "other.num_batches_tracked": torch.tensor(1)}, tmp_path / "w")
    model = tiny(1)
    load_weights(model, tmp_path / "w")
    assert same(values(model), stored)


def written(change: Callable[[dict[str, Tensor]], object]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        stored = values(tiny(3))
        change(stored)
        safetensors.torch.save_file(stored, path)

    return write


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (written(lambda s: s.pop("1.bias")), r"does not fit the model: 1 missing \(1\.bias\)\. Is it"),
    "unexpected": (written(lambda s: s.update(extra=torch.zeros(2))), r"1 unexpected \(extra\)"),
    "many": (
        written(lambda s: [s.pop(k) for k in ("0.weight", "0.bias", "1.weight", "1.bias")]),
        r"4 missing \(0\.weight, 0\.bias, 1\.weight, \.\.\.\)",
    ),
    "shape": (
        written(lambda s: s.update({"0.weight": torch.zeros(4, 3, 3, 3)})),
        r"1 of another shape \(0\.weight: 4x3x3x3, the model's 4x1x3x3\)\. Is it",
    ),
    "classes": (
        written(lambda s: s.update({"3.weight": torch.zeros(9, 4), "3.bias": torch.zeros(9)})),
        r"3\.weight: 9x4, the model's 5x4.*Only the last layer differs: .*num_classes=9",
    ),
    "other head": (
        written(lambda s: s.update({"3.weight": torch.zeros(9, 8), "3.bias": torch.zeros(9)})),
        r"Is it a checkpoint of another model",
    ),
    "integers": (
        written(lambda s: s.update({"3.weight": torch.ones(5, 4, dtype=torch.int8)})),
        r"1 not stored as floating point \(3\.weight as torch\.int8\)",
    ),
    "nan": (
        written(lambda s: s["1.running_var"].fill_(torch.nan)),
        r"1 of 9 tensors hold NaN.*\(1\.running_var\)",
    ),
    "infinite": (written(lambda s: s["3.bias"].fill_(torch.inf)), r"infinite values \(3\.bias\)"),
    "empty": (lambda path: path.touch(), r"cannot be read as safetensors"),
    "text": (lambda path: path.write_text("weights, honestly " * 9), r"cannot be read as safetensors"),
    "folder": (lambda path: path.mkdir(), r"cannot be read as safetensors.*directory"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_does_not_fit_is_explained_and_changes_nothing(tmp_path: Path, fault: str) -> None:
    write, message = FAULTS[fault]
    write(tmp_path / "w.safetensors")
    model = tiny(1)
    before = values(model)
    with pytest.raises(CheckpointError, match=message):
        load_weights(model, tmp_path / "w.safetensors")
    assert same(values(model), before)


def test_values_too_large_for_the_model_are_refused(tmp_path: Path) -> None:
    written(lambda s: s["3.weight"].fill_(1e6))(tmp_path / "w")
    with pytest.raises(CheckpointError, match=r"infinite values \(3\.weight\)"):
        load_weights(tiny(1).half(), tmp_path / "w")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path, part: float) -> None:
    save_weights(tiny(0), tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: int(part * len(whole))])
    model = tiny(1)
    with pytest.raises(CheckpointError):
        load_weights(model, tmp_path / "cut")
    assert same(values(model), values(tiny(1)))


def test_nothing_at_the_path(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no checkpoint at .*none\.safetensors"):
        load_weights(tiny(), tmp_path / "none.safetensors")


def renamed(prefix: str, seed: int = 0) -> dict[str, Tensor]:
    return {f"{prefix}{name}": value for name, value in values(tiny(seed)).items()}


NESTED: dict[str, Callable[[str], object]] = {
    "alone": renamed,
    "state_dict": lambda prefix: {"epoch": 3, "state_dict": renamed(prefix), "best": np.float64(0.5)},
    "model": lambda prefix: {
        "optimizer": {"state": {0: {"exp_avg": torch.zeros(4, 1, 3, 3)}}, "param_groups": [{"lr": 0.1}]},
        "model": renamed(prefix),
        "args": Namespace(lr=0.1),
    },
    "deep": lambda prefix: {"checkpoint": {"net": renamed(prefix)}},
    "beside a head": lambda prefix: (
        {**renamed(prefix), "decoder.0.weight": torch.zeros(2, 3)} if prefix else renamed(prefix)
    ),
    "the first of two": lambda prefix: {"model": renamed(prefix), "ema": renamed(prefix, 2)},
}


@pytest.mark.parametrize("prefix", ["", "module.", "model.", "backbone.", "_orig_mod.", "module._orig_mod."])
@pytest.mark.parametrize("nested", NESTED)
def test_weights_are_found_wherever_a_training_script_put_them(
    tmp_path: Path, prefix: str, nested: str
) -> None:
    torch.save(NESTED[nested](prefix), tmp_path / "w.pth")
    model = tiny(1)
    load_weights(model, tmp_path / "w.pth")
    assert same(values(model), values(tiny(0)))


def test_a_prefix_in_safetensors_is_found_too(tmp_path: Path) -> None:
    safetensors.torch.save_file(renamed("backbone."), tmp_path / "w")
    model = tiny(1)
    load_weights(model, tmp_path / "w")
    assert same(values(model), values(tiny(0)))


@pytest.mark.parametrize("prefix", ["ema", "ema.", "ema.module", "ema.module."])
def test_a_prefix_says_which_weights_are_meant(tmp_path: Path, prefix: str) -> None:
    own = "module." if "module" in prefix else ""
    torch.save({"model": renamed(own), "ema": renamed(own, 2)}, tmp_path / "w.pth")
    model = tiny(1)
    load_weights(model, tmp_path / "w.pth", prefix=prefix)
    assert same(values(model), values(tiny(2)))


def test_the_first_words_of_a_prefix_will_do(tmp_path: Path) -> None:
    torch.save({"model": renamed("module."), "ema": renamed("module.net.", 2)}, tmp_path / "w.pth")
    for prefix in ("ema", "ema.module"):
        model = tiny(5)
        load_weights(model, tmp_path / "w.pth", prefix=prefix)
        assert same(values(model), values(tiny(2)))


def test_a_prefix_inside_one_mapping(tmp_path: Path) -> None:
    torch.save({**renamed("student."), **renamed("teacher.", 2)}, tmp_path / "w.pth")
    for prefix, seed in ((None, 0), ("student", 0), ("teacher", 2)):
        model = tiny(1)
        load_weights(model, tmp_path / "w.pth", prefix=prefix)
        assert same(values(model), values(tiny(seed)))


def test_a_prefix_that_no_name_has(tmp_path: Path) -> None:
    torch.save({"model": renamed("module.")}, tmp_path / "w.pth")
    with pytest.raises(CheckpointError, match=r"begins with 'ema\.'; there are model\.module\.0, "):
        load_weights(tiny(), tmp_path / "w.pth", prefix="ema")


def test_what_fits_in_shape_comes_before_what_fits_in_name(tmp_path: Path) -> None:
    wide = {name: torch.zeros(9) for name in values(tiny())}
    torch.save({"model": wide, "net": renamed("")}, tmp_path / "w.pth")
    model = tiny(1)
    load_weights(model, tmp_path / "w.pth")
    assert same(values(model), values(tiny(0)))


def test_the_number_of_classes_of_a_checkpoint(tmp_path: Path) -> None:
    torch.save({"state_dict": values(tiny(0, classes=9))}, tmp_path / "w.pth")
    assert stored_classes(tiny(1), tmp_path / "w.pth") == 9
    assert stored_classes(tiny(1, classes=9), tmp_path / "w.pth") is None


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        """Say that unpickling makes a folder."""
        return (os.mkdir, (str(self.path),))


def test_a_pickle_runs_no_code(tmp_path: Path) -> None:
    torch.save({"0.weight": Trap(tmp_path / "sprung")}, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match="mkdir, which could run code; only tensors are read"):
        load_weights(tiny(), tmp_path / "w.pt")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("content", [[torch.zeros(2)], {"epoch": 3}, {"state_dict": {"a": 1}}])
def test_a_pickle_of_something_else_is_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match="holds no mapping of names to tensors"):
        load_weights(tiny(), tmp_path / "w.pt")


def test_a_truncated_pickle_is_refused(tmp_path: Path) -> None:
    torch.save(values(tiny()), tmp_path / "w.pt")
    (tmp_path / "w.pt").write_bytes((tmp_path / "w.pt").read_bytes()[:500])
    with pytest.raises(CheckpointError, match="cannot be read as a pickle of tensors"):
        load_weights(tiny(), tmp_path / "w.pt")


def test_saving_nan_is_refused_and_keeps_the_old_file(tmp_path: Path) -> None:
    save_weights(tiny(0), tmp_path / "w")
    before = (tmp_path / "w").read_bytes()
    broken = tiny(0)
    broken.state_dict()["3.bias"][2] = torch.nan
    with pytest.raises(CheckpointError, match=r"1 of 8 tensors hold NaN.*\(3\.bias\)"):
        save_weights(broken, tmp_path / "w")
    assert (tmp_path / "w").read_bytes() == before


def test_saving_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot write"):
        save_weights(tiny(), tmp_path / "file" / "w")


def test_weights_are_found_in_the_named_folder_then_in_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, current = tmp_path / "named", tmp_path / "here" / "weights"
    for folder in (named, current):
        folder.mkdir(parents=True)
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(named))
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(
        MissingFileError, match=r"no checkpoint net_toys\.safetensors in .*named, .*--weights FILE"
    ):
        find_weights("net", "toys")
    (current / "net_toys.safetensors").touch()
    assert find_weights("net", "toys") == current / "net_toys.safetensors"
    (named / "net_toys.safetensors").touch()
    assert find_weights("net", "toys") == named / "net_toys.safetensors"
    monkeypatch.delenv("LEANTTA_WEIGHTS")
    assert find_weights("net", "toys") == current / "net_toys.safetensors"


@pytest.mark.skipif(not SHARED.exists(), reason="the development checkpoints are not on this machine")
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_the_development_checkpoints_fit_key_by_key(name: str) -> None:
    model = build(name, num_classes=10)
    load_weights(model, SHARED / f"{name}_cifar10.safetensors")
    stored = safetensors.torch.load_file(SHARED / f"{name}_cifar10.safetensors")
    assert {k for k in model.state_dict() if not k.endswith("num_batches_tracked")} == set(stored)
    assert all(torch.equal(model.state_dict()[k], v.float()) for k, v in stored.items())


@pytest.mark.skipif(not SHARED.exists(), reason="the development checkpoints are not on this machine")
def test_another_number_of_classes_is_told_from_the_checkpoint() -> None:
    with pytest.raises(CheckpointError, match="num_classes=10"):
        load_weights(build("resnet18", num_classes=100), SHARED / "resnet18_cifar10.safetensors")


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED.exists() and CIFAR.exists()), reason="needs checkpoints and cifar10.npz")
@pytest.mark.parametrize(("name", "accuracy"), [("resnet18", 0.900), ("mobilenet_v2", 0.842)])
def test_the_development_checkpoints_are_as_accurate_as_stated(name: str, accuracy: float) -> None:
    with np.load(CIFAR) as arrays:
        pixels, labels = arrays["x_test"][:2000], torch.from_numpy(arrays["y_test"][:2000].astype(np.int64))
    x = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
    mean, std = torch.tensor([0.4914, 0.4822, 0.4465]), torch.tensor([0.2471, 0.2435, 0.2616])
    x = (x - mean.view(3, 1, 1)) / std.view(3, 1, 1)
    model = build(name, num_classes=10)
    load_weights(model, SHARED / f"{name}_cifar10.safetensors")
    with torch.no_grad():
        predicted = torch.cat([model(x[i : i + 250]).argmax(dim=1) for i in range(0, 2000, 250)])
    # one standard error over 2,000 images is 0.7 to 0.8 points; another normalization costs more than two
    assert (predicted == labels).float().mean().item() == pytest.approx(accuracy, abs=0.015)
