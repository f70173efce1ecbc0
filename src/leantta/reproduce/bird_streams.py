"""Runs of VGGish, trained on ESC-50, over its test clips, shifted or not, and over another corpus."""

from collections.abc import Mapping

from leantta.data.corruptions.names import SEVERITIES
from leantta.data.sound_shifts.table import SOUND_SHIFTS
from leantta.reproduce.protocol import Row, run_of
from leantta.reproduce.run_record import Run
from leantta.reproduce.target import Scale, Setting

MODEL = "vggish"

CELLS = len(SOUND_SHIFTS) * len(SEVERITIES)

HEARD: Mapping[str, tuple[str, str, Mapping[Scale, int], int]] = {
    "clean": ("esc50", "clean", {"quick": 124, "full": 124}, 1),
    "abrupt": ("esc50", "abrupt", {"quick": 4, "full": 25}, CELLS),
    "gradual": ("esc50", "gradual", {"quick": 2, "full": 25}, 2 * CELLS),
    "other corpus": ("capuchin", "clean", {"quick": 217, "full": 434}, 1),
}
"""Each column: the dataset, the stream, how many clips of a cell or step, and how many of these there are."""


def stream_run(setting: Setting, column: str, row: Row, seed: int) -> Run:
    """Return the run of a row over what a column hears."""
    dataset, stream, clips, steps = HEARD[column]
    return run_of(setting, row, seed, MODEL, dataset, stream, clips[setting.scale], steps)
