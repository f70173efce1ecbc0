"""`leantta train` as a person uses it: stopped, gone on with, and evaluated."""

import subprocess
import sys

import numpy as np
import pytest

from leantta.errors import CheckpointError
from leantta.models.named import build
from leantta.models.weights import load_weights, save_weights
from leantta_lab.training.request import uses_bf16


@pytest.fixture
def images(sample, tmp_path):
    with np.load(sample) as found:
        content = {name: found[name][:48] for name in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(tmp_path / "few.npz", **content)
    return tmp_path / "few.npz"


def leantta(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "leantta", *map(str, words)], cwd=cwd, capture_output=True, text=True
    )


def test_train_writes_weights_and_their_card(images, tmp_path):
    start = tmp_path / "start.safetensors"
    save_weights(build("resnet18", num_classes=100), start)
    done = leantta(
        *("train", "resnet18", "--images", images, "--init", start),
        *("--epochs", 2, "--small", "16:1", "--batch-size", 16, "--lr", 0.01, "--threads", 1),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    weights = tmp_path / "weights" / "resnet18_cifar10.safetensors"
    load_weights(build("resnet18"), weights)
    card = weights.with_suffix(".md").read_text()
    for words in (
        "48 training images",
        "accuracy, test images, not adapting",
        "] of 48",
        'pipeline_tag: "image-classification"',
        "`start.safetensors`",
        "2, 1 on images of 16 pixels a side, the rest in full size",
        "leantta train",
    ):
        assert words in card
    assert "loss" in done.stderr
    assert [path.name for path in weights.parent.iterdir() if "training" in path.name] == []


def test_a_card_tells_of_teacher_average_and_mixup(images, tmp_path):
    done = leantta(
        *("train", "mobilenet_v2", "--images", images, "--teacher", "resnet18", "--epochs", 1),
        *("--small", "8:1", "--batch-size", 16, "--lr", 0.01, "--threads", 1),
        *("--mixup", 0.2, "--average", 0.99, "--cutout", 4),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "weights" / "mobilenet_v2_cifar10.md").read_text()
    for words in ("resnet18, 0.7 of the loss", "0.99 a step", "mixup with alpha 0.2", "cutout of 4 pixels"):
        assert words in card


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("vggish", "--dataset", "cifar10"),
            "vggish takes inputs of shape (1, 240, 64); cifar10 has 3 channels",
        ),
        (("resnet18", "--taught", "0.5"), "no teacher, and a share of 0.5"),
        (("resnet18", "--init", "nowhere"), "no checkpoint at nowhere"),
        (("resnet18", "--batch-size", "64"), "48 images are less than one batch"),
    ],
)
def test_wrong_requests_end_with_one_line(words, message, images, run):
    code, _, errors = run("train", *words, "--images", images)
    assert code == 1
    assert message in errors
    assert errors.count("\n") == 1


def test_a_new_head_takes_all_but_the_last_layer(tmp_path):
    file = tmp_path / "hundred.safetensors"
    source = build("mobilenet_v2", num_classes=100)
    save_weights(source, file)
    model = build("mobilenet_v2")
    head, first = "classifier.1.weight", "features.0.0.weight"
    fresh = model.state_dict()[head].clone()
    with pytest.raises(CheckpointError, match="num_classes=100"):
        load_weights(model, file)
    load_weights(model, file, new_head=True)
    assert (model.state_dict()[head] == fresh).all()
    assert (model.state_dict()[first] == source.state_dict()[first].half().float()).all()
    with pytest.raises(CheckpointError, match="another model"):
        load_weights(build("resnet18"), file, new_head=True)


@pytest.mark.parametrize(
    ("flags", "expected"), [("fpu avx2", False), ("avx512f avx512_bf16", True), ("asimd bf16", True)]
)
def test_bf16_is_used_where_the_processor_has_it(flags, expected, tmp_path):
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
    assert uses_bf16("auto", tmp_path / "cpuinfo") is expected
    assert uses_bf16("auto", tmp_path / "missing") is False
