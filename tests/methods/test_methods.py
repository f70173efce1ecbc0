from dataclasses import replace

import numpy as np
import pytest
import torch

from gates.striped import MEAN, STD, given, hazy, pixels, striped
from leantta.data.datasets import model_inputs
from leantta.errors import DataError, SettingError
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.filter import FilterGate
from leantta.gates.paper import PaperGate
from leantta.memory import StreamMemory
from leantta.methods.method import SourceModel, TorchPredictor
from leantta.methods.parse import METHODS, parse_method
from leantta.modalities.datasets import dataset_info
from leantta.models.opening import pretrained
from leantta.surgery.adaptation import Adaptation
from leantta_lab.datasets.cifar import load_images
from reference import assert_close

INFO = dataset_info("cifar10")


@pytest.fixture(scope="module")
def subject(sample, weights) -> SourceModel:
    model = pretrained("resnet18", weights=weights)
    outside = TorchPredictor(model, mean=INFO.mean, std=INFO.std)
    source = model_inputs(load_images(sample, split="train").samples[:32])
    return SourceModel(
        model=model,
        example=outside.normalized(source[:2]),
        mean=INFO.mean,
        std=INFO.std,
        classes=10,
        source=lambda count: source[:count],
    )


@pytest.fixture(scope="module")
def images(sample) -> np.ndarray:
    return model_inputs(load_images(sample).samples[:6])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("count", [1, 2, 6])
def test_every_method_predicts_at_any_batch_size(name, count, subject, images):
    predictor = parse_method(name, Adaptation(gate=CalibratedGate.default())).build(subject)
    logits = predictor.predict(images[:count])
    assert logits.shape == (count, 10)
    assert logits.dtype == np.float32
    predictor.reset()
    assert_close(predictor.predict(images[:count]), logits, atol=0)
    if predictor.stateless:
        assert_close(predictor.predict(images[count - 1 : count]), logits[-1:], atol=1e-4)


@pytest.mark.parametrize(
    "changed",
    [
        {"layers": "all"},
        {"layers": 3},
        {"gate": PaperGate(tau=0.7)},
        {"gate": PaperGate(lam=0.0)},
        {"gate": PaperGate()},
        {"gate": CalibratedGate(floor=0.2)},
        {"gate": CalibratedGate(ceiling=0.9)},
        {"mixture_variance": True},
    ],
    ids=str,
)
def test_every_option_changes_the_result_and_is_recorded(changed, subject, images):
    asked = Adaptation(gate=CalibratedGate.default())
    usual, other = (parse_method("leantta", each) for each in (asked, replace(asked, **changed)))
    logits = [chosen.build(subject).predict(images) for chosen in (usual, other)]
    assert np.abs(logits[0] - logits[1]).max() > 1e-4
    assert usual.settings(10) != other.settings(10)


@pytest.fixture(scope="module")
def stripes() -> SourceModel:
    """A network for which the shift filter helps."""
    source = model_inputs(pixels())
    return SourceModel(
        model=striped(), example=given(pixels(2)), mean=MEAN, std=STD, classes=4, source=lambda n: source[:n]
    )


@pytest.mark.parametrize(
    ("one", "other"), [(None, StreamMemory()), (StreamMemory(), StreamMemory(length=2))], ids=str
)
def test_memory_uses_the_inputs_before_until_it_is_reset(one, other, stripes):
    haze = model_inputs(hazy(pixels(12, seed=3)))  # all shifted the same way
    gate = FilterGate()
    methods = [
        parse_method("leantta", Adaptation(layers="all", gate=gate, memory=memory)) for memory in (one, other)
    ]
    predictors = [method.build(stripes) for method in methods]
    first, second = (predictor.predict(haze) for predictor in predictors)
    assert np.abs(first - second).max() > 1e-3
    assert methods[0].settings(10) != methods[1].settings(10)
    assert [predictor.stateless for predictor in predictors] == [one is None, False]
    predictors[1].reset()
    singly = np.concatenate([predictors[1].predict(haze[i : i + 1]) for i in range(len(haze))])
    assert_close(singly, second, atol=1e-4)


