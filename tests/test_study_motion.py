"""`leantta eval` on motion windows: every stream and every method, and what does not fit is said."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from leantta.disturbances.motion import MOTION_SHIFTS
from leantta.errors import SettingError
from leantta.methods.parse import METHODS, parse_method
from leantta.models.named import build
from leantta.models.weights import save_weights
from leantta.streams.by_name import STREAMS
from leantta.study import Study, run_study
from motion_files import write_har

if TYPE_CHECKING:
    from running import Run  # at run time the name may be that of another folder's


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    torch.manual_seed(0)
    save_weights(build("motion_cnn"), folder / "motion.safetensors")
    return Study(
        model="motion_cnn",
        weights=folder / "motion.safetensors",
        images=write_har(folder / "har.npz"),
        dataset="har",
        methods=(parse_method("none"), parse_method("leantta")),
        batch_size=8,
        threads=1,
    )


@pytest.mark.parametrize("stream", STREAMS)
def test_every_stream_runs(study: Study, stream: str) -> None:
    asked = replace(study, streams=(stream,), per_cell=2, clean_images=10)
    if STREAMS[stream].needs:
        asked = replace(asked, corruption="noise", severity=3)
    none, lean = run_study(asked)
    assert (none.method, lean.method) == ("none", "leantta:ends")
    assert len(none.labels) == len(lean.labels) > 0
    found = {domain.corruption for domain in none.header.domains}
    assert found <= {"clean", *MOTION_SHIFTS}
    assert found == set(MOTION_SHIFTS) or stream in ("clean", "one_cell")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs(study: Study, method: str) -> None:
    (record,) = run_study(replace(study, methods=(parse_method(method),), streams=("severity5",), per_cell=4))
    assert len(record.predictions) == 4 * len(MOTION_SHIFTS)
    assert record.header.recipe["dataset"] == "har"


def test_what_is_for_images_only_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"--corrupted is a published folder.*; har has none"):
        list(run_study(replace(study, corrupted=tmp_path)))
    with pytest.raises(SettingError, match="unknown corruption 'fog'; known: gain, bias_drift"):
        list(run_study(replace(study, streams=("one_cell",), corruption="fog", severity=1)))


def test_the_command_shows_every_shift(study: Study, run: "Run") -> None:
    done = run(
        *("eval", "--model", "motion_cnn", "--dataset", "har", "--images", study.images),
        *("--weights", study.weights, "--per-cell", 2, "--families", "--threads", 1),
    )
    assert done.returncode == 0, done.stderr
    for name in MOTION_SHIFTS:
        assert name in done.stdout
