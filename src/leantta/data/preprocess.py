"""How an image of any size becomes what a model takes: scaled, padded, cut, its colours in order, normalized.

The same steps as in the training code of most networks, so that the same pixels come out as from torchvision
and timm: `resize`, `pad`, `crop` around the centre, `colours`, then (pixels / 255 - mean) / std, channel by
channel. A model file carries this description, so whoever runs it cannot get it wrong. Pillow scales, as it
does for torchvision and timm.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from leantta.data.resize import (
    Pixels,
    centre,
    luminance,
    padded,
    scaled,
    scaled_size,
)
from leantta.data.words import (
    COLOURS,
    INTERPOLATIONS,
    LAYOUTS,
    SIDES,
    ColourOrder,
    Interpolation,
    Layout,
    Side,
    Size,
)
from leantta.errors import DataError, LeanTTAError, SettingError

LONGEST = 120
"""Characters of a wrong value in a message."""

MAX_SIZE = 16_384
"""No model takes more pixels to a side; a larger number is a mistake."""


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """What happens to an image (h, w, 3) of bytes, in this order."""

    resize: int | Size | None = None  # one side, the other in proportion; exactly these; None: as it is
    side: Side = "short"  # which side a single number of `resize` is for
    interpolation: Interpolation = "bilinear"  # antialiased when shrinking, except nearest
    pad: Size | None = None  # at least this size: a smaller image lies in the middle of `fill`
    fill: int | tuple[int, ...] = 0  # a number for all, or those of red, green and blue
    crop: Size | None = None  # what is cut out of the centre
    colours: ColourOrder = "rgb"
    mean: tuple[float, ...] | None = None  # per channel as `colours` has them, of pixels between 0 and 1
    std: tuple[float, ...] | None = None  # both None: the description does not say
    layout: Layout = "channels_first"  # of what the torch model takes; a file takes the same either way

    def __post_init__(self) -> None:
        """Refuse what cannot be done.

        Raises:
            SettingError: a value that is wrong by itself, or does not go with another.
        """
        _check_words(self)
        _check_sizes(self)
        fill = self.fill if isinstance(self.fill, tuple) else (self.fill,)
        if len(fill) not in (1, 3) or not all(_is_whole(each) and 0 <= each <= 255 for each in fill):
            raise SettingError(f"fill is a number from 0 to 255, or three; got {_brief(self.fill)}.")
        check_statistics(self.mean, self.std, self.channels)

    @property
    def channels(self) -> int:
        """How many channels come out."""
        return 1 if self.colours == "grey" else 3

    @property
    def size(self) -> Size | None:
        """The height and width of every image that comes out; None if that depends on the image."""
        if self.crop is not None:
            return self.crop
        if isinstance(self.resize, tuple):
            pad = self.pad or self.resize
            return max(pad[0], self.resize[0]), max(pad[1], self.resize[1])
        if self.pad is not None and self.side == "long" and self.resize and self.resize <= min(self.pad):
            return self.pad
        return None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it, without what is as usual.

        >>> Preprocessing(resize=256, crop=(224, 224)).to_json()
        {'resize': 256, 'crop': [224, 224]}
        """
        told = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != each.default
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Preprocessing":
        """Return what `to_json` gave; of `crop` and `pad`, one number means a square.

        Raises:
            SettingError: an unknown key, or a value that cannot be.
        """
        if not isinstance(told, Mapping):
            raise SettingError(f"preprocessing is a JSON object, e.g. {_EXAMPLE}; got {_brief(told)}.")
        known = [each.name for each in fields(cls)]
        if unknown := [name for name in told if name not in known]:
            raise SettingError(
                f"unknown key {_brief(unknown[0])} in preprocessing. Known: {', '.join(known)}."
            )
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
        }
        for name in ("crop", "pad"):
            if _is_whole(given.get(name)):
                given[name] = (given[name], given[name])
        return cls(**given)

    def described(self) -> str:
        """Return it in words, for people.

        >>> Preprocessing(resize=256, crop=(224, 224), interpolation="bicubic").described()
        'short side to 256 (bicubic), centre 224 x 224, rgb'
        """
        steps = []
        if isinstance(self.resize, tuple):
            steps.append(f"exactly {_shown(self.resize)} ({self.interpolation})")
        elif self.resize is not None:
            steps.append(f"{self.side} side to {self.resize} ({self.interpolation})")
        if self.pad is not None:
            steps.append(f"padded to {_shown(self.pad)} with {self.fill}")
        if self.crop is not None:
            steps.append(f"centre {_shown(self.crop)}")
        return ", ".join([*steps, self.colours])


_EXAMPLE = '{"resize": 256, "crop": 224, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}'


