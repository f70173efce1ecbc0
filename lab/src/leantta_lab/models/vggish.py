"""VGGish of the DCASE-2018 bird detection baseline: log-mel frames in, one logit out, the baseline's names.

Four blocks of two convolutions, then the maximum over frequency and over time. 8 BatchNorms, 4.69 million
parameters. The baseline ends in a sigmoid; here the output is the logit, and bird means a logit above zero.
"""

from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512)


class ConvBlock(nn.Module):
    """Two 3x3 convolutions, each with BatchNorm and ReLU, then a 2x2 max-pool."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output: (n, channels_in, t, f) -> (n, channels, t/2, f/2)."""
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        pooled: Tensor = self.maxpool(x)
        return pooled


class Vggish(nn.Module):
    """A VGG-like network over log-mel frames; any number of frames and of bands from 16 on."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.conv_block1 = ConvBlock(1, WIDTHS[0])
        self.conv_block2 = ConvBlock(WIDTHS[0], WIDTHS[1])
        self.conv_block3 = ConvBlock(WIDTHS[1], WIDTHS[2])
        self.conv_block4 = ConvBlock(WIDTHS[2], WIDTHS[3])
        self.fc_final = nn.Linear(WIDTHS[3], num_classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(self.fc_final.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of (n, 1, frames, bands) features: (n, classes)."""
        x = self.conv_block4(self.conv_block3(self.conv_block2(self.conv_block1(x))))  # (n, 512, t/16, f/16)
        x = x.amax(dim=3).amax(dim=2)  # over frequency, then over time: (n, 512)
        logits: Tensor = self.fc_final(x)
        return logits


def vggish(num_classes: int) -> nn.Module:
    """Return an untrained VGGish."""
    return Vggish(num_classes)
