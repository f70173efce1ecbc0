"""Frosted windows: which are used, where pieces are cut, and that the formula looks like the photographs."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.frost import PHOTOGRAPHS, WindowSource, pieces, window_source, windows
from leantta.disturbances.corruptions.pixels import Images
from leantta.errors import MissingExtraError

# Measured on each photograph: mean colour, deviation of the brightness within pieces of 32x32, its skewness.
MEASURED = {
    0: ((78, 149, 166), 14.1, 0.48),
    1: ((201, 205, 214), 18.3, -0.96),
    2: ((201, 205, 214), 18.3, -0.96),
    3: ((138, 153, 166), 26.0, 0.19),
    4: ((112, 123, 135), 34.1, 0.49),
}


def looks(window: Images) -> tuple[tuple[float, ...], float, float]:
    grey = window.mean(axis=2)
    starts = np.random.default_rng(0).integers(0, np.array(grey.shape) - 32, (400, 2))
    within = float(np.mean([grey[r : r + 32, c : c + 32].std() for r, c in starts]))
    skewness = float((((grey - grey.mean()) / grey.std()) ** 3).mean())
    return tuple(window.mean(axis=(0, 1)).tolist()), within, skewness


@pytest.mark.parametrize("source", WindowSource)
@pytest.mark.parametrize("number", MEASURED)
def test_windows_look_like_the_photographs(source: WindowSource, number: int) -> None:
    if source is WindowSource.PHOTOGRAPHS and window_source() is not source:
        pytest.skip("the package imagecorruptions is not installed")
    colour, within, skewness = looks(windows(source)[number])
    assert colour == pytest.approx(MEASURED[number][0], abs=1.5)
    assert within == pytest.approx(MEASURED[number][1], rel=0.06)
    assert skewness == pytest.approx(MEASURED[number][2], abs=0.2)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `imagecorruptions` that cannot be imported, with photographs of value 10, 20, ..., 50."""
    folder = tmp_path / "imagecorruptions" / "frost"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('this package must not be imported')")
    for number, name in enumerate(PHOTOGRAPHS, 1):
        Image.new("RGB", (300, 200), (10 * number,) * 3).save(folder / name)
    monkeypatch.syspath_prepend(tmp_path)
    windows.cache_clear()
    yield folder
    windows.cache_clear()


def test_photographs_are_read_without_importing_their_package(package: Path) -> None:
    assert window_source() is WindowSource.PHOTOGRAPHS
    found = windows(WindowSource.PHOTOGRAPHS)
    assert [window.shape for window in found] == [(40, 60, 3)] * 5
    assert [round(float(window.mean()), -1) for window in found] == [10, 20, 30, 40, 50]
    (package / PHOTOGRAPHS[2]).unlink()
    assert window_source() is WindowSource.FORMULA
    windows.cache_clear()
    with pytest.raises(MissingExtraError, match="leantta\\[frost\\]"):
        windows(WindowSource.PHOTOGRAPHS)


def test_pieces_come_from_everywhere() -> None:
    draws = Draws(0, "frost", 1, first=0, count=400)
    cut = pieces(draws, 32, 32, WindowSource.FORMULA)
    assert len({piece.tobytes() for piece in cut}) > 390
    nearest = [np.abs(cut.mean(axis=(1, 2)) - MEASURED[n][0]).sum(axis=1) for n in (0, 1, 3, 4)]
    shares = np.bincount(np.argmin(nearest, axis=0)) / 400
    assert shares == pytest.approx([0.2, 0.4, 0.2, 0.2], abs=0.07)


@pytest.mark.parametrize("size", [(32, 32), (128, 128), (150, 40), (300, 500)])
def test_pieces_of_any_size(size: tuple[int, int]) -> None:
    cut = pieces(Draws(0, "frost", 1, first=0, count=6), *size, WindowSource.FORMULA)
    assert cut.shape == (6, *size, 3)
    assert (cut.std(axis=(1, 2)) > 5).all()
