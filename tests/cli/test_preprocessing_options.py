"""What options and a JSON file say of preprocessing, and that convert, inspect and run follow it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import leantta
from cli.own_model import BUILD
from leantta.cli.preprocessing import preprocessing_options
from leantta.data.preprocess import Preprocessing, fitted
from leantta.errors import SettingError
from running import Run

UNIT = ("--mean", "0.5,0.4,0.3", "--std", "0.2,0.2,0.3")
Asked = Callable[..., tuple[Preprocessing | None, Any]]


@pytest.fixture
def asked() -> Asked:
    """What a command is given for its words; wrong usage is a click error."""

    def parse(*words: object) -> tuple[Preprocessing | None, Any]:
        told: list[Any] = []

        @click.command()
        @preprocessing_options
        @click.option("--mean")
        @click.option("--std")
        def command(preprocessing: Preprocessing | None, mean: Any, std: Any) -> None:
            told.extend((preprocessing, mean, std))

        done = CliRunner().invoke(command, list(map(str, words)), standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return told[0], told[1]

    return parse


def test_every_option_is_in_the_description(asked: Asked) -> None:
    assert asked() == (None, None)
    assert asked(*UNIT) == (None, (0.5, 0.4, 0.3))  # says nothing of how images are fitted
    assert asked("--resize", 256, "--crop", 224)[0] == Preprocessing(resize=256, crop=(224, 224))
    assert asked("--resize", "32x48", "--crop", "20x30")[0] == Preprocessing(resize=(32, 48), crop=(20, 30))
    assert asked(
        *("--long-side", 64, "--pad", 64, "--fill", "1,2,3", "--interpolation", "bicubic"),
        *("--colours", "bgr", "--channels-last", *UNIT),
    )[0] == Preprocessing(
        resize=64,
        side="long",
        pad=(64, 64),
        fill=(1, 2, 3),
        interpolation="bicubic",
        colours="bgr",
        layout="channels_last",
        mean=(0.5, 0.4, 0.3),
        std=(0.2, 0.2, 0.3),
    )


def test_options_go_before_the_file(asked: Asked, tmp_path: Path) -> None:
    file = tmp_path / "how.json"
    file.write_text(json.dumps({"resize": 64, "side": "long", "pad": 64, "mean": [0.1] * 3, "std": [1] * 3}))
    from_file, _ = asked("--preprocess", file)
    assert from_file == Preprocessing(resize=64, side="long", pad=(64, 64), mean=(0.1,) * 3, std=(1,) * 3)
    changed, _ = asked("--preprocess", file, "--resize", 70, *UNIT)
    assert changed is not None
    assert (changed.resize, changed.side, changed.pad) == (70, "short", (64, 64))
    assert changed.mean == (0.5, 0.4, 0.3)


@pytest.mark.parametrize(
    "words", [("--resize", "axb"), ("--crop", "1x2x3"), ("--pad", "-3"), ("--fill", "red")]
)
def test_words_that_mean_nothing_are_wrong_usage(asked: Asked, words: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError):
        asked(*words)
    with pytest.raises(click.UsageError, match="give one"):
        asked("--resize", 3, "--long-side", 3)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--resize", "200", "--crop", "224"), "crop 224 x 224 is larger"),
        (("--resize", "0"), "from 1"),
        (("--crop", "9", "--mean", "123.7,116.3,103.5", "--std", "58,57,57"), "Divide both by 255"),
        (("--colours", "grey", *UNIT), "1 channel"),
    ],
)
def test_what_cannot_be_is_an_error_of_ours(asked: Asked, words: tuple[str, ...], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        asked(*words)


def test_convert_inspect_and_run_do_the_same(run: Run, tmp_path: Path) -> None:
    (tmp_path / "my_model.py").write_text(BUILD)
    (tmp_path / "photos").mkdir()
    draw = np.random.default_rng(0)
    photos = [draw.integers(0, 256, (30 + i, 44, 3), dtype=np.uint8) for i in range(17)]
    for i, photo in enumerate(photos):
        Image.fromarray(photo).save(tmp_path / "photos" / f"{i:02d}.png")
    told = {"resize": 24, "crop": 20, "interpolation": "bicubic", "colours": "bgr"}
    (tmp_path / "how.json").write_text(json.dumps(told))
    asked = ("--calibration", "photos", "--preprocess", "how.json", *UNIT, "--adapt", "none", "-o", "a.onnx")
    done = run("convert", f"{tmp_path / 'my_model.py'}:build", *asked)
    assert done.returncode == 0, done.stderr
    how = Preprocessing.from_json(told)
    with leantta.load("a.onnx") as session:
        assert (session.info.format, session.info.input.preprocessing) == (2, how)
        wanted = session.predict(np.stack([fitted(photo, how) for photo in photos]))
    assert how.described() in run("inspect", "a.onnx").stdout
    stored = json.loads(run("inspect", "a.onnx", "--json").stdout)["input"]
    assert Preprocessing.from_json(stored["preprocessing"]) == how
    lines = run("run", "a.onnx", "photos", "--json").stdout.splitlines()
    assert [int(json.loads(line)["label"]) for line in lines] == wanted.argmax(1).tolist()
    done = run("convert", f"{tmp_path / 'my_model.py'}:build", *asked, "--size", "20,20", "-o", "b.onnx")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: --size")
    assert not Path("b.onnx").exists()
