"""The table of models: every network that has a name, what it takes and what it holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from leantta.models.named import ModelEntry
from leantta_lab.models.checkpoints import find_weights
from leantta_lab.models.efficientnet import PACKAGE, efficientnet_lite0, find_published
from leantta_lab.models.mobilenet import mobilenet_v2
from leantta_lab.models.mobilevit import mobilevit_s
from leantta_lab.models.motion import motion_cnn
from leantta_lab.models.resnet import resnet18
from leantta_lab.models.vggish import vggish


@dataclass(frozen=True, kw_only=True)
class LabModel(ModelEntry):
    """One network of the table, with what tests hold it to."""

    batchnorms: int
    parameters: int  # trainable values, with `num_classes` classes


RESNET18 = LabModel(
    make=resnet18,
    input_shape=(3, 32, 32),
    num_classes=10,
    batchnorms=20,
    parameters=11_173_962,
    summary="ResNet18 with a 3x3 stride-1 stem and max-pool, for 32x32 images",
    trained_on="cifar10",
    weights=partial(find_weights, "resnet18"),
)
MOBILENET_V2 = LabModel(
    make=mobilenet_v2,
    input_shape=(3, 32, 32),
    num_classes=10,
    batchnorms=52,
    parameters=2_236_682,
    summary="MobileNetV2 with three reductions instead of five, for 32x32 images",
    trained_on="cifar10",
    weights=partial(find_weights, "mobilenet_v2"),
)
VGGISH = LabModel(
    make=vggish,
    input_shape=(1, 240, 64),
    num_classes=1,
    batchnorms=8,
    parameters=4_686_657,
    summary="VGGish of the DCASE-2018 bird detection baseline: 240 log-mel frames, one logit",
    trained_on="esc50",
    weights=partial(find_weights, "vggish"),
)
MOBILEVIT_S = LabModel(
    make=mobilevit_s,
    input_shape=(3, 256, 256),
    num_classes=10,
    batchnorms=32,
    parameters=4_944_042,
    summary="MobileViT-S, a convolution and transformer hybrid, for 256x256 images or any multiple of 32",
    trained_on="cifar10",
    weights=partial(find_weights, "mobilevit_s"),
)
EFFICIENTNET_LITE0 = LabModel(
    make=efficientnet_lite0,
    input_shape=(3, 224, 224),
    num_classes=1000,
    batchnorms=49,
    parameters=4_652_008,
    summary="EfficientNet-Lite0 with its public weights, for 224x224 images",
    trained_on="imagenet",
    weights=find_published,
    published=PACKAGE,
)
MOTION_CNN = LabModel(
    make=motion_cnn,
    input_shape=(9, 128),
    num_classes=6,
    batchnorms=6,
    parameters=115_430,
    summary="six 1-D convolutions over windows of motion sensors: nine channels, 128 samples",
    trained_on="har",
    weights=partial(find_weights, "motion_cnn"),
)

MODELS: Mapping[str, LabModel] = {
    "resnet18": RESNET18,
    "mobilenet_v2": MOBILENET_V2,
    "vggish": VGGISH,
    "mobilevit_s": MOBILEVIT_S,
    "efficientnet_lite0": EFFICIENTNET_LITE0,
    "motion_cnn": MOTION_CNN,
}
