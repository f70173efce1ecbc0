import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from leantta.errors import (
    BadStatisticsError,
    NoBatchNormError,
    NoLayerMatchedError,
    SettingError,
    UnsupportedModelError,
)
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.filter import FilterGate
from leantta.gates.paper import PaperGate
from leantta.layer_memory import LayerMemory
from leantta.memory import StreamMemory
from leantta.nn import AdaptiveNorm, AdaptiveNorm2d, ChannelAffine
from leantta.surgery.adaptation import Adaptation, most_shifted
from leantta.surgery.apply import adapt, apply, fit
from leantta.surgery.observe import observe, shifts
from leantta.surgery.plan import Action, plan
from reference import assert_close
from zoo import ZOO, Functional, Leaky, Residual, WithSubclass, sequential, trained

IMAGES = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(1))

# one letter a layer in execution order: a(dapt), f(use), k(eep)
EXPECTED = {
    "sequential": {"all": "aaaf", "none": "ffff"},  # the last one sees vectors
    "functional": {"all": "aa", "none": "ff"},
    "residual": {"all": "aa", "none": "ff"},
    "dense": {"all": "aaa", "none": "fkk"},
    "pre-activation": {"all": "aa", "none": "kf"},
    "subclass": {"all": "kaa", "none": "kff"},
    "known subclass": {"all": "aaa", "none": "ffk"},
    "shared norm": {"all": "aa", "none": "kf"},
    "shared conv": {"all": "aa", "none": "kk"},
    "tied weights": {"all": "a", "none": "k"},
    "leaky": {"all": "a", "none": "k"},
    "transposed": {"all": "aa", "none": "ff"},
    "between": {"all": "aaaa", "none": "kkkf"},
    "square linear": {"all": "a", "none": "k"},
    "unreached": {"all": "aak", "none": "ffk"},
    "1d": {"all": "aa", "none": "ff"},
    "3d": {"all": "aa", "none": "ff"},
}


def letters(model: nn.Module, layers: str) -> str:
    return "".join(row.action.value[0] for row in plan(model, IMAGES, layers).rows)


def outputs(model: nn.Module, x: Tensor = IMAGES) -> list[Tensor]:
    with torch.no_grad():
        return tree_leaves(model(x.clone()))


@pytest.mark.parametrize("name", ZOO)
def test_each_style_of_model_is_planned_as_expected(name):
    model = trained(ZOO[name]())
    assert {layers: letters(model, layers) for layers in ("all", "none")} == EXPECTED[name]


@pytest.mark.parametrize("name", ZOO)
def test_without_adaptation_the_outputs_stay(name):
    model = trained(ZOO[name]())
    before = copy.deepcopy(model.state_dict())
    for found, expected in zip(outputs(adapt(model, IMAGES, "none")), outputs(model), strict=True):
        assert_close(found, expected, atol=1e-5)
    frozen = adapt(model, IMAGES, "all", gate=PaperGate(tau=1.0), adapt_vectors=True)
    for found, expected in zip(outputs(frozen), outputs(model), strict=True):
        assert_close(found, expected, atol=1e-5)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert not any(isinstance(module, AdaptiveNorm | ChannelAffine) for module in model.modules())


@pytest.mark.parametrize("name", ZOO)
def test_adapting_changes_the_outputs_and_treats_each_sample_alone(name):
    model = trained(ZOO[name]())
    lean = adapt(model, IMAGES, "all")
    together = outputs(lean)
    assert max(float((a - b).abs().max()) for a, b in zip(together, outputs(model), strict=True)) > 1e-3
    alone = [outputs(lean, IMAGES[i : i + 1]) for i in range(len(IMAGES))]
    for k, whole in enumerate(together):
        assert_close(whole, torch.cat([sample[k] for sample in alone]), atol=1e-5)


