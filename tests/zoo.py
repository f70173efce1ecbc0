"""Small models, one per way of building networks that surgery must handle."""

from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

Model = TypeVar("Model", bound=nn.Module)


def trained(model: Model, seed: int = 0) -> Model:
    """Give every layer weights by the seed, and every BatchNorm statistics that a fresh one does not have."""
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.data.normal_(0, max(weight[0].numel(), 1) ** -0.5, generator=generator)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            assert module.running_var is not None
            module.running_mean.normal_(0, 0.5, generator=generator)
            module.running_var.uniform_(0.5, 2, generator=generator)
            if module.affine:
                module.weight.data.uniform_(0.5, 1.5, generator=generator)
                module.bias.data.normal_(0, 0.5, generator=generator)
    return model.eval()


def sequential() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(inplace=True),
        nn.Conv2d(6, 6, 3, groups=6),
        nn.BatchNorm2d(6),
        nn.ReLU6(),
        nn.Conv2d(6, 4, 1),
        nn.BatchNorm2d(4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 5),
        nn.BatchNorm1d(5),
    )


class Functional(nn.Module):
    """Everything but the modules with weights is a function."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu_(self.bn2(self.conv2(functional.max_pool2d(x, 2)))).mean((2, 3))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)
        self.conv2, self.bn2 = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + x).mean((2, 3))


class Dense(nn.Module):
    """Concatenations feed the normalisations, as in DenseNet."""

    def __init__(self) -> None:
        super().__init__()
        self.conv0, self.bn0 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.norm1, self.conv1 = nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3, padding=1)
        self.norm2, self.conv2 = nn.BatchNorm2d(6), nn.Conv2d(6, 2, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn0(self.conv0(x)))
        x = torch.cat([x, self.conv1(torch.relu(self.norm1(x)))], 1)
        return torch.cat([x, self.conv2(torch.relu(self.norm2(x)))], 1).mean((2, 3))


class PreActivation(nn.Module):
    """Normalise, activate, convolve; the convolution's output also goes into the sum."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.bn1, self.conv1 = nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3, padding=1)
        self.bn2, self.conv2 = nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        y = self.conv1(torch.relu(self.bn1(x)))
        return (x + self.conv2(torch.relu(self.bn2(y)))).mean((2, 3))


class BatchNormAct(nn.BatchNorm2d):
    """A BatchNorm that activates, as image-model libraries have them."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        activated: Tensor = self.act(super().forward(x))
        return activated


class WithSubclass(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3), BatchNormAct(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)
        self.conv3, self.bn3 = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn3(self.conv3(self.bn2(self.conv2(self.bn1(self.conv1(x)))))).mean((2, 3))


class KnownSubclass(nn.BatchNorm2d):
    """Stands in for timm's layer of that name, which normalises and then applies `drop` and `act`."""

    def __init__(self, channels: int, act: nn.Module) -> None:
        super().__init__(channels)
        self.drop, self.act = nn.Identity(), act

    def forward(self, x: Tensor) -> Tensor:
        activated: Tensor = self.act(self.drop(super().forward(x)))
        return activated


KnownSubclass.__module__, KnownSubclass.__qualname__ = "timm.layers.norm_act", "BatchNormAct2d"


def with_known_subclass() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        KnownSubclass(4, nn.ReLU()),
        nn.Conv2d(4, 4, 3),
        KnownSubclass(4, nn.Hardswish()),
        nn.MaxPool2d(2),
        KnownSubclass(4, nn.SiLU()),
    )


class SharedNorm(nn.Module):
    """One BatchNorm behind two convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 3, 3), nn.Conv2d(3, 3, 3)
        self.bn = nn.BatchNorm2d(3)
        self.tail, self.tail_bn = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
        self.alias = self.bn

    def forward(self, x: Tensor) -> Tensor:
        return self.tail_bn(self.tail(self.alias(self.conv2(self.bn(self.conv1(x)))))).mean((2, 3))


class SharedConv(nn.Module):
    """One convolution before two BatchNorms."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn1, self.bn2 = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn2(self.conv(self.bn1(self.conv(x)))).mean((2, 3))


class TiedWeights(nn.Module):
    """The convolution's weights are read a second time, outside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn(self.conv(x))
        return functional.conv2d(y, self.conv.weight).mean((2, 3))


class Leaky(nn.Module):
    """The convolution's output leaves the model beside the result."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        raw = self.conv(x)
        return self.bn(raw), raw


class Transposed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up1, self.bn1 = (
            nn.ConvTranspose2d(3, 4, 2, stride=2, bias=False),
            nn.BatchNorm2d(4, affine=False),
        )
        self.up2, self.bn2 = nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn2(self.up2(torch.relu(self.bn1(self.up1(x))))).mean((2, 3))


class Between(nn.Module):
    """Something happens between convolution and BatchNorm, in place or by a view; Identity does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)
        self.conv2, self.bn2 = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)
        self.conv3, self.bn3 = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)
        self.pass_on, self.conv4, self.bn4 = nn.Identity(), nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.bn1(self.conv1(x).relu_())
        x = self.bn2(self.conv2(x).transpose(2, 3))
        y = self.conv3(x)
        y[:, 0] += 1
        return self.bn4(self.conv4(self.pass_on(self.bn3(y)))).mean((2, 3))


class SquareLinear(nn.Module):
    """A linear layer whose last axis has as many values as there are channels in the second one."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.bn = nn.Linear(6, 6), nn.BatchNorm1d(6)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn(self.linear(x.flatten(2)[:, :, :36].reshape(-1, 6, 6)))


class Unreached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn, self.spare = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3), nn.BatchNorm2d(3)
        self.conv2, self.bn2 = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.bn(self.conv(x))))
        return functional.batch_norm(y, torch.zeros(3), torch.ones(3)).mean((2, 3))


def one_dimensional() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(2),
        nn.Conv1d(3, 4, 5),
        nn.BatchNorm1d(4),
        nn.ReLU(),
        nn.Conv1d(4, 4, 3, groups=2),
        nn.BatchNorm1d(4),
    )


def three_dimensional() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(2, (4, 4)),  # (n, 3, 16, 16) -> (n, 3, 4, 4, 16)
        nn.Conv3d(3, 4, 3, padding=1),
        nn.BatchNorm3d(4),
        nn.ReLU(),
        nn.ConvTranspose3d(4, 2, 2),
        nn.BatchNorm3d(2),
    )


ZOO = {
    "sequential": sequential,
    "functional": Functional,
    "residual": Residual,
    "dense": Dense,
    "pre-activation": PreActivation,
    "subclass": WithSubclass,
    "known subclass": with_known_subclass,
    "shared norm": SharedNorm,
    "shared conv": SharedConv,
    "tied weights": TiedWeights,
    "leaky": Leaky,
    "transposed": Transposed,
    "between": Between,
    "square linear": SquareLinear,
    "unreached": Unreached,
    "1d": one_dimensional,
    "3d": three_dimensional,
}
