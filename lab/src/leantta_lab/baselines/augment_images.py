"""Random views of inputs, all at once: every row draws for itself.

An image (three channels, between 0 and 1) changes its colours, is turned, moved, scaled, mirrored, blurred
and gets some noise; or it changes its colours and is mirrored, no more. What is no image has neither colours
nor a left and right: it gets noise and gain.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

BRIGHTNESS = (0.6, 1.4)
CONTRAST = (0.7, 1.3)
SATURATION = (0.5, 1.5)
HUE = (-0.06, 0.06)  # turns of the colour circle
GAMMA = (0.7, 1.3)
TURN = (-math.radians(15), math.radians(15))
MOVE = (-1 / 16, 1 / 16)  # of height and width
SCALE = (0.9, 1.1)
BLUR = (0.001, 0.5)  # the bell's deviation in pixels, over five of them
NOISE = 0.005
GAIN = (0.9, 1.1)
LUMA = (0.299, 0.587, 0.114)
COLOUR = (0.6, 1.4)  # brightness, contrast and saturation of a recoloured image
RARELY = 0.2
"""How likely it is that a recoloured image loses its colours, and that it is inverted."""


def augmented(x: Tensor, generator: torch.Generator) -> Tensor:
    """Return a random view of each row of x (n, c, *positions)."""
    return _view_of_images(x, generator) if _are_images(x) else _view_of_signals(x, generator)


def recoloured(x: Tensor, generator: torch.Generator) -> Tensor:
    """Return a random view of each row of x (n, c, *positions) in which an image keeps its shapes.

    Its brightness, contrast and saturation change, it may be made grey or inverted, and it may be mirrored.
    """
    if not _are_images(x):
        return _view_of_signals(x, generator)
    x = _coloured(x.clamp(0, 1), COLOUR, COLOUR, COLOUR, generator)
    chance = (0.0, 1.0)
    x = torch.where(_uniform(chance, x, generator) < RARELY, grey(x), x)
    x = torch.where(_uniform(chance, x, generator) < RARELY, 1 - x, x)
    return torch.where(_uniform(chance, x, generator) < 0.5, x.flip(3), x)


def _are_images(x: Tensor) -> bool:
    return x.dim() == 4 and x.shape[1] == 3


def _view_of_signals(x: Tensor, generator: torch.Generator) -> Tensor:
    gain = _uniform(GAIN, x, generator)
    spread = x.flatten(1).std(1, correction=0).view(gain.shape)
    return x * gain + NOISE * spread * torch.randn(x.shape, generator=generator)


def _view_of_images(x: Tensor, generator: torch.Generator) -> Tensor:
    x = _coloured(x.clamp(0, 1), BRIGHTNESS, CONTRAST, SATURATION, generator)
    x = turned_hue(x, _uniform(HUE, x, generator))
    x = x.pow(_uniform(GAMMA, x, generator))
    x = moved(
        x,
        angle=_uniform(TURN, x, generator).view(-1),
        right=_uniform(MOVE, x, generator).view(-1),
        down=_uniform(MOVE, x, generator).view(-1),
        scale=_uniform(SCALE, x, generator).view(-1),
        mirrored=_uniform((0, 1), x, generator).view(-1) < 0.5,
    )
    x = blurred(x, _uniform(BLUR, x, generator))
    return x.add_(torch.randn(x.shape, generator=generator), alpha=NOISE).clamp_(0, 1)


def _coloured(
    x: Tensor,
    brightness: tuple[float, float],
    contrast: tuple[float, float],
    saturation: tuple[float, float],
    generator: torch.Generator,
) -> Tensor:
    """Return images with their brightness, contrast and saturation changed by factors between two bounds."""
    x = (x * _uniform(brightness, x, generator)).clamp_(0, 1)
    x = _mixed(grey(x).mean((2, 3), keepdim=True), x, _uniform(contrast, x, generator))
    return _mixed(grey(x), x, _uniform(saturation, x, generator))


def _uniform(bounds: tuple[float, float], x: Tensor, generator: torch.Generator) -> Tensor:
    """Return a number per row between two, shaped to broadcast over x."""
    low, high = bounds
    drawn = torch.rand((len(x), *(1,) * (x.dim() - 1)), generator=generator)
    return drawn.mul_(high - low).add_(low)


def _mixed(low: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Return x with its distance to `low` scaled, between 0 and 1."""
    return torch.lerp(low.expand_as(x), x, weight).clamp_(0, 1)


def grey(x: Tensor) -> Tensor:
    """Return the luma (n, 1, h, w) of images (n, 3, h, w)."""
    return (x * torch.tensor(LUMA).view(3, 1, 1)).sum(1, keepdim=True)


def turned_hue(x: Tensor, turns: Tensor) -> Tensor:
    """Return images with every hue moved by so many turns (n, 1, 1, 1) around the colour circle.

    >>> red = torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1)
    >>> turned_hue(red, torch.tensor(1 / 3).view(1, 1, 1, 1)).flatten()  # green
    tensor([0., 1., 0.])
    """
    value, brightest = x.max(1, keepdim=True)  # (n, 1, h, w)
    chroma = value - x.amin(1, keepdim=True)
    # Which sixth of the circle, and where in it: seen from the brightest channel, the other two's difference.
    ahead, behind = x.roll(-1, 1), x.roll(-2, 1)
    sixths = ((ahead - behind) / chroma.clamp_min(1e-12)).gather(1, brightest) + 2 * brightest + 6 * turns
    back = torch.tensor([5.0, 3.0, 1.0]).view(3, 1, 1)
    distance = (back + sixths).remainder(6)  # (n, 3, h, w)
    return value - chroma * torch.minimum(distance, 4 - distance).clamp_(0, 1)


def moved(
    x: Tensor, *, angle: Tensor, right: Tensor, down: Tensor, scale: Tensor, mirrored: Tensor
) -> Tensor:
    """Return images turned by radians, moved by parts of their size, scaled and mirrored, a value (n,) each.

    What comes in from outside repeats the border.
    """
    height, width = x.shape[2:]
    cos, sin = angle.cos() / scale, angle.sin() / scale
    # Where each pixel comes from, in coordinates that run from -1 to 1 along either side.
    from_x = torch.stack((cos, sin * (height / width)), 1)
    from_y = torch.stack((-sin * (width / height), cos), 1)
    linear = torch.stack((from_x, from_y), 1)  # (n, 2, 2)
    offset = -linear @ torch.stack((2 * right, 2 * down), 1)[..., None]  # (n, 2, 1)
    side = torch.where(mirrored, -1.0, 1.0)
    linear = torch.stack((linear[:, :, 0] * side[:, None], linear[:, :, 1]), 2)
    grid = F.affine_grid(torch.cat((linear, offset), 2), list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False)


def blurred(x: Tensor, deviation: Tensor) -> Tensor:
    """Return images blurred along both sides with a bell of five pixels, its deviation (n, 1, 1, 1)."""
    n, channels = x.shape[:2]
    bell = torch.exp(-0.5 * (torch.arange(-2.0, 3.0) / deviation).square())  # (n, 1, 1, 5)
    bell = (bell / bell.sum(3, keepdim=True)).repeat_interleave(channels, 0)  # (n * c, 1, 1, 5)
    planes = x.reshape(1, n * channels, *x.shape[2:])
    planes = F.conv2d(F.pad(planes, (2, 2, 0, 0), mode="replicate"), bell, groups=n * channels)
    planes = F.conv2d(F.pad(planes, (0, 0, 2, 2), mode="replicate"), bell.mT, groups=n * channels)
    return planes.view(x.shape)
