"""Disturbances of a camera: images (n, c, h, w) with values from 0 to 1, of any size and number of channels.

What is strong for 32 pixels is mild for 224, as in CIFAR-C and ImageNet-C. So the strongest grain, blur and
loss of pixels grow with the image.
"""

import math

import torch
from torch import Generator, Tensor
from torch.nn.functional import affine_grid, grid_sample, interpolate, pad

from leantta.disturbances.library.disturbance import Disturbance, Library
from leantta.disturbances.library.draws import (
    beside,
    box_weights,
    counted,
    normal,
    signs,
    tent_weights,
    uniform,
)

BLOCK = 8
"""Pixels to a side of what `codec` packs together."""


def exposure(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Darken or brighten by a power, so that black and white stay."""
    return x.clamp_min(0) ** beside(torch.exp(1.5 * strengths * signs(x, random)), x)


def veil(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Lay an even grey over everything."""
    grey = uniform(x, random, 1, 1, 1)
    return x + beside(0.93 * strengths, x) * (grey - x)


def lamp(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Light the image from one side."""
    angle = beside(2 * math.pi * uniform(x, random), x)
    down, right = _square(x)
    slope = angle.cos() * right + angle.sin() * down
    glare = beside(0.3 * strengths * uniform(x, random), x)
    return x * (1 + beside(strengths, x) * slope) + glare * (1 + slope) / 2


def vignette(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Darken towards the corners."""
    del random
    down, right = _square(x)
    return x * (1 - beside(strengths, x) * ((down**2 + right**2) / 2) ** 0.75)


def colour_cast(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Raise or lower each colour by a factor of its own."""
    return x * (1 + 0.7 * beside(strengths, x) * (2 * uniform(x, random, x.shape[1], 1, 1) - 1))


def fade(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Take colours away; how much each counts in the grey is drawn."""
    shares = uniform(x, random, x.shape[1], 1, 1) + 1e-3
    grey = (x * (shares / shares.sum(1, keepdim=True))).sum(1, keepdim=True)
    return x + beside(strengths, x) * (grey - x)


def grain(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add grains of one pixel or more, coloured or grey, everywhere alike or more where it is bright."""
    size = 1 + 2 * _grown(x, 1, 2) * uniform(x, random) ** 2 * (uniform(x, random) < 0.5)
    noise = _box(2 * uniform(x, random, *x.shape[1:]) - 1, size, size)
    grey = uniform(x, random, 1, 1, 1) < 0.3
    noise = torch.where(grey, noise.mean(1, keepdim=True), noise)
    noise = noise / noise.square().mean((1, 2, 3), keepdim=True).sqrt()
    by_light = uniform(x, random, 1, 1, 1)
    return x + beside(_grown(x, 0.16, 0.5) * strengths, x) * noise * (
        1 - by_light + 1.5 * by_light * x.clamp(0, 1).sqrt()
    )


def banding(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Offset each row or each column."""
    rows, columns = normal(x, random, 1, x.shape[2], 1), normal(x, random, 1, 1, x.shape[3])
    offsets = torch.where(uniform(x, random, 1, 1, 1) < 0.5, rows, columns)
    return x + _grown(x, 0.16, 0.3) * beside(strengths, x) * offsets


def dead_pixels(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Set whole pixels to black or white."""
    drawn = uniform(x, random, 1, *x.shape[2:])
    share = _grown(x, 0.08, 0.16) * beside(strengths, x)
    return torch.where(drawn < share, 0.0, torch.where(drawn > 1 - share, 1.0, x))


def box_blur(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Average over a rectangle."""
    most = 0.14 * min(x.shape[2:]) * strengths
    return _box(x, *(1 + most * (0.5 + 0.5 * uniform(x, random)) for _ in range(2)))


def ghost(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Mix with a copy that is moved in any direction."""
    angle, zero = 2 * math.pi * uniform(x, random), torch.zeros_like(strengths)
    right, down = 0.25 * strengths * angle.cos(), 0.25 * strengths * angle.sin()
    rows = [torch.stack([zero + 1, zero, right], 1), torch.stack([zero, zero + 1, down], 1)]
    grid = affine_grid(torch.stack(rows, 1), list(x.shape), align_corners=False)
    return (x + grid_sample(x, grid, padding_mode="reflection", align_corners=False)) / 2


def coarse(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Blur as fewer pixels do that are enlarged smoothly."""
    del random
    step = 1 + _grown(x, 2.5, 7) * strengths
    return _across(x, tent_weights(step, x.shape[2]), tent_weights(step, x.shape[3]))


def few_levels(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Round to a few levels, which begin anywhere."""
    steps = 2.0 ** beside(5 * (1 - strengths), x)
    start = uniform(x, random, 1, 1, 1) - 0.5
    return (torch.round(x * steps + start) - start) / steps


def codec(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Round the Hadamard transform of blocks of 8 x 8 pixels."""
    del random
    n, c, h, w = x.shape
    down, right = -h % BLOCK, -w % BLOCK
    filled = pad(x, (0, right, 0, down), mode="replicate")
    blocks = filled.view(n, c, (h + down) // BLOCK, BLOCK, (w + right) // BLOCK, BLOCK).transpose(3, 4)
    turn = _hadamard(x)
    step = 1e-4 + 0.9 * beside(strengths, blocks)
    blocks = turn.T @ (torch.round(turn @ blocks @ turn.T / step) * step) @ turn
    return blocks.transpose(3, 4).reshape(filled.shape)[:, :, :h, :w]


def halo(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Sharpen too much."""
    del random
    width = torch.full_like(strengths, 1 + 0.05 * min(x.shape[2:]))
    return x + beside(3 * strengths, x) * (x - _box(x, width, width))


def dirt(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Cover parts with soft patches of one tone."""
    patches = 0.6 * _field(x, random, 4) + 0.4 * _field(x, random, 9)
    strength = beside(strengths, x)
    mask = 0.9 * strength.sqrt() * torch.sigmoid(6 * (patches - 0.5) + 3 * (strength - 0.5))
    tone = uniform(x, random, 1, 1, 1) + 0.1 * (uniform(x, random, x.shape[1], 1, 1) - 0.5)
    return x + mask * (tone - x)


def specks(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Strew bright rectangles of a few pixels."""
    at = (uniform(x, random, 1, *x.shape[2:]) < _grown(x, 0.06, 0.05) * beside(strengths, x)).to(x)
    height, width = (1 + _grown(x, 1.5, 5) * uniform(x, random) for _ in range(2))
    mask = (_box(at, height, width) * beside(height * width, x)).clamp(0, 1)
    return x + mask * (0.6 + 0.4 * uniform(x, random, 1, 1, 1) - x)


def lens(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Turn the image, and bend it like a barrel or a cushion."""
    angle, zero = 0.5 * strengths * (2 * uniform(x, random) - 1), torch.zeros_like(strengths)
    rows = [
        torch.stack([angle.cos(), angle.sin(), zero], 1),
        torch.stack([-angle.sin(), angle.cos(), zero], 1),
    ]
    grid = affine_grid(torch.stack(rows, 1), list(x.shape), align_corners=False)  # (n, h, w, 2)
    bend = 0.35 * beside(strengths * signs(x, random), x)
    grid = grid * (1 + bend * (grid.square().sum(3, keepdim=True) - 0.5))
    return grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def _grown(x: Tensor, small: float, large: float) -> float:
    """Return a setting that is `small` up to 32 pixels, `large` at 224, and follows a power beyond 32."""
    return float(small * (large / small) ** max(0.0, math.log(min(x.shape[2:]) / 32, 7)))


def _square(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return where pixels lie, from -1 to 1: (1, 1, h, 1) downwards and (1, 1, 1, w) to the right."""
    down, right = (2 * counted(x, size) / max(1, size - 1) - 1 for size in x.shape[2:])
    return down.view(1, 1, -1, 1), right.view(1, 1, 1, -1)


def _across(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Apply a matrix (n, h, h) to the columns of each image and one (n, w, w) to its rows."""
    return rows[:, None] @ x @ columns[:, None].transpose(2, 3)


def _box(x: Tensor, height: Tensor, width: Tensor) -> Tensor:
    return _across(x, box_weights(height, x.shape[2]), box_weights(width, x.shape[3]))


def _field(x: Tensor, random: Generator, cells: int) -> Tensor:
    """Draw smooth light and shade of about so many patches to a side: (n, 1, h, w)."""
    size = list(x.shape[2:])
    return interpolate(uniform(x, random, 1, cells, cells), size, mode="bicubic", align_corners=False)


def _hadamard(x: Tensor) -> Tensor:
    """Return the orthogonal matrix of Hadamard, (BLOCK, BLOCK)."""
    turn = torch.ones(1, 1, dtype=x.dtype, device=x.device)
    while len(turn) < BLOCK:
        turn = torch.cat([torch.cat([turn, turn], 1), torch.cat([turn, -turn], 1)])
    return turn / math.sqrt(BLOCK)


CAMERA = Library(
    {
        "exposure": Disturbance(
            "light", exposure, "brightness", "A power; black and white stay as they are."
        ),
        "veil": Disturbance("light", veil, "contrast", "Towards any grey, not the image's own mean."),
        "lamp": Disturbance("light", lamp, "brightness", "One side gets lighter, the other darker."),
        "vignette": Disturbance("light", vignette, "brightness", "Corners get darker, the centre stays."),
        "colour_cast": Disturbance("colour", colour_cast, "saturate", "Whole channels move, not saturation."),
        "fade": Disturbance("colour", fade, "saturate", "The grey that colours go to is a random mix."),
        "grain": Disturbance(
            "noise", grain, "gaussian_noise", "Evenly spread values; grains may be large or grey."
        ),
        "banding": Disturbance("noise", banding, "gaussian_noise", "Whole rows or columns move together."),
        "dead_pixels": Disturbance(
            "noise", dead_pixels, "impulse_noise", "Whole pixels, not single colours."
        ),
        "box_blur": Disturbance("blur", box_blur, "defocus_blur", "A rectangle instead of a disc."),
        "ghost": Disturbance("blur", ghost, "motion_blur", "Two images, and nothing between them."),
        "coarse": Disturbance("blur", coarse, "gaussian_blur", "A tent instead of a bell."),
        "few_levels": Disturbance(
            "digital", few_levels, "jpeg_compression", "Values are rounded, not waves."
        ),
        "codec": Disturbance(
            "digital", codec, "jpeg_compression", "Steps instead of cosines, colours apart."
        ),
        "halo": Disturbance("digital", halo, "contrast", "Only fine detail gets more contrast."),
        "dirt": Disturbance("cover", dirt, "spatter", "Soft patches of any tone; no drops, no edges."),
        "specks": Disturbance("cover", specks, "snow", "Upright rectangles; no streaks, no whitening."),
        "lens": Disturbance(
            "warp", lens, "elastic_transform", "The image bends as a whole, not in small parts."
        ),
    },
    axes=4,
    least=0.0,
    most=1.0,
)
"""Images before normalization."""
