"""Frames of a film, with the real OpenCV; what there is no camera for is said."""

from pathlib import Path

import numpy as np
import pytest

from leantta.errors import DataError, MissingExtraError, MissingFileError
from leantta.monitor.frames import open_frames

cv2 = pytest.importorskip("cv2", reason="films are read with OpenCV")


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "door.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10.0, (64, 48))
    for number in range(20):
        frame = np.zeros((48, 64, 3), np.uint8)
        frame[..., 2] = 10 * number  # red: OpenCV writes blue first
        writer.write(frame)
    writer.release()
    return path


def test_frames_are_red_green_blue_and_in_order(film: Path) -> None:
    with open_frames(str(film)) as frames:
        found = [frame.mean((0, 1)) for frame in frames]
    assert len(found) == 20
    assert np.abs(np.array(found) - [[10 * n, 0, 0] for n in range(20)]).max() < 8


def test_of_a_film_one_in_so_many_of_its_own_seconds_is_taken(film: Path) -> None:
    with open_frames(str(film), every_s=0.5) as frames:
        assert len(list(frames)) == 4


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(MissingFileError):
        open_frames("nothing.avi")
    with pytest.raises(DataError):
        open_frames("camera:/dev/no-such-camera")
    with pytest.raises(MissingExtraError):
        open_frames("camera:picamera")


def test_what_is_no_film_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.avi").write_bytes(b"no film")
    with pytest.raises(DataError):
        open_frames(str(tmp_path / "bad.avi"))