def test_what_follows_the_name_goes_before_the_options():
    options = Adaptation(layers="all", gate=PaperGate(tau=0.5))
    text = "leantta:3:filter:rank=4:memory:length=3"
    assert parse_method(text, options).settings(10) == {
        "layers": 3,
        "gate": "FilterGate",
        "shrink": 1.0,
        "rank": 4.0,
        "budget": 0.005,
        "mixture_variance": False,
        "memory": {"length": 3.0},
    }
    assert parse_method(text, options).label == text


def test_a_gate_has_its_budget_unless_its_ends_are_told():
    def gate(text):
        settings = parse_method(text, Adaptation()).settings(10)
        return settings["floor"], settings["ceiling"], settings.get("budget")

    assert gate("leantta:half:calibrated") == (0.0, 0.4, 0.005)
    assert gate("leantta:half:calibrated:ceiling=0.3") == (0.0, 0.3, None)
    assert gate("leantta:half:calibrated:ceiling=0.8:budget=0.02") == (0.0, 0.8, 0.02)


@pytest.mark.parametrize("text", ["leantta", "leantta:ends", "leantta:ends:filter", "leantta:default"])
def test_the_default_is_the_filter_at_both_ends(text):
    settings = parse_method(text, Adaptation()).settings(10)
    assert settings == {
        "layers": "ends",
        "gate": "FilterGate",
        "shrink": 1.0,
        "rank": 16,
        "budget": 0.005,
        "mixture_variance": False,
    }


@pytest.mark.parametrize(
    ("text", "layers"),
    [("leantta:paper", "half"), ("leantta:ends:paper", "ends"), ("leantta:filter", "ends")],
)
def test_each_gate_has_layers_that_are_usual_for_it(text, layers):
    assert parse_method(text, Adaptation()).settings(10)["layers"] == layers


def test_labels_say_which_layers():
    options = Adaptation(layers=["bn1", "layer1.*"])
    texts = ("none", "leantta", "leantta:all", "leantta:8", "leantta:0.5")
    labels = [parse_method(text, options).label for text in texts]
    assert labels == ["none", "leantta:bn1,layer1.*", "leantta:all", "leantta:8", "leantta:0.5"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tent9", "known: none, leantta.* Did you mean 'tent'"),
        ("none:all", "write 'none'"),
        ("leantta:half:fast", "cannot be told 'fast'"),
        ("leantta:half:paper:floor=0.1", "no 'floor' with this gate"),
        ("leantta:half:calibrated:floor=low", "is a number"),
        ("leantta:half:paper:tau=2", "must lie in"),
        ("tent:fast", "no preset 'fast'"),
        ("tent:paper:rate=1", "one of seed, learning_rate"),
        ("tent:learning_rate=quick", "of type float"),
    ],
)
def test_unknown_methods_are_refused(text, words):
    with pytest.raises(SettingError, match=words):
        parse_method(text, Adaptation())


@pytest.mark.parametrize("shape", [(1, 1, 32, 32), (3, 32, 32)])
def test_images_of_another_shape_are_refused(shape, subject):
    with pytest.raises(DataError, match="shape"):
        TorchPredictor(subject.model, mean=INFO.mean, std=INFO.std).predict(np.zeros(shape, np.float32))


def test_images_that_are_not_finite_are_refused(subject, images):
    broken = images.copy()
    broken[1, 0, 0, 0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        TorchPredictor(subject.model, mean=INFO.mean, std=INFO.std).predict(broken)


def test_the_predictor_normalises_as_the_model_was_trained(subject, images):
    mean, std = torch.tensor(INFO.mean).view(3, 1, 1), torch.tensor(INFO.std).view(3, 1, 1)
    with torch.no_grad():
        expected = subject.model((torch.from_numpy(images) - mean) / std)
    assert_close(
        TorchPredictor(subject.model, mean=INFO.mean, std=INFO.std).predict(images), expected, atol=1e-5
    )