def read_preprocessing(path: Path) -> Preprocessing:
    """Return the description in a JSON file.

    Raises:
        MissingFileError: there is nothing at `path`.
        SettingError: it is not JSON, or not a description; the message names the file.
    """
    from leantta.files import existing  # here, not above: who loads a model file writes none

    try:
        text = existing(path, "preprocessing file").read_text(encoding="utf-8")
        told = json.loads(text)
    except LeanTTAError:
        raise
    except (OSError, ValueError, RecursionError) as e:
        raise SettingError(f"{path} cannot be read as JSON: {e}. Write e.g. {_EXAMPLE}") from e
    try:
        return Preprocessing.from_json(told)
    except SettingError as e:
        raise SettingError(f"{path}: {e}") from e


def fitted(image: Pixels, how: Preprocessing) -> Pixels:
    """Return an RGB image (h, w, 3) of any size as the model takes it, (h, w, c), before normalization.

    >>> fitted(np.zeros((300, 500, 3), np.uint8), Preprocessing(resize=256, crop=(224, 224))).shape
    (224, 224, 3)

    Raises:
        DataError: it is not an image, is smaller than what is to be cut out, or far too long and thin.
    """
    if image.ndim != 3 or image.shape[2] != 3 or not image.size or image.dtype != np.uint8:
        raise DataError(f"an image is uint8 (h, w, 3) in RGB; this is {image.dtype} of shape {image.shape}.")
    old = image.shape[0], image.shape[1]
    placed = scaled(image, scaled_size(old, how.resize, how.side), how.interpolation)
    if how.pad is not None:
        placed = padded(placed, how.pad, how.fill)
    if how.crop is not None:
        placed = centre(placed, how.crop)
    if how.colours == "grey":
        return luminance(placed)
    return np.ascontiguousarray(placed[..., ::-1] if how.colours == "bgr" else placed)


def check_statistics(mean: tuple[float, ...] | None, std: tuple[float, ...] | None, channels: int) -> None:
    """Refuse a mean and standard deviation that pixels between 0 and 1 cannot have.

    Raises:
        SettingError: one without the other, another count than the channels, or numbers that cannot be.
    """
    if mean is None and std is None:
        return
    for name, values in (("mean", mean), ("std", std)):
        if values is None:
            raise SettingError(f"mean and std go together; {name} is missing.")
        if (
            not isinstance(values, list | tuple)
            or len(values) != channels
            or not all(map(_is_number, values))
        ):
            raise SettingError(
                f"{name} is a list of numbers, one for each of {channels} channels; got {_brief(values)}."
            )
        if min(values) < 0 or (name == "std" and min(values) == 0):
            least = "above 0" if name == "std" else "not below 0"
            raise SettingError(f"the {name} of pixels is {least}; got {list(values)}.")
        if max(values) > 1:
            mended = ",".join(f"{each / 255:.4g}" for each in values)
            raise SettingError(
                f"mean and std are of pixels between 0 and 1; this {name} is of 0 to 255: {list(values)}. "
                f"Divide both by 255, here {mended}."
            )


def _check_words(how: Preprocessing) -> None:
    words: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("side", SIDES),
        ("interpolation", INTERPOLATIONS),
        ("colours", COLOURS),
        ("layout", LAYOUTS),
    )
    for name, known in words:
        if (value := getattr(how, name)) not in known:
            raise SettingError(f"unknown {name} {_brief(value)}; known: {', '.join(known)}.")


def _check_sizes(how: Preprocessing) -> None:
    """Refuse sizes that cannot be, and a crop that is larger than what there is to cut from."""
    for name in ("resize", "pad", "crop"):
        value = getattr(how, name)
        single = name == "resize" and _is_whole(value)
        sizes = (value,) if single else value
        pair = single or (isinstance(sizes, tuple) and len(sizes) == 2)
        if value is not None and not (
            pair and all(_is_whole(each) and 1 <= each <= MAX_SIZE for each in sizes)
        ):
            wanted = "one side, or height and width" if name == "resize" else "height and width"
            raise SettingError(f"{name} is {wanted}, from 1 to {MAX_SIZE}; got {_brief(value)}.")
    if how.crop is None or how.resize is None:
        return
    least = how.resize if isinstance(how.resize, tuple) else (how.resize, how.resize)
    if how.side == "long" and not isinstance(how.resize, tuple):
        least = (1, 1)  # the other side may be that short
    pad = how.pad or (1, 1)
    if any(cut > max(side, filled) for cut, side, filled in zip(how.crop, least, pad, strict=True)):
        raise SettingError(
            f"the crop {_shown(how.crop)} is larger than what resize {_resize_shown(how)} leaves. Give a "
            "larger resize, or a pad."
        )


def _resize_shown(how: Preprocessing) -> str:
    return _shown(how.resize) if isinstance(how.resize, tuple) else f"{how.resize} ({how.side} side)"


def _brief(value: object) -> str:
    """Return what was given as a message has it."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _shown(size: Sequence[int]) -> str:
    return " x ".join(map(str, size))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
