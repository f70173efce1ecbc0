"""The paper's tables: means in percent, without their deviations, by method and variant."""

from collections.abc import Mapping
from typing import NamedTuple

Cells = Mapping[tuple[str, str], tuple[float, ...]]

_PLAIN: Cells = {
    ("None", "batch 1"): (76.3, 67.0, 76.3, 67.0, 51.4, 40.7, 51.4, 40.7),
    ("None", "int8"): (75.9, 66.4, 75.9, 66.4, 51.6, 40.4, 51.6, 40.4),
    ("LeanTTA", "batch 1"): (79.1, 73.5, 79.1, 73.5, 54.1, 41.2, 54.1, 41.2),
    ("LeanTTA", "int8"): (78.8, 72.3, 78.8, 72.3, 54.4, 40.0, 54.4, 40.0),
}

STREAM_COLUMNS = tuple(
    (dataset, stream, model)
    for dataset in ("cifar10", "cifar100")
    for stream in ("abrupt", "gradual")
    for model in ("resnet18", "mobilenet_v2")
)
"""What the columns of the next two are."""

ABRUPT_GRADUAL: Cells = {
    **_PLAIN,
    ("RealisticTTA", "batch 1"): (63.4, 46.2, 78.1, 68.4, 42.1, 28.0, 51.2, 32.7),
    ("Tent", "batch 1"): (9.8, 12.3, 9.0, 14.0, 0.0, 0.002, 0.0, 0.0),
    ("EATA", "batch 1"): (9.0, 13.5, 8.96, 13.4, 0.18, 0.44, 0.18, 0.49),
    ("CoTTA", "batch 1"): (9.0, 9.6, 9.0, 9.78, 0.77, 0.0, 0.75, 0.0),
}

BATCHES: Cells = {
    **_PLAIN,
    ("Tent", "batch 16"): (43.7, 19.9, 49.3, 35.2, 51.0, 42.77, 64.3, 51.2),
    ("Tent", "batch 64"): (69.6, 52.6, 78.4, 66.6, 53.9, 44.83, 68.5, 58.2),
    ("EATA", "batch 16"): (54.2, 62.8, 68.4, 61.6, 50.4, 39.5, 63.2, 51.2),
    ("EATA", "batch 64"): (75.3, 65.8, 83.0, 79.6, 49.8, 39.76, 62.9, 52.5),
    ("CoTTA", "batch 16"): (56.8, 50.4, 58.0, 51.9, 29.0, 23.17, 31.8, 22.8),
    ("CoTTA", "batch 64"): (58.8, 51.9, 64.7, 56.5, 32.2, 27.8, 36.1, 30.4),
}

FUSION_MS: Mapping[str, Mapping[str, float]] = {
    "resnet18": {"fp32": 10.09, "int8": 2.26, "none fused": 8.81, "half fused": 4.84, "all fused": 1.82},
    "mobilenet_v2": {
        "fp32": 7.02,
        "int8": 4.77,
        "none fused": 29.70,
        "half fused": 13.06,
        "all fused": 3.55,
    },
}
"""Milliseconds per image on an AMD Ryzen 7 3700X with FBGEMM."""

MOBILEVIT: Cells = {
    ("None", "batch 1"): (72.0,),
    ("LeanTTA", "all"): (73.8,),
    ("LeanTTA", "first 8"): (75.3,),
    ("LeanTTA", "first 16"): (75.6,),
    ("LeanTTA", "first 24"): (74.8,),
    ("Tent", "batch 64"): (75.2,),
    ("Tent", "batch 16"): (69.8,),
    ("EATA", "batch 64"): (74.2,),
    ("EATA", "batch 16"): (71.1,),
    ("CoTTA", "batch 64"): (60.9,),
    ("CoTTA", "batch 16"): (57.7,),
    ("RealisticTTA", "batch 2"): (15.5,),
}

BIRDS: Cells = {
    ("None", "batch 1"): (71.1,),
    ("None", "int8"): (70.1,),
    ("RealisticTTA", "batch 1"): (66.2,),
    ("Tent", "batch 1"): (47.1,),
    ("Tent", "batch 16"): (71.0,),
    ("Tent", "batch 64"): (73.2,),
    ("EATA", "batch 1"): (44.1,),
    ("EATA", "batch 16"): (69.0,),
    ("EATA", "batch 64"): (69.1,),
    ("CoTTA", "batch 1"): (45.4,),
    ("CoTTA", "batch 16"): (51.9,),
    ("CoTTA", "batch 64"): (59.1,),
    ("LeanTTA", "batch 1"): (72.5,),
    ("LeanTTA", "int8"): (71.7,),
}
"""Weighted F1."""

