"""What kind of file bytes are, by how they begin."""

TABLE = ".csv"
"""What bytes are taken for that begin like nothing that is known."""

ARRAYS = (".npy", ".npz")

_BEGINNINGS = (
    (0, b"\xff\xd8\xff", ".jpg"),
    (0, b"\x89PNG", ".png"),
    (8, b"WEBP", ".webp"),
    (0, b"BM", ".bmp"),
    (8, b"WAVE", ".wav"),
    (0, b"fLaC", ".flac"),
    (0, b"OggS", ".ogg"),
    (0, b"ID3", ".mp3"),
    (0, b"\xff\xfb", ".mp3"),
    (0, b"\x93NUMPY", ".npy"),
    (0, b"PK\x03\x04", ".npz"),
)
"""Where which bytes tell a kind of file."""


def ending_of(data: bytes) -> str:
    """Return the ending that a file with these bytes should have.

    >>> ending_of(b"fLaC\\x00"), ending_of(b"1.0,2.0")
    ('.flac', '.csv')
    """
    return next(
        (suffix for at, begins, suffix in _BEGINNINGS if data[at : at + len(begins)] == begins), TABLE
    )
