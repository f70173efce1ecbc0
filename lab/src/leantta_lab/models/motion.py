"""A small 1-D network for windows of motion sensors: six convolutions over time, one linear layer.

6 BatchNorms; 115 thousand parameters with six classes.
"""

from torch import Tensor, nn

CHANNELS = 9
WIDTHS = (32, 32, 64, 64, 96, 96)
KERNEL = 5


def conv_norm_relu(channels_in: int, channels: int, stride: int) -> nn.Sequential:
    """Return a convolution over time that pads to keep the length, its BatchNorm and a ReLU."""
    conv = nn.Conv1d(channels_in, channels, KERNEL, stride, padding=KERNEL // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm1d(channels), nn.ReLU(inplace=True))


class MotionCnn(nn.Module):
    """Convolutions over time, every second of them halving it: 128 samples leave 16 positions."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = CHANNELS
        for place, channels in enumerate(WIDTHS):
            layers.append(conv_norm_relu(width, channels, stride=1 + place % 2))
            width = channels
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool1d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(width, num_classes))
        for layer in self.modules():
            if isinstance(layer, nn.Conv1d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out")

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of (n, 9, t) windows: (n, classes)."""
        x = self.features(x)  # (n, 96, t/8)
        logits: Tensor = self.classifier(self.avgpool(x).flatten(1))
        return logits


def motion_cnn(num_classes: int) -> nn.Module:
    """Return an untrained network for motion windows."""
    return MotionCnn(num_classes)