_SEVERITY5_COLUMNS = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur"),
    *("zoom_blur", "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate"),
    *("jpeg_compression", "gaussian_blur", "saturate", "spatter", "speckle_noise"),
)

_SEVERITY5: Cells = {
    ("None", "batch 1"): (
        *(13.91, 17.34, 17.02, 53.04, 42.8, 62.02, 59.33, 72.66, 58.39, 67.48),
        *(88.31, 19.74, 70.5, 46.33, 69.03, 36.71, 84.01, 79.46, 22.16),
    ),
    ("None", "int8"): (
        *(13.61, 16.77, 17.88, 52.44, 43.49, 58.59, 59.76, 72.1, 58.89, 63.71),
        *(88.35, 17.16, 68.99, 46.83, 70.44, 36.83, 83.29, 78.57, 21.69),
    ),
    ("RealisticTTA", "first 1,000"): (
        *(39.92, 42.3, 35.92, 66.1, 44.58, 64.76, 63.76, 59.32, 59.42, 65.7),
        *(68.38, 62.9, 54.08, 56.96, 46.46, 65.06, 68.9, 59.74, 42.42),
    ),
    ("RealisticTTA", "second 1,000"): (
        *(43.3, 44.86, 40.1, 73.97, 49.97, 70.11, 69.63, 65.37, 65.17, 72.49),
        *(76.36, 71.39, 59.02, 62.28, 51.77, 72.53, 75.96, 64.9, 46.89),
    ),
    ("Tent", "batch 1"): (
        *(9.97, 11.13, 10.07, 9.75, 9.97, 9.71, 9.97, 10.25, 9.51, 9.91),
        *(9.65, 9.65, 9.99, 9.75, 10.15, 10.51, 9.03, 10.43, 9.97),
    ),
    ("Tent", "batch 16"): (
        *(43.25, 46.17, 42.58, 64.19, 43.97, 59.27, 63.06, 56.71, 56.67, 61.11),
        *(66.69, 59.54, 52.26, 56.79, 50.44, 62.56, 69.98, 62.66, 46.85),
    ),
    ("Tent", "batch 64"): (
        *(59.24, 58.73, 53.55, 80.12, 56.95, 75.53, 79.26, 74.86, 72.01, 78.87),
        *(82.71, 78.24, 67.4, 72.77, 63.01, 81.11, 83.85, 75.86, 58.44),
    ),
    ("EATA", "batch 1"): (
        *(10.67, 10.29, 9.97, 12.69, 10.89, 12.51, 11.97, 11.75, 12.11, 12.57),
        *(12.07, 12.51, 11.79, 12.39, 11.19, 12.19, 12.85, 12.35, 9.79),
    ),
    ("EATA", "batch 16"): (
        *(47.38, 46.33, 41.63, 72.66, 47.5, 69.86, 72.38, 66.13, 62.1, 70.69),
        *(76.01, 70.28, 59.05, 64.58, 57.58, 72.02, 79.8, 65.34, 47.64),
    ),
    ("EATA", "batch 64"): (
        *(57.44, 60.06, 54.37, 84.49, 62.46, 81.05, 82.71, 75.23, 74.53, 82.85),
        *(87.07, 81.64, 71.02, 74.18, 66.8, 83.71, 86.29, 76.86, 60.0),
    ),
    ("CoTTA", "batch 1"): (
        *(9.31, 9.97, 10.37, 12.15, 10.61, 10.77, 10.95, 10.89, 10.27, 11.35),
        *(11.97, 11.53, 11.35, 10.71, 11.07, 11.31, 12.03, 11.75, 9.83),
    ),
    ("CoTTA", "batch 16"): (
        *(49.86, 46.29, 53.61, 53.55, 43.35, 53.17, 54.74, 58.29, 62.34, 47.52),
        *(68.91, 50.95, 48.21, 52.76, 54.05, 53.37, 62.66, 58.97, 43.13),
    ),
    ("LeanTTA", "batch 1"): (
        *(32.59, 38.52, 43.5, 72.19, 52.27, 74.73, 72.29, 77.94, 74.73, 77.86),
        *(88.75, 47.45, 68.47, 55.12, 64.56, 60.02, 86.81, 78.68, 45.13),
    ),
    ("LeanTTA", "int8"): (
        *(30.61, 37.42, 42.24, 68.67, 50.11, 71.33, 70.21, 77.8, 72.43, 76.82),
        *(89.39, 36.66, 66.25, 54.93, 65.23, 58.46, 86.27, 77.1, 44.36),
    ),
}

