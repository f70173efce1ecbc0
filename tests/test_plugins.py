"""Names that other packages bring: the laboratory's, and those of a package of the user's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leantta import plugins
from leantta.errors import SettingError

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli", reason="reads pyproject.toml")

LAB = Path(__file__).resolve().parents[1] / "lab" / "pyproject.toml"

OWN_PACKAGE = """
import click
import numpy as np
from torch import nn

from leantta.data.datasets import Dataset
from leantta.methods.method import Method, MethodEntry
from leantta.modalities.datasets import DatasetInfo
from leantta.models.named import ModelEntry


def network(classes):
    features = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(*features, nn.Linear(4, classes))


def load(path, name, split):
    images = np.random.default_rng(0).integers(0, 256, (8, 16, 16, 3), dtype=np.uint8)
    return Dataset.checked(name, split, images, np.arange(8) % 2, ("cat", "dog"))


class AlwaysDog:
    stateless = True

    def predict(self, images):
        return np.tile(np.array([0.0, 1.0], np.float32), (len(images), 1))

    def reset(self):
        pass


def parse(text, options):
    return Method(label="dog", settings=lambda classes: {"told": text}, build=lambda source: AlwaysDog())


@click.command("purr")
def purr():
    '''Say what a cat says.'''
    click.echo("purr")


MODEL = ModelEntry(
    make=network,
    input_shape=(3, 16, 16),
    num_classes=2,
    summary="tiny",
    trained_on="pets",
    weights=lambda dataset: WEIGHTS,
)
DATA = DatasetInfo(
    name="pets", classes=("cat", "dog"), mean=(0.5, 0.5, 0.5), std=(0.2, 0.2, 0.2), load=load
)
METHOD = MethodEntry(summary="says dog", parse=parse)
"""

ENTRY_POINTS = """
[leantta.models]
tiny = own_pets:MODEL
[leantta.datasets]
pets = own_pets:DATA
[leantta.methods]
dog = own_pets:METHOD
[leantta.commands]
purr = own_pets:purr
"""


@pytest.mark.parametrize("kind", plugins.LAB_NAMES)
def test_the_names_of_the_laboratory_are_those_it_declares(kind: plugins.Kind) -> None:
    declared = tomllib.loads(LAB.read_text())["project"]["entry-points"][f"leantta.{kind}"]
    assert set(plugins.LAB_NAMES[kind]) == set(declared)
    assert len(plugins.LAB_NAMES[kind]) == len(declared)


@pytest.mark.parametrize("kind", plugins.LAB_NAMES)
def test_a_name_of_a_missing_laboratory_answers_how_to_get_it(
    kind: plugins.Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "brought", lambda _: {})
    plugins.load.cache_clear()
    noun = kind.removesuffix("s")
    try:
        for name in plugins.LAB_NAMES[kind]:
            with pytest.raises(SettingError) as caught:
                plugins.load(kind, name)
            assert str(caught.value) == (
                f"the {noun} {name!r} is part of the laboratory: pip install leantta-lab"
            )
        with pytest.raises(SettingError, match=f"no {noun} is called 'xyz'; known: none; .*leantta-lab"):
            plugins.load(kind, "xyz")
    finally:
        plugins.load.cache_clear()


@pytest.fixture
def own_package(tmp_path: Path) -> Path:
    """A package with all four kinds of entry points, as pip would have put it on the path."""
    weights = tmp_path / "tiny.safetensors"
    code = f"from pathlib import Path\n\nWEIGHTS = Path({str(weights)!r})\n{OWN_PACKAGE}"
    (tmp_path / "own_pets.py").write_text(code)
    about = tmp_path / "own_pets-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-pets\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    save = (
        "import own_pets, leantta.models.weights as w; w.save_weights(own_pets.network(2), own_pets.WEIGHTS)"
    )
    in_own_process(tmp_path, "-c", save)
    return tmp_path


def in_own_process(folder: Path, *words: str) -> str:
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_package_of_ones_own_brings_all_four_kinds(own_package: Path) -> None:
    def leantta(*words: object) -> str:
        return in_own_process(own_package, "-m", "leantta", *map(str, words))

    assert "purr" in leantta("--help")
    assert leantta("purr") == "purr\n"
    assert "tiny: " in leantta("inspect", "tiny", "--adapt", "all")
    shown = leantta(
        *("eval", "--model", "tiny", "--images", own_package, "--stream", "severity5", "--per-cell", 2),
        *("--method", "none,dog:loudly", "--records", own_package / "records"),
    )
    assert "dog" in shown
    named = sorted(path.name.rpartition("-seed0-")[0] for path in (own_package / "records").iterdir())
    assert named == ["tiny-pets-severity5-dog", "tiny-pets-severity5-none"]
