"""Whether the images given for calibration can be used."""

import numpy as np

from leantta.errors import DataError, SettingError
from leantta.graph.ir import Array

LEAST = 16
"""So many inputs a range and a quantile need at least; some hundreds are better."""


def check_calibration(
    images: Array, pixels: tuple[tuple[float, ...], tuple[float, ...]] | None, kind: str
) -> None:
    """Refuse calibration inputs that cannot tell what usual values are.

    Raises:
        DataError: too few, of a wrong type or shape, not finite, or all alike.
        SettingError: preprocessing is to be inside, but there is none.
    """
    if pixels is None and kind == "image":
        raise SettingError("preprocessing inside the file needs the mean and std of the training images")
    if pixels is not None and (images.dtype != np.uint8 or images.ndim != 4):
        raise DataError(
            f"with mean and std, calibration images are uint8 (n, height, width, channels); these are "
            f"{images.dtype} {images.shape}"
        )
    if pixels is not None and images.shape[-1] != len(pixels[0]):
        raise DataError(
            f"mean and std have {len(pixels[0])} channels, the calibration images {images.shape[-1]}"
        )
    if pixels is None and (images.dtype == np.uint8 or not np.issubdtype(images.dtype, np.floating)):
        raise DataError(
            f"without mean and std, calibration inputs are floats as the model takes them; these are "
            f"{images.dtype}. Pass mean and std for uint8 images."
        )
    if len(images) < LEAST:
        raise DataError(
            f"{len(images)} calibration inputs were given; ranges need at least {LEAST}, some hundreds are "
            "better. Take training images."
        )
    if not np.isfinite(images).all():
        raise DataError("a calibration input has NaN or infinite values; repair or remove it")
    flat = images.reshape(len(images), -1)
    if bool((flat == flat[:1]).all()):
        raise DataError(f"all {len(images)} calibration inputs are the same; take different training images")
    if bool((flat == flat[:, :1]).all()):
        raise DataError("every calibration input has one value only; take real training images")
