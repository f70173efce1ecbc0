"""The table of models: every network that has a name, what it takes and what it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from torch import nn

from leantta.errors import SettingError
from leantta.models.mobilenet import mobilenet_v2
from leantta.models.mobilevit import mobilevit_s
from leantta.models.motion import motion_cnn
from leantta.models.resnet import resnet18
from leantta.models.vggish import vggish


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """One network of the table."""

    make: Callable[[int], nn.Module]  # called with the number of classes
    input_shape: tuple[int, ...]  # channels, then height and width or time
    num_classes: int
    batchnorms: int
    parameters: int  # trainable values, with `num_classes` classes
    summary: str
    trained_on: str = "cifar10"  # the dataset whose checkpoint a benchmark takes


MODELS: Mapping[str, ModelEntry] = {
    "resnet18": ModelEntry(
        make=resnet18,
        input_shape=(3, 32, 32),
        num_classes=10,
        batchnorms=20,
        parameters=11_173_962,
        summary="ResNet18 with a 3x3 stride-1 stem and max-pool, for 32x32 images",
    ),
    "mobilenet_v2": ModelEntry(
        make=mobilenet_v2,
        input_shape=(3, 32, 32),
        num_classes=10,
        batchnorms=52,
        parameters=2_236_682,
        summary="MobileNetV2 with three reductions instead of five, for 32x32 images",
    ),
    "vggish": ModelEntry(
        make=vggish,
        input_shape=(1, 240, 64),
        num_classes=1,
        batchnorms=8,
        parameters=4_686_657,
        summary="VGGish of the DCASE-2018 bird detection baseline: 240 log-mel frames, one logit",
        trained_on="esc50",
    ),
    "mobilevit_s": ModelEntry(
        make=mobilevit_s,
        input_shape=(3, 256, 256),
        num_classes=10,
        batchnorms=32,
        parameters=4_944_042,
        summary="MobileViT-S, a convolution and transformer hybrid, for 256x256 images or any multiple of 32",
    ),
    "motion_cnn": ModelEntry(
        make=motion_cnn,
        input_shape=(9, 128),
        num_classes=6,
        batchnorms=6,
        parameters=115_430,
        summary="six 1-D convolutions over windows of motion sensors: nine channels, 128 samples",
        trained_on="har",
    ),
}


def entry(name: str) -> ModelEntry:
    """Return the table's line for `name`.

    >>> entry("resnet18").input_shape
    (3, 32, 32)

    Raises:
        SettingError: no model of the table has that name.
    """
    if name not in MODELS:
        near = get_close_matches(name, MODELS, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SettingError(f"no model is named {name!r}; the names are {', '.join(MODELS)}.{hint}")
    return MODELS[name]


def build(name: str, *, num_classes: int | None = None) -> nn.Module:
    """Return a new, untrained model of the table, in evaluation mode.

    Without `num_classes` it has the table's default.

    >>> build("resnet18", num_classes=100).fc.out_features
    100

    Raises:
        SettingError: no model has that name, or `num_classes` is less than one.
    """
    line = entry(name)
    classes = line.num_classes if num_classes is None else num_classes
    if classes < 1:
        raise SettingError(f"a model needs at least one class; num_classes is {classes}.")
    return line.make(classes).eval()
