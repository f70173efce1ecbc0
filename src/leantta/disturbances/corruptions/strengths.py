"""Every corruption, with its strengths: one table for small images and one for large ones.

The benchmark has the same corruptions at two scales: CIFAR-C for 32x32 pixels, ImageNet-C for 224x224.
Lengths are in pixels of these. Other sizes take the numbers of their table as they are.
"""

from collections.abc import Callable, Mapping

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.blur import (
    defocus_blur,
    gaussian_blur,
    glass_blur,
    motion_blur,
    zoom_blur,
)
from leantta.disturbances.corruptions.digital import (
    contrast,
    elastic_transform,
    jpeg_compression,
    pixelate,
    saturate,
)
from leantta.disturbances.corruptions.ice import Grain
from leantta.disturbances.corruptions.noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from leantta.disturbances.corruptions.pixels import Images
from leantta.disturbances.corruptions.spatter import mud, water
from leantta.disturbances.corruptions.weather import brightness, fog, frost, snow
from leantta.disturbances.levels import Disturbance, levels

Corruption = Disturbance[Callable[[Images, Draws], Images]]

CIFAR_C: Mapping[str, Corruption] = {
    "gaussian_noise": Corruption(levels(gaussian_noise, deviation=(0.04, 0.06, 0.08, 0.09, 0.10))),
    "shot_noise": Corruption(levels(shot_noise, photons=(500, 250, 100, 75, 50))),
    "impulse_noise": Corruption(levels(impulse_noise, share=(0.01, 0.02, 0.03, 0.05, 0.07))),
    "defocus_blur": Corruption(
        levels(defocus_blur, radius=(0.3, 0.4, 0.5, 1.0, 1.5), softness=(0.4, 0.5, 0.6, 0.2, 0.1)),
        random=False,
    ),
    "glass_blur": Corruption(
        levels(glass_blur, sigma=(0.05, 0.25, 0.4, 0.25, 0.4), rounds=(1, 1, 1, 2, 2), reach=(1,) * 5)
    ),
    "motion_blur": Corruption(levels(motion_blur, radius=(6, 6, 6, 8, 9), sigma=(1.0, 1.5, 2.0, 2.0, 2.5))),
    "zoom_blur": Corruption(
        levels(zoom_blur, below=(1.06, 1.11, 1.16, 1.21, 1.26), step=(0.01,) * 5), random=False
    ),
    "snow": Corruption(
        levels(
            snow,
            density=(0.1, 0.1, 0.15, 0.25, 0.3),
            spread=(0.2, 0.2, 0.3, 0.3, 0.3),
            size=(1.0, 1.0, 1.75, 2.25, 1.25),
            threshold=(0.6, 0.5, 0.55, 0.6, 0.65),
            radius=(8, 10, 10, 12, 14),
            sigma=(3, 4, 4, 6, 12),
            daylight=(0.95, 0.9, 0.9, 0.85, 0.8),
        )
    ),
    "frost": Corruption(
        levels(
            frost,
            scene=(1.0, 1.0, 0.9, 0.85, 0.75),
            ice=(0.2, 0.3, 0.4, 0.4, 0.45),
            grain=(Grain.COARSE,) * 5,
        )
    ),
    "fog": Corruption(levels(fog, thickness=(0.2, 0.5, 0.75, 1.0, 1.5), decay=(3.0, 3.0, 2.5, 2.0, 1.75))),
    "brightness": Corruption(levels(brightness, amount=(0.05, 0.1, 0.15, 0.2, 0.3)), random=False),
    "contrast": Corruption(levels(contrast, kept=(0.75, 0.5, 0.4, 0.3, 0.15)), random=False),
    "elastic_transform": Corruption(
        levels(
            elastic_transform,
            stretch=(0.0, 1.6, 2.56, 3.2, 3.2),
            sigma=(0.0, 6.4, 1.92, 1.28, 0.96),
            tilt=(2.56, 2.24, 1.92, 1.6, 0.96),
        )
    ),
    "pixelate": Corruption(levels(pixelate, scale=(0.95, 0.9, 0.85, 0.75, 0.65)), random=False),
    "jpeg_compression": Corruption(levels(jpeg_compression, quality=(80, 65, 58, 50, 40)), random=False),
    "speckle_noise": Corruption(levels(speckle_noise, deviation=(0.06, 0.1, 0.12, 0.16, 0.2))),
    "gaussian_blur": Corruption(levels(gaussian_blur, sigma=(0.4, 0.6, 0.7, 0.8, 1.0)), random=False),
    "spatter": Corruption(
        (
            *levels(
                water,
                mean=(0.62, 0.65, 0.65),
                deviation=(0.1, 0.1, 0.3),
                sigma=(0.7, 0.8, 1.0),
                threshold=(0.7, 0.7, 0.69),
                strength=(0.5, 0.5, 0.5),
                slack=(0.0, 0.0, 0.0),
            ),
            *levels(
                mud,
                mean=(0.65, 0.65),
                deviation=(0.1, 0.1),
                sigma=(0.7, 0.5),
                threshold=(0.69, 0.68),
                softness=(0.6, 0.6),
            ),
        )
    ),
    "saturate": Corruption(
        levels(saturate, factor=(0.3, 0.1, 1.5, 2.0, 2.5), offset=(0.0, 0.0, 0.0, 0.1, 0.2)), random=False
    ),
}
"""For images of 32x32 pixels."""

