"""Frosted windows: which are used, where pieces are cut, and that the formula looks like the photographs."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.frost import PHOTOGRAPHS, WindowSource, pieces, window_source, windows
from leantta.disturbances.corruptions.ice import Grain
from leantta.disturbances.corruptions.pixels import Images
from leantta.errors import MissingExtraError

# Measured on each photograph: mean colour, deviations of the brightness within pieces, its skewness.
MEASURED = {
    Grain.COARSE: {  # every fifth pixel, pieces of 32x32
        0: ((78, 149, 166), [14.1], 0.48),
        1: ((201, 205, 214), [18.3], -0.96),
        2: ((201, 205, 214), [18.3], -0.96),
        3: ((138, 153, 166), [26.0], 0.19),
        4: ((112, 123, 135), [34.1], 0.49),
    },
    Grain.FINE: {  # all pixels, pieces of 4x4, 32x32 and 224x224
        0: ((78, 149, 166), [8.4, 11.0, 15.7], 0.48),
        1: ((201, 205, 214), [9.5, 14.4, 20.1], -0.95),
        2: ((201, 205, 214), [9.5, 14.4, 20.1], -0.95),
        3: ((138, 153, 165), [15.4, 20.7, 26.3], 0.12),
        4: ((112, 123, 135), [19.8, 31.6, 35.5], 0.49),
    },
}
SIDES = {Grain.COARSE: [32], Grain.FINE: [4, 32, 224]}
NEAR = {Grain.COARSE: 0.06, Grain.FINE: 0.1}
"""How near the deviations are; over a range of fifty in size, a power law fits the photographs less well."""


def looks(window: Images, sides: list[int]) -> tuple[tuple[float, ...], list[float], float]:
    grey = window.mean(axis=2)
    within = []
    for side in sides:
        starts = np.random.default_rng(0).integers(0, np.array(grey.shape) - side, (400, 2))
        within.append(float(np.mean([grey[r : r + side, c : c + side].std() for r, c in starts])))
    skewness = float((((grey - grey.mean()) / grey.std()) ** 3).mean())
    return tuple(window.mean(axis=(0, 1)).tolist()), within, skewness


@pytest.mark.parametrize("source", WindowSource)
@pytest.mark.parametrize("grain", Grain)
@pytest.mark.parametrize("number", range(5))
def test_windows_look_like_the_photographs(source: WindowSource, grain: Grain, number: int) -> None:
    if source is WindowSource.PHOTOGRAPHS and window_source() is not source:
        pytest.skip("the package imagecorruptions is not installed")
    measured_colour, measured_within, measured_skewness = MEASURED[grain][number]
    colour, within, skewness = looks(windows(grain, source)[number], SIDES[grain])
    assert colour == pytest.approx(measured_colour, abs=1.5)
    assert within == pytest.approx(measured_within, rel=NEAR[grain])
    assert skewness == pytest.approx(measured_skewness, abs=0.2)


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
    found = windows(Grain.COARSE, WindowSource.PHOTOGRAPHS)
    assert [window.shape for window in found] == [(40, 60, 3)] * 5
    assert [window.shape for window in windows(Grain.FINE, WindowSource.PHOTOGRAPHS)] == [(200, 300, 3)] * 5
    assert [round(float(window.mean()), -1) for window in found] == [10, 20, 30, 40, 50]
    (package / PHOTOGRAPHS[2]).unlink()
    assert window_source() is WindowSource.FORMULA
    windows.cache_clear()
    with pytest.raises(MissingExtraError, match="leantta\\[frost\\]"):
        windows(Grain.COARSE, WindowSource.PHOTOGRAPHS)


def test_pieces_come_from_everywhere() -> None:
    draws = Draws(0, "frost", 1, first=0, count=400)
    cut = pieces(draws, 32, 32, Grain.COARSE, WindowSource.FORMULA)
    assert len({piece.tobytes() for piece in cut}) > 390
    nearest = [np.abs(cut.mean(axis=(1, 2)) - MEASURED[Grain.COARSE][n][0]).sum(axis=1) for n in (0, 1, 3, 4)]
    shares = np.bincount(np.argmin(nearest, axis=0)) / 400
    assert shares == pytest.approx([0.2, 0.4, 0.2, 0.2], abs=0.07)


@pytest.mark.parametrize("grain", Grain)
@pytest.mark.parametrize("size", [(32, 32), (128, 128), (150, 40), (300, 700)])
def test_pieces_of_any_size(grain: Grain, size: tuple[int, int]) -> None:
    cut = pieces(Draws(0, "frost", 1, first=0, count=6), *size, grain, WindowSource.FORMULA)
    assert cut.shape == (6, *size, 3)
    assert (cut.std(axis=(1, 2)) > 5).all()
