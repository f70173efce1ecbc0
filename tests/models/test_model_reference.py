"""A model by reference: what is found, and what each mistake is answered with."""

import sys
from pathlib import Path

import pytest
from torch import nn

from leantta.errors import MissingFileError, SettingError, UnsupportedModelError
from leantta.models.opening import open_model
from leantta.models.reference import resolve

SOURCE = """
from dataclasses import dataclass
from torch import nn

@dataclass
class Shape:
    width: int = 3

def make():
    return nn.Sequential(nn.Conv2d(1, Shape().width, 1), nn.BatchNorm2d(3))

class Net(nn.Linear):
    def __init__(self, width=2):
        super().__init__(width, width)

def needs(width):
    return make()

def fails():
    raise RuntimeError("no weights here\\nsecond line")

def exits():
    raise SystemExit(3)

def number():
    return 3

model = make()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(SOURCE)
    return path


def test_a_function_in_a_file(file: Path) -> None:
    model = resolve(f"{file}:make")
    assert isinstance(model, nn.Sequential)
    assert not model.training


def test_a_class_that_needs_no_arguments(file: Path) -> None:
    assert isinstance(resolve(f"{file}:Net"), nn.Linear)


def test_a_file_may_import_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "widths_of_the_reference_test.py").write_text("WIDTH = 5\n")
    (tmp_path / "net.py").write_text(
        "from torch import nn\n"
        "def make():\n"
        "    from widths_of_the_reference_test import WIDTH\n"
        "    return nn.Linear(WIDTH, 1)\n"
    )
    before = list(sys.path)
    model = resolve(f"{tmp_path / 'net.py'}:make")
    assert isinstance(model, nn.Linear)
    assert model.in_features == 5
    assert sys.path == before


def test_a_function_of_a_module_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package_of_the_reference_test"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "nets.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    assert isinstance(resolve("package_of_the_reference_test.nets:make"), nn.Sequential)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("mak", SettingError, r"net\.py has no function 'mak'\. Did you mean 'make'\?"),
        ("zzzzzz", SettingError, r"no function 'zzzzzz'\. It has: .*make"),
        ("needs", SettingError, r"needs arguments \(missing a required argument: 'width'\)"),
        ("fails", SettingError, r"net\.py:fails failed: RuntimeError: no weights here\. "),
        ("exits", SettingError, r"failed: SystemExit: 3"),
        ("model", SettingError, r"'model' in .* is a Sequential, not a function"),
        ("SOURCE", SettingError, r"has no function 'SOURCE'"),
        ("__name__", SettingError, r"is a str, not a function"),
        ("number", UnsupportedModelError, r"net\.py:number returned a int; a torch\.nn\.Module is wanted"),
    ],
)
def test_a_function_that_gives_no_model(
    file: Path, function: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        resolve(f"{file}:{function}")


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("resnet", SettingError, r"no model is called 'resnet'; .* Did you mean 'resnet18'\?"),
        ("nowhere/net.py:make", MissingFileError, r"no file nowhere/net\.py"),
        ("net.py", SettingError, r"Write net\.py:FUNCTION"),
        (":make", SettingError, r"':make' is no model"),
        ("net.py:", SettingError, r"'net\.py:' is no model"),
        (
            "absent.nets:make",
            SettingError,
            r"absent\.nets cannot be imported: ModuleNotFoundError",
        ),
    ],
)
def test_a_reference_that_leads_nowhere(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        open_model(spec)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def make(:", "SyntaxError"),
        ("import no_such_package", "ModuleNotFoundError"),
        ("1/0", "ZeroDivisionError"),
    ],
)
def test_a_file_that_does_not_run(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "broken_reference.py").write_text(source)
    with pytest.raises(SettingError, match=rf"broken_reference\.py cannot be run: {message}"):
        resolve(f"{tmp_path / 'broken_reference.py'}:make")
    assert "leantta_reference_broken_reference" not in sys.modules