IMAGENET_C: Mapping[str, Corruption] = {
    "gaussian_noise": Corruption(levels(gaussian_noise, deviation=(0.08, 0.12, 0.18, 0.26, 0.38))),
    "shot_noise": Corruption(levels(shot_noise, photons=(60, 25, 12, 5, 3))),
    "impulse_noise": Corruption(levels(impulse_noise, share=(0.03, 0.06, 0.09, 0.17, 0.27))),
    "defocus_blur": Corruption(
        levels(defocus_blur, radius=(3, 4, 6, 8, 10), softness=(0.1, 0.5, 0.5, 0.5, 0.5)), random=False
    ),
    "glass_blur": Corruption(
        levels(glass_blur, sigma=(0.7, 0.9, 1.0, 1.1, 1.5), rounds=(2, 1, 3, 2, 2), reach=(1, 2, 2, 3, 4))
    ),
    "motion_blur": Corruption(levels(motion_blur, radius=(10, 15, 15, 15, 20), sigma=(3, 5, 8, 12, 15))),
    "zoom_blur": Corruption(
        levels(zoom_blur, below=(1.11, 1.16, 1.21, 1.26, 1.31), step=(0.01, 0.01, 0.02, 0.02, 0.03)),
        random=False,
    ),
    "snow": Corruption(
        levels(
            snow,
            density=(0.1, 0.2, 0.55, 0.55, 0.55),
            spread=(0.3, 0.3, 0.3, 0.3, 0.3),
            size=(3.0, 2.0, 4.0, 4.5, 2.5),
            threshold=(0.5, 0.5, 0.9, 0.85, 0.85),
            radius=(10, 12, 12, 12, 12),
            sigma=(4, 4, 8, 8, 12),
            daylight=(0.8, 0.7, 0.7, 0.65, 0.55),
        )
    ),
    "frost": Corruption(
        levels(
            frost,
            scene=(1.0, 0.8, 0.7, 0.65, 0.6),
            ice=(0.4, 0.6, 0.7, 0.7, 0.75),
            grain=(Grain.FINE,) * 5,
        )
    ),
    "fog": Corruption(levels(fog, thickness=(1.5, 2.0, 2.5, 2.5, 3.0), decay=(2.0, 2.0, 1.7, 1.5, 1.4))),
    "brightness": Corruption(levels(brightness, amount=(0.1, 0.2, 0.3, 0.4, 0.5)), random=False),
    "contrast": Corruption(levels(contrast, kept=(0.4, 0.3, 0.2, 0.1, 0.05)), random=False),
    "elastic_transform": Corruption(
        levels(
            elastic_transform,
            stretch=(488.0, 488.0, 12.2, 17.08, 29.28),
            sigma=(170.8, 19.52, 2.44, 2.44, 2.44),
            tilt=(24.4, 48.8, 4.88, 4.88, 4.88),
        )
    ),
    "pixelate": Corruption(levels(pixelate, scale=(0.6, 0.5, 0.4, 0.3, 0.25)), random=False),
    "jpeg_compression": Corruption(levels(jpeg_compression, quality=(25, 18, 15, 10, 7)), random=False),
    "speckle_noise": Corruption(levels(speckle_noise, deviation=(0.15, 0.2, 0.35, 0.45, 0.6))),
    "gaussian_blur": Corruption(levels(gaussian_blur, sigma=(1, 2, 3, 4, 6)), random=False),
    "spatter": Corruption(
        (
            *levels(
                water,
                mean=(0.65, 0.65, 0.65),
                deviation=(0.3, 0.3, 0.3),
                sigma=(4, 3, 2),
                threshold=(0.69, 0.68, 0.68),
                strength=(0.6, 0.6, 0.5),
                slack=(1e-6, 1e-6, 1e-6),
            ),
            *levels(
                mud,
                mean=(0.65, 0.67),
                deviation=(0.3, 0.4),
                sigma=(1, 1),
                threshold=(0.65, 0.65),
                softness=(1.5, 1.5),
            ),
        )
    ),
    "saturate": Corruption(
        levels(saturate, factor=(0.3, 0.1, 2, 5, 20), offset=(0.0, 0.0, 0.0, 0.1, 0.2)), random=False
    ),
}
"""For images of 224x224 pixels."""

LARGE = 64
"""Pixels on the shorter side from which on an image is large: twice the small benchmark's."""


def is_large(height: int, width: int) -> bool:
    """Return whether images of this size take the strengths of ImageNet-C.

    >>> is_large(32, 32), is_large(64, 48), is_large(224, 224)
    (False, False, True)
    """
    return min(height, width) >= LARGE


def strengths_for(height: int, width: int) -> Mapping[str, Corruption]:
    """Return the table for images of this size.

    >>> strengths_for(224, 224) is IMAGENET_C
    True
    """
    return IMAGENET_C if is_large(height, width) else CIFAR_C
