"""Frames of a camera or of a film, as RGB bytes: OpenCV or picamera2 behind one seam.

`camera:0` is the first camera that OpenCV finds, `camera:/dev/video2` and a stream's address work as well;
`camera:picamera` is a Raspberry Pi's. Any other name is a film. Neither library is needed for anything else.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError, MissingExtraError
from leantta.files import existing

Frame = npt.NDArray[np.uint8]

CAMERA = "camera:"
FILMS = (".avi", ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".webm")


class Frames(AbstractContextManager["Frames"], Protocol):
    """Gives frames (h, w, 3) until there are none, or until it is closed."""

    def __iter__(self) -> Iterator[Frame]:
        """Give the next frame, every `every_s` seconds."""


def is_frames(source: str) -> bool:
    """Tell whether a source is a camera or a film.

    >>> is_frames("camera:0"), is_frames("door.MP4"), is_frames("photos/")
    (True, True, False)
    """
    return source.startswith(CAMERA) or Path(source).suffix.lower() in FILMS


def open_frames(source: str, *, every_s: float = 0.0) -> Frames:
    """Return the frames of a camera or of a film, one in `every_s` seconds (0: all).

    Raises:
        MissingExtraError: the library that reads it is not installed.
        DataError: there is no such camera, or the film cannot be read.
        MissingFileError: there is no such film.
    """
    if source == f"{CAMERA}picamera":
        return PicameraFrames(every_s)
    if source.startswith(CAMERA):
        name = source.removeprefix(CAMERA)
        return OpenCvFrames(int(name) if name.isdigit() else name, every_s, live=True)
    return OpenCvFrames(str(existing(Path(source), "film")), every_s, live=False)


class OpenCvFrames:
    """Frames that OpenCV reads. Of a film, time is the film's own."""

    def __init__(self, source: int | str, every_s: float, *, live: bool) -> None:
        """Open a camera by number or address, or a film."""
        try:
            import cv2
        except ImportError as e:
            raise MissingExtraError(
                f"a camera or a film is read with OpenCV, which is not here ({e}): pip install "
                "opencv-python-headless"
            ) from e
        self.source, self.every_s, self.live = source, every_s, live
        self._to_rgb: Callable[[Any], Frame] = lambda frame: cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
        self._milliseconds = cv2.CAP_PROP_POS_MSEC
        self._capture = cv2.VideoCapture(source)
        if not self._capture.isOpened():
            what = "camera" if live else "film"
            raise DataError(f"cannot open the {what} {source}. Is it there, and does nobody else use it?")

    def __iter__(self) -> Iterator[Frame]:
        """Give frames; a camera that stops giving them is an error, a film ends."""
        due = 0.0
        while True:
            there, frame = self._capture.read()
            if not there:
                if self.live:
                    raise DataError(f"the camera {self.source} gives no more frames. Check its cable.")
                return
            now = time.monotonic() if self.live else self._capture.get(self._milliseconds) / 1000
            if now < due:
                continue
            due = now + self.every_s
            yield self._to_rgb(frame)

    def __enter__(self) -> "OpenCvFrames":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the camera back."""
        self._capture.release()


class PicameraFrames:
    """Frames of a Raspberry Pi's camera."""

    def __init__(self, every_s: float) -> None:
        """Start the camera."""
        try:
            from picamera2 import Picamera2  # type: ignore[import-not-found,unused-ignore]
        except ImportError as e:
            raise MissingExtraError(
                f"the camera of a Raspberry Pi is read with picamera2, which is not here ({e}): apt install "
                "python3-picamera2, and make the virtual environment with --system-site-packages"
            ) from e
        self.every_s = every_s
        self._camera = Picamera2()
        # picamera2 names the bytes from the last to the first: "BGR888" is red, green, blue in memory.
        self._camera.configure(self._camera.create_video_configuration(main={"format": "BGR888"}))
        self._camera.start()

    def __iter__(self) -> Iterator[Frame]:
        """Give frames."""
        while True:
            began = time.monotonic()
            yield np.asarray(self._camera.capture_array())
            time.sleep(max(0.0, self.every_s - (time.monotonic() - began)))

    def __enter__(self) -> "PicameraFrames":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the camera."""
        self._camera.stop()
