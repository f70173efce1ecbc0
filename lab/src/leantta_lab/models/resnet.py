"""ResNet18 for 32x32 images: torchvision's names, a 3x3 stride-1 stem, the 3x3 stride-2 max-pool kept.

20 BatchNorms, those of the three downsampling shortcuts included; 11.17 million parameters with ten classes.
"""

from torch import Tensor, nn

STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
"""(channels, stride of the first block) of the four stages; every stage has two blocks."""


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with BatchNorm, added to a shortcut that is projected when the shape changes."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample: nn.Sequential | None = None
        if stride != 1 or channels_in != channels:
            projection = nn.Conv2d(channels_in, channels, 1, stride, bias=False)
            self.downsample = nn.Sequential(projection, nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output: (n, channels_in, h, w) -> (n, channels, h/stride, w/stride)."""
        out: Tensor = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        shortcut: Tensor = x if self.downsample is None else self.downsample(x)
        activated: Tensor = self.relu(out + shortcut)
        return activated


class ResNet18(nn.Module):
    """An 18-layer residual network whose stem keeps the resolution of small images."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        width = STAGES[0][0]
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        stages = []
        for channels, stride in STAGES:
            first = BasicBlock(width, channels, stride)
            stages.append(nn.Sequential(first, BasicBlock(channels, channels, 1)))
            width = channels
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width, num_classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of (n, 3, h, w) images: (n, classes)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))  # (n, 64, h/2, w/2)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))  # (n, 512, h/16, w/16)
        logits: Tensor = self.fc(self.avgpool(x).flatten(1))
        return logits


def resnet18(num_classes: int) -> nn.Module:
    """Return an untrained ResNet18."""
    return ResNet18(num_classes)
