"""The libraries of disturbances by modality, named as in `leantta.modalities.kinds`."""

from collections.abc import Mapping

from leantta.disturbances.library.camera import CAMERA
from leantta.disturbances.library.disturbance import Library
from leantta.disturbances.library.motion import MOTION
from leantta.disturbances.library.sound import SOUND
from leantta.tables import Table

LIBRARIES: Mapping[str, Library] = {"image": CAMERA, "motion": MOTION, "sound": SOUND}


def described(library: Library) -> Table:
    """Return a library for readers: what each disturbance does, and the nearest shift of the tests.

    >>> described(CAMERA).rows[0][:2]
    ('`exposure`', 'light')
    """
    header = ("name", "kind", "what it does", "nearest test shift", "how it differs")
    rows = [
        (
            f"`{name}`",
            each.kind,
            (each.change.__doc__ or "-").partition("\n")[0],
            f"`{each.nearest}`" if each.nearest else "-",
            each.difference or "-",
        )
        for name, each in library.items()
    ]
    return Table(header, tuple(rows))
