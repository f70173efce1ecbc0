"""MobileNetV2 for 32x32 images: torchvision's names; the stem and the 24-channel stage keep the resolution.

52 BatchNorms; 2.24 million parameters with ten classes.
"""

from torch import Tensor, nn

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),  # published with stride 2
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""(expansion, channels, blocks, stride of the first block) of each stage."""
STEM, HEAD = 32, 1280


def conv_norm_relu(
    channels_in: int, channels: int, kernel: int, *, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """Return a convolution that pads to keep the size, its BatchNorm and a ReLU6."""
    conv = nn.Conv2d(channels_in, channels, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(channels), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    """Expand with 1x1, filter each channel with 3x3, project with 1x1; add the input if the shape allows."""

    def __init__(self, channels_in: int, channels: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = channels_in * expansion
        self.adds_input = stride == 1 and channels_in == channels
        layers: list[nn.Module] = [] if expansion == 1 else [conv_norm_relu(channels_in, hidden, 1)]
        layers += [
            conv_norm_relu(hidden, hidden, 3, stride=stride, groups=hidden),
            nn.Conv2d(hidden, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output: (n, channels_in, h, w) -> (n, channels, h/stride, w/stride)."""
        out: Tensor = self.conv(x)
        return x + out if self.adds_input else out


class MobileNetV2(nn.Module):
    """A network of inverted residuals, halved three times and not five: 32x32 images leave a 4x4 map."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        width = STEM
        layers: list[nn.Module] = [conv_norm_relu(3, width, 3)]
        for expansion, channels, blocks, first_stride in STAGES:
            for i in range(blocks):
                layers.append(InvertedResidual(width, channels, first_stride if i == 0 else 1, expansion))
                width = channels
        layers.append(conv_norm_relu(width, HEAD, 1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(HEAD, num_classes))
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out")
            elif isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.01)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of (n, 3, h, w) images: (n, classes)."""
        x = self.features(x)  # (n, 1280, h/8, w/8)
        logits: Tensor = self.classifier(self.avgpool(x).flatten(1))
        return logits


def mobilenet_v2(num_classes: int) -> nn.Module:
    """Return an untrained MobileNetV2."""
    return MobileNetV2(num_classes)
