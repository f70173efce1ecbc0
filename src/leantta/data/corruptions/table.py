"""Every corruption, with its strengths: those of the 32x32 (CIFAR) variant of the benchmark.

ImageNet-C has the same corruptions with other strengths. Larger images work too, but look less damaged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from leantta.data.corruptions.blur import defocus_blur, gaussian_blur, glass_blur, motion_blur, zoom_blur
from leantta.data.corruptions.digital import contrast, elastic_transform, jpeg_compression, pixelate, saturate
from leantta.data.corruptions.draws import Draws
from leantta.data.corruptions.noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from leantta.data.corruptions.pixels import Images
from leantta.data.corruptions.spatter import mud, water
from leantta.data.corruptions.weather import brightness, fog, frost, snow

Level = Callable[[Images, Draws], Images]
"""One corruption at one severity."""


@dataclass(frozen=True)
class Corruption:
    """A way to damage an image, at the severities 1 to 5."""

    levels: tuple[Level, Level, Level, Level, Level]
    random: bool = True  # False: the seed changes nothing


CORRUPTIONS: Mapping[str, Corruption] = {
    "gaussian_noise": Corruption(
        (
            partial(gaussian_noise, deviation=0.04),
            partial(gaussian_noise, deviation=0.06),
            partial(gaussian_noise, deviation=0.08),
            partial(gaussian_noise, deviation=0.09),
            partial(gaussian_noise, deviation=0.10),
        )
    ),
    "shot_noise": Corruption(
        (
            partial(shot_noise, photons=500),
            partial(shot_noise, photons=250),
            partial(shot_noise, photons=100),
            partial(shot_noise, photons=75),
            partial(shot_noise, photons=50),
        )
    ),
    "impulse_noise": Corruption(
        (
            partial(impulse_noise, share=0.01),
            partial(impulse_noise, share=0.02),
            partial(impulse_noise, share=0.03),
            partial(impulse_noise, share=0.05),
            partial(impulse_noise, share=0.07),
        )
    ),
    "defocus_blur": Corruption(
        (
            partial(defocus_blur, radius=0.3, softness=0.4),
            partial(defocus_blur, radius=0.4, softness=0.5),
            partial(defocus_blur, radius=0.5, softness=0.6),
            partial(defocus_blur, radius=1.0, softness=0.2),
            partial(defocus_blur, radius=1.5, softness=0.1),
        ),
        random=False,
    ),
    "glass_blur": Corruption(
        (
            partial(glass_blur, sigma=0.05, rounds=1),
            partial(glass_blur, sigma=0.25, rounds=1),
            partial(glass_blur, sigma=0.4, rounds=1),
            partial(glass_blur, sigma=0.25, rounds=2),
            partial(glass_blur, sigma=0.4, rounds=2),
        )
    ),
    "motion_blur": Corruption(
        (
            partial(motion_blur, radius=6, sigma=1.0),
            partial(motion_blur, radius=6, sigma=1.5),
            partial(motion_blur, radius=6, sigma=2.0),
            partial(motion_blur, radius=8, sigma=2.0),
            partial(motion_blur, radius=9, sigma=2.5),
        )
    ),
    "zoom_blur": Corruption(
        (
            partial(zoom_blur, below=1.06),
            partial(zoom_blur, below=1.11),
            partial(zoom_blur, below=1.16),
            partial(zoom_blur, below=1.21),
            partial(zoom_blur, below=1.26),
        ),
        random=False,
    ),
    "snow": Corruption(
        (
            partial(snow, density=0.1, spread=0.2, size=1.0, threshold=0.6, radius=8, sigma=3, daylight=0.95),
            partial(snow, density=0.1, spread=0.2, size=1.0, threshold=0.5, radius=10, sigma=4, daylight=0.9),
            partial(
                snow, density=0.15, spread=0.3, size=1.75, threshold=0.55, radius=10, sigma=4, daylight=0.9
            ),
            partial(
                snow, density=0.25, spread=0.3, size=2.25, threshold=0.6, radius=12, sigma=6, daylight=0.85
            ),
            partial(
                snow, density=0.3, spread=0.3, size=1.25, threshold=0.65, radius=14, sigma=12, daylight=0.8
            ),
        )
    ),
    "frost": Corruption(
        (
            partial(frost, scene=1.0, ice=0.2),
            partial(frost, scene=1.0, ice=0.3),
            partial(frost, scene=0.9, ice=0.4),
            partial(frost, scene=0.85, ice=0.4),
            partial(frost, scene=0.75, ice=0.45),
        )
    ),
    "fog": Corruption(
        (
            partial(fog, thickness=0.2, decay=3.0),
            partial(fog, thickness=0.5, decay=3.0),
            partial(fog, thickness=0.75, decay=2.5),
            partial(fog, thickness=1.0, decay=2.0),
            partial(fog, thickness=1.5, decay=1.75),
        )
    ),
    "brightness": Corruption(
        (
            partial(brightness, amount=0.05),
            partial(brightness, amount=0.1),
            partial(brightness, amount=0.15),
            partial(brightness, amount=0.2),
            partial(brightness, amount=0.3),
        ),
        random=False,
    ),
    "contrast": Corruption(
        (
            partial(contrast, kept=0.75),
            partial(contrast, kept=0.5),
            partial(contrast, kept=0.4),
            partial(contrast, kept=0.3),
            partial(contrast, kept=0.15),
        ),
        random=False,
    ),
    "elastic_transform": Corruption(
        (
            partial(elastic_transform, stretch=0.0, sigma=0.0, tilt=2.56),
            partial(elastic_transform, stretch=1.6, sigma=6.4, tilt=2.24),
            partial(elastic_transform, stretch=2.56, sigma=1.92, tilt=1.92),
            partial(elastic_transform, stretch=3.2, sigma=1.28, tilt=1.6),
            partial(elastic_transform, stretch=3.2, sigma=0.96, tilt=0.96),
        )
    ),
    "pixelate": Corruption(
        (
            partial(pixelate, scale=0.95),
            partial(pixelate, scale=0.9),
            partial(pixelate, scale=0.85),
            partial(pixelate, scale=0.75),
            partial(pixelate, scale=0.65),
        ),
        random=False,
    ),
    "jpeg_compression": Corruption(
        (
            partial(jpeg_compression, quality=80),
            partial(jpeg_compression, quality=65),
            partial(jpeg_compression, quality=58),
            partial(jpeg_compression, quality=50),
            partial(jpeg_compression, quality=40),
        ),
        random=False,
    ),
    "speckle_noise": Corruption(
        (
            partial(speckle_noise, deviation=0.06),
            partial(speckle_noise, deviation=0.1),
            partial(speckle_noise, deviation=0.12),
            partial(speckle_noise, deviation=0.16),
            partial(speckle_noise, deviation=0.2),
        )
    ),
    "gaussian_blur": Corruption(
        (
            partial(gaussian_blur, sigma=0.4),
            partial(gaussian_blur, sigma=0.6),
            partial(gaussian_blur, sigma=0.7),
            partial(gaussian_blur, sigma=0.8),
            partial(gaussian_blur, sigma=1.0),
        ),
        random=False,
    ),
    "spatter": Corruption(
        (
            partial(water, mean=0.62, deviation=0.1, sigma=0.7, threshold=0.7, strength=0.5),
            partial(water, mean=0.65, deviation=0.1, sigma=0.8, threshold=0.7, strength=0.5),
            partial(water, mean=0.65, deviation=0.3, sigma=1.0, threshold=0.69, strength=0.5),
            partial(mud, mean=0.65, deviation=0.1, sigma=0.7, threshold=0.69, softness=0.6),
            partial(mud, mean=0.65, deviation=0.1, sigma=0.5, threshold=0.68, softness=0.6),
        )
    ),
    "saturate": Corruption(
        (
            partial(saturate, factor=0.3, offset=0.0),
            partial(saturate, factor=0.1, offset=0.0),
            partial(saturate, factor=1.5, offset=0.0),
            partial(saturate, factor=2.0, offset=0.1),
            partial(saturate, factor=2.5, offset=0.2),
        ),
        random=False,
    ),
}
