"""The command to run next says what the trial was told."""

from pathlib import Path

from leantta.data.preprocess import Preprocessing
from leantta.trial.command import convert_command
from leantta.trial.request import Trial

HOW = Preprocessing(resize=256, crop=(224, 200), mean=(0.5, 0.4, 0.3), std=(0.25, 0.25, 0.25))


def trial(model: str | None, **others: object) -> Trial:
    return Trial(images=Path("my photos"), settings=(), model=model, **others)  # type: ignore[arg-type]


def test_what_was_assumed_or_told_is_in_the_command() -> None:
    said = convert_command(trial("my_model.py:build", classes=Path("names.txt")), HOW, assumed=True)
    assert said == (
        "leantta convert my_model.py:build --calibration 'my photos' --classes names.txt --resize 256 "
        "--crop 224x200 --mean 0.5,0.4,0.3 --std 0.25,0.25,0.25 -o my_model.onnx"
    )
    long = Preprocessing(resize=256, side="long", pad=(256, 256), fill=(1, 2, 3))
    said = str(
        convert_command(trial("timm:regnet", preprocessing=long, weights=Path("w.pth")), long, assumed=False)
    )
    assert said == (
        "leantta convert timm:regnet --weights w.pth --calibration 'my photos' --long-side 256 --pad 256x256 "
        "--fill 1,2,3 -o regnet.onnx"
    )


def test_what_the_model_says_itself_is_left_out() -> None:
    said = convert_command(trial("timm:regnet", calibration=Path("train")), HOW, assumed=False)
    assert said == "leantta convert timm:regnet --calibration train -o regnet.onnx"
    assert convert_command(trial(None), HOW, assumed=False) is None
