"""The paper's table of systems, measured on a Raspberry Pi Zero 2W."""

from typing import NamedTuple


class PaperCell(NamedTuple):
    """Memory as the paper counts it, time and energy of one instance; None where the device could not run."""

    megabytes: float
    seconds: float | None = None
    joules: float | None = None


PAPER: dict[str, dict[tuple[str, str], PaperCell]] = {
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
"""Model -> method and batch size, or int8 -> cell."""
