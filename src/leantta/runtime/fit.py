"""An image file's pixels as a model takes one image."""

from leantta.data.resize import Pixels, cover, luminance
from leantta.errors import SettingError
from leantta.runtime.metadata import Info


def check_takes_images(info: Info) -> None:
    """Look whether the model can be given image files.

    Raises:
        SettingError: it takes something else, or images with neither one nor three channels.
    """
    if not info.input.is_image or info.input.shape[0] not in (1, 3):
        shape = ", ".join(map(str, info.input.shape))
        raise SettingError(
            f"{info.model} takes inputs of shape ({shape}), not grey or RGB images. "
            f"Use leantta.load(...).predict(arrays)."
        )


def fit(image: Pixels, info: Info) -> Pixels:
    """Return an RGB image (h, w, 3) of any size at the model's size, in grey if the model sees grey."""
    channels, height, width = info.input.shape
    sized = cover(image, height, width)
    return luminance(sized) if channels == 1 else sized
