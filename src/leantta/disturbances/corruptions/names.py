"""The names of the benchmark's corruptions, without the code that makes them: a report needs no more."""

from collections.abc import Mapping

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    "extra": ("speckle_noise", "gaussian_blur", "spatter", "saturate"),
}
"""The benchmark's groups; "extra" are its four for validation."""

NAMES = tuple(name for members in FAMILIES.values() for name in members)
"""All 19, in the benchmark's order."""

SEVERITIES = (1, 2, 3, 4, 5)

EDITION = 1
"""Counts the times that the same seed came to give other images: older records are then not gone on with.

tests/data/corruptions/test_golden.py fails when the images change; raise this number and remake its file.
"""