SEVERITY5: Mapping[tuple[str, str], Mapping[str, float]] = {
    key: dict(zip(_SEVERITY5_COLUMNS, values, strict=True)) for key, values in _SEVERITY5.items()
}
"""ResNet18 on CIFAR-10-C, by corruption."""


class PaperCell(NamedTuple):
    """Memory as the paper counts it, time and energy of one instance; None where the device could not run."""

    megabytes: float
    seconds: float | None = None
    joules: float | None = None


PAPER_SYSTEMS: dict[str, dict[tuple[str, str], PaperCell]] = {
    "vggish": {
        ("None", "1"): PaperCell(18.7, 1.46, 4),
        ("None", "int8"): PaperCell(4.77, 0.48, 1),
        ("RealisticTTA", "1"): PaperCell(18.7, 4.13, 10),
        ("Tent", "1"): PaperCell(78.2, 2.59, 6),
        ("Tent", "16"): PaperCell(306.8),
        ("Tent", "64"): PaperCell(1038.2),
        ("EATA", "1"): PaperCell(63.5, 1.52, 3),
        ("EATA", "16"): PaperCell(292.0),
        ("EATA", "64"): PaperCell(1023.4),
        ("CoTTA", "1"): PaperCell(263.8, 55.31, 74),
        ("CoTTA", "16"): PaperCell(1098.8),
        ("CoTTA", "64"): PaperCell(3770.9),
        ("LeanTTA", "1"): PaperCell(18.7, 1.54, 2),
        ("LeanTTA", "int8"): PaperCell(4.77, 0.85, 1),
    },
    "resnet18": {
        ("None", "1"): PaperCell(44.7, 0.113, 0.3),
        ("None", "int8"): PaperCell(11.2, 0.159, 0.4),
        ("RealisticTTA", "1"): PaperCell(44.7, 3.89, 8.6),
        ("Tent", "1"): PaperCell(48.0, 0.319, 0.8),
        ("Tent", "16"): PaperCell(60.7, 0.402, 0.9),
        ("Tent", "64"): PaperCell(101.1, 0.830, 1),
        ("EATA", "1"): PaperCell(47.2, 0.147, 0.4),
        ("EATA", "16"): PaperCell(59.8, 0.088, 0.2),
        ("EATA", "64"): PaperCell(100.3, 0.442, 0.8),
        ("CoTTA", "1"): PaperCell(279.8, 53.9, 70),
        ("CoTTA", "16"): PaperCell(340.6, 7.31, 12),
        ("CoTTA", "64"): PaperCell(535.2, 5.78, 11),
        ("LeanTTA", "1"): PaperCell(44.7, 0.205, 0.6),
        ("LeanTTA", "int8"): PaperCell(11.2, 0.185, 0.5),
    },
    "mobilenet_v2": {
        ("None", "1"): PaperCell(8.95, 0.18, 0.5),
        ("None", "int8"): PaperCell(2.24, 0.50, 1),
        ("RealisticTTA", "1"): PaperCell(8.95, 19.6, 46),
        ("Tent", "1"): PaperCell(36.0, 0.45, 1),
        ("Tent", "16"): PaperCell(138.4, 4.4, 5),
        ("Tent", "64"): PaperCell(466.1),
        ("EATA", "1"): PaperCell(29.3, 0.219, 0.6),
        ("EATA", "16"): PaperCell(131.7, 3.44, 4),
        ("EATA", "64"): PaperCell(459.4),
        ("CoTTA", "1"): PaperCell(152.4, 14.8, 25),
        ("CoTTA", "16"): PaperCell(652.7, 14.78, 27),
        ("CoTTA", "64"): PaperCell(2253.5),
        ("LeanTTA", "1"): PaperCell(8.95, 0.531, 1),
        ("LeanTTA", "int8"): PaperCell(2.24, 0.947, 2),
    },
}
"""The table of systems, of a Raspberry Pi Zero 2W: model -> method and batch size, or int8 -> cell."""