def test_the_plan_gives_every_layer_a_reason():
    for make in ZOO.values():
        for row in plan(trained(make()), IMAGES, "none").rows:
            assert row.reason, row
    reasons = [
        row.reason
        for name in ("leaky", "shared conv", "shared norm", "tied weights", "dense", "subclass", "unreached")
        for row in plan(trained(ZOO[name]()), IMAGES, "none").rows
    ]
    assert "used elsewhere" in str(plan(trained(Leaky()), IMAGES, "none"))
    for part in (
        "is shared",
        "weights of 'conv' are used elsewhere",
        "feeds it",
        "BatchNormAct",
        "never reaches",
    ):
        assert any(part in reason for reason in reasons), part


def test_the_plan_prints_as_a_table():
    text = str(plan(trained(ZOO["unreached"]()), IMAGES, "half"))
    assert text.splitlines()[0].split() == ["#", "layer", "channels", "fed", "by", "action", "reason"]
    assert "conv (Conv2d)" in text
    assert "3 BatchNorm layers: adapt 1, fuse 1, keep 1" in text
    assert "1 functional batch_norm calls" in text
    assert "depthwise Conv2d" in str(plan(trained(sequential()), IMAGES))


def test_the_activation_of_a_subclass_survives():
    lean = adapt(trained(WithSubclass()), IMAGES, "all")
    assert type(lean.bn1).__name__ == "BatchNormAct"
    assert isinstance(lean.bn2, AdaptiveNorm2d)
    known = adapt(trained(ZOO["known subclass"]()), IMAGES, "all")
    assert [type(layer).__name__ for layer in known.get_submodule("1").children()] == [
        "AdaptiveNorm2d",
        "Identity",
        "ReLU",
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_models_in_other_precisions(dtype):
    model, x = trained(Residual()).to(dtype), IMAGES.to(dtype)
    atol = {torch.float16: 0.01, torch.bfloat16: 0.06, torch.float64: 1e-12}[dtype]
    for layers in ("none", "half", "all"):
        lean = adapt(model, x, layers)
        assert outputs(lean, x)[0].dtype is dtype
        double = adapt(copy.deepcopy(model).double(), x.double(), layers)
        assert_close(outputs(lean, x)[0].double(), outputs(double, x.double())[0], atol=atol)


@pytest.mark.parametrize(
    "wrap", [nn.DataParallel, lambda m: torch.compile(m, backend="eager")], ids=["parallel", "compiled"]
)
def test_wrapped_models_are_unwrapped(wrap):
    model = trained(Functional())
    assert plan(wrap(model), IMAGES) == plan(model, IMAGES)
    assert_close(outputs(adapt(wrap(model), IMAGES))[0], outputs(adapt(model, IMAGES))[0], atol=0)


def test_channels_last_models_give_the_same():
    model = trained(Residual())
    lean = adapt(model, IMAGES, "all")
    last = copy.deepcopy(lean)
    last.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # torch takes it
    assert_close(outputs(last, IMAGES.to(memory_format=torch.channels_last))[0], outputs(lean)[0], atol=1e-5)


def test_hooks_are_respected():
    model, seen = trained(Functional()), []
    model.conv1.register_forward_hook(lambda *_: seen.append("conv1"))
    model.bn2.register_forward_hook(lambda *_: seen.append("bn2"))
    assert letters(model, "none") == "kk"
    lean = adapt(model, IMAGES, "none")
    seen.clear()
    outputs(lean)
    assert seen == ["conv1", "bn2"]


def test_a_weight_norm_is_not_fused_away():
    model = trained(Functional())
    torch.nn.utils.parametrizations.weight_norm(model.conv1)
    assert letters(model, "none") == "kf"
    assert_close(outputs(adapt(model, IMAGES, "none"))[0], outputs(model)[0], atol=1e-5)


def test_the_model_may_be_a_single_layer():
    norm = trained(nn.BatchNorm2d(3))
    assert isinstance(adapt(norm, IMAGES, "all"), AdaptiveNorm2d)
    assert isinstance(adapt(norm, IMAGES, "none"), ChannelAffine)


def test_a_checkpoint_of_the_original_loads_into_the_adaptive_model():
    model, other = trained(Functional(), seed=1), trained(Functional(), seed=2)
    lean = adapt(other, IMAGES, "all")
    wanted = {k: v for k, v in model.state_dict().items() if "num_batches" not in k}
    assert set(lean.state_dict()) == set(wanted)
    lean.load_state_dict(wanted)
    assert_close(outputs(lean)[0], outputs(adapt(model, IMAGES, "all"))[0], atol=0)


def test_training_mode_is_neither_needed_nor_changed():
    model = trained(sequential()).train()
    adapt(model, IMAGES)
    assert all(module.training for module in model.modules())


def test_calibrated_gate_follows_its_definition():
    model = trained(Functional())
    spreads = observe(model, IMAGES)
    first = model.conv1(IMAGES).detach().double()
    delta = first.mean((2, 3)) - model.bn1.running_mean
    assert_close(spreads["bn1"].mean, delta.square().mean(0), atol=1e-5)
    change = first.var((2, 3), correction=0) - model.bn1.running_var
    assert_close(spreads["bn1"].var, change.square().mean(0), atol=1e-5)
    by_batches = observe(model, IMAGES.split(3))
    assert_close(by_batches["bn2"].var, spreads["bn2"].var, atol=1e-5)
    lean = adapt(model, IMAGES, "all", gate="calibrated", calibration=IMAGES)
    assert_close(lean.get_submodule("bn1").mean_spread, spreads["bn1"].mean, atol=0)
    assert float((outputs(lean)[0] - outputs(adapt(model, IMAGES, "all"))[0]).abs().max()) > 1e-4
    with pytest.raises(SettingError, match="calibration=images"):
        adapt(model, IMAGES, gate="calibrated")
    with pytest.raises(SettingError, match="uses no calibration"):
        adapt(model, IMAGES, gate="paper", calibration=IMAGES)
    with pytest.raises(SettingError, match="not seen 'bn1'"):
        apply(model, plan(model, IMAGES, Adaptation(layers="all", gate=CalibratedGate())))


def test_layers_can_be_chosen_by_measured_shift():
    model = trained(Functional())
    source = observe(model, IMAGES)
    moved = shifts(observe(model, IMAGES + 4), source)
    assert shifts(source, source) == pytest.approx({"bn1": 1.0, "bn2": 1.0})
    assert all(value > 1.5 for value in moved.values())
    names = most_shifted(moved, 1)
    assert names == [max(moved, key=lambda name: moved[name])]
    assert plan(model, IMAGES, names).named(Action.ADAPT) == names


def spoilt(field: str, value: float) -> nn.Module:
    model = trained(Functional())
    getattr(model.bn2, field)[1] = value
    return model


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (nn.Sequential(nn.Conv2d(3, 3, 3), nn.GroupNorm(1, 3)), NoBatchNormError, "it has GroupNorm"),
        (
            nn.Sequential(nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3, track_running_stats=False)),
            UnsupportedModelError,
            "'1'",
        ),
        (spoilt("running_var", -1.0), BadStatisticsError, "'bn2' has 1 of 4"),
        (spoilt("running_var", float("nan")), BadStatisticsError, "'bn2'"),
        (spoilt("running_mean", float("inf")), BadStatisticsError, "'bn2'"),
        (
            nn.Sequential(nn.Conv2d(7, 3, 3), nn.BatchNorm2d(3)),
            UnsupportedModelError,
            "does not run on the example",
        ),
        (nn.Sequential(nn.LazyBatchNorm2d()), UnsupportedModelError, "run the model once"),
        ("resnet18", UnsupportedModelError, "got str"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_models_that_cannot_be_changed_say_why(model, error, words):
    with pytest.raises(error, match=words):
        adapt(model, IMAGES, "all")


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # torch deprecates scripting; users still have such models
def test_scripted_modules_are_refused():
    scripted = torch.jit.trace(trained(sequential()), IMAGES)
    with pytest.raises(UnsupportedModelError, match="scripted"):
        adapt(scripted, IMAGES)
    with pytest.raises(UnsupportedModelError, match="0 is scripted"):
        adapt(nn.Sequential(scripted, nn.BatchNorm1d(5)), IMAGES)


@pytest.mark.parametrize("layers", [["bn9"], "layer*", ["bn1", "nothing"]])
def test_a_selector_that_matches_nothing_is_an_error(layers):
    with pytest.raises(NoLayerMatchedError, match=r"there are 2, e\.g\. 'bn1'"):
        plan(trained(Functional()), IMAGES, layers)


def test_a_model_where_nothing_can_adapt_is_an_error_unless_nothing_is_asked():
    vectors = nn.Sequential(nn.Flatten(), nn.Linear(768, 4), nn.BatchNorm1d(4))
    with pytest.raises(NoLayerMatchedError, match="one value per channel"):
        plan(vectors, IMAGES)
    assert letters(vectors, "none") == "f"
    with pytest.raises(NoLayerMatchedError, match="is none at all"):
        plan(trained(Leaky()), IMAGES, "half")


def test_a_plan_of_another_model_is_refused():
    with pytest.raises(NoLayerMatchedError, match="another model"):
        apply(trained(Functional()), plan(trained(sequential()), IMAGES))


def test_what_is_planned_is_applied():
    """Whatever a plan was asked for reaches the layers: plan and apply cannot disagree."""
    vectors = trained(nn.Sequential(nn.Flatten(), nn.Linear(768, 4), nn.BatchNorm1d(4)))
    decisions = plan(vectors, IMAGES, "all", adapt_vectors=True)
    assert decisions.named(Action.ADAPT) == ["2"]
    with torch.no_grad():
        apart = (apply(vectors, decisions)(IMAGES + 4) - vectors(IMAGES + 4)).abs().max()
    assert apart > 1e-2
    asked = Adaptation(
        layers=["bn2"],
        gate=PaperGate(tau=0.3),
        mixture_variance=True,
        adapt_vectors=True,
    )
    layer = apply(model := trained(Functional()), plan(model, IMAGES, asked)).get_submodule("bn2")
    assert isinstance(layer, AdaptiveNorm)
    assert (layer.gate, layer.mixture_variance, layer.adapt_vectors) == (PaperGate(tau=0.3), True, True)
    assert layer.memory is None
    streaming = replace(asked, gate=FilterGate(), memory=StreamMemory(length=3))
    kept = {"into": torch.zeros(16, 1), "back": torch.zeros(1, 16), "share": torch.ones(1)}
    filtering = replace(plan(model, IMAGES, streaming), constants={"bn2": kept})
    layer = apply(model, filtering).get_submodule("bn2")
    assert isinstance(layer, AdaptiveNorm)
    assert isinstance(layer.memory, LayerMemory)
    assert layer.memory.memory == StreamMemory(length=3)


def test_a_fitted_plan_has_what_its_gate_keeps_and_leaves_the_plan_it_came_from():
    model = trained(Functional())
    asked = Adaptation(layers="all", gate=CalibratedGate(ceiling=0.8, budget=0.0))
    before = plan(model, IMAGES, asked)
    fitted = fit(model, before, IMAGES)
    assert not before.constants
    assert set(fitted.constants) == set(fitted.named(Action.ADAPT))
    assert fitted.rows == before.rows
    assert fitted.adaptation.gate.comes_from(asked.gate)
    lean, whole = apply(model, fitted), adapt(model, IMAGES, "all", gate=asked.gate, calibration=IMAGES)
    assert all(torch.equal(value, whole.state_dict()[key]) for key, value in lean.state_dict().items())
    paper = plan(model, IMAGES, "all")
    assert fit(model, paper, IMAGES) is paper
