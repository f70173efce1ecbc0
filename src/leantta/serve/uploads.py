"""A plain file as the body of a request: an image, a sound or a window, read as `leantta run` reads it.

The kind of file is found by its first bytes, not by what the client says of it. The number of pixels is
looked at before anything is decoded, and of a long sound only so many windows are read.
"""

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from leantta.data.beginnings import ARRAYS, TABLE, ending_of
from leantta.data.imagefiles import begins_like_image, check_pixels
from leantta.errors import DataError, MissingExtraError, MissingFileError
from leantta.modalities.modality import FileReader, Given
from leantta.serve.refusal import RefusalError

_MOST_TABLE_BYTES = 1_048_576  # a window has 1,152 numbers


class Uploads:
    """Reads bodies through files in a folder of its own, which goes when it is closed."""

    def __init__(self, *, max_pixels: int, max_inputs: int) -> None:
        self._max_pixels = max_pixels
        self._max_inputs = max_inputs
        self._folder = TemporaryDirectory(prefix="leantta-serve-")

    def read(self, body: bytes, reader: FileReader) -> list[Given]:
        """Return the inputs in a body, at least one. One call at a time.

        Raises:
            RefusalError: it is not for this model, damaged, or too large.
        """
        suffix = ending_of(body)
        if suffix in ARRAYS:
            suffix = TABLE  # they may unpack to any size
        name = f"body{suffix}"
        if not body:
            raise RefusalError(400, "the body is empty. Send the bytes of a file.")
        if suffix == TABLE and len(body) > _MOST_TABLE_BYTES:
            raise RefusalError(413, f"a table has at most {_MOST_TABLE_BYTES:,} bytes.")
        path = Path(self._folder.name, name)
        try:
            if begins_like_image(body):
                check_pixels(body, name, self._max_pixels)
            path.write_bytes(body)
            return self._inputs(path, reader)
        except (DataError, MissingFileError) as e:
            raise RefusalError(422, str(e).replace(str(path), name)) from e
        except MissingExtraError as e:
            raise RefusalError(501, str(e)) from e
        finally:
            path.unlink(missing_ok=True)

    def _inputs(self, path: Path, reader: FileReader) -> list[Given]:
        given = (each for _, read in reader.files(str(path)) for each in read())
        inputs = list(islice(given, self._max_inputs + 1))
        if len(inputs) > self._max_inputs:
            raise RefusalError(413, f"the body has more than {self._max_inputs} inputs. Send it in parts.")
        return inputs

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()
