"""The errors a caller can act on.

LeanTTAError
├── SettingError           (ValueError)         an option is out of range or unknown
├── UnsupportedModelError  (TypeError)          a model, or a layer of it, that cannot be changed safely
├── NoBatchNormError       (ValueError)         nothing to adapt
├── NoLayerMatchedError    (LookupError)        a selector names no layer
├── BadStatisticsError     (ValueError)         running statistics that cannot be right
├── CheckpointError        (ValueError)         weights that cannot be read or do not fit
├── ArtifactError          (ValueError)         a model file that is damaged, foreign or too new
├── DataError              (ValueError)         images, clips or labels that cannot be used
├── RecordError            (ValueError)         a record that is damaged or belongs to another run
├── MissingFileError       (FileNotFoundError)  a path with nothing behind it
├── StorageError           (OSError)            a file that could not be written
├── DownloadError          (OSError)            a file that could not be fetched
└── MissingExtraError      (ImportError)        an optional dependency that is not installed

Each message says what was asked, what was found and what to do.
The command line prints it as one line and exits 1.
"""


class LeanTTAError(Exception):
    """Base of all errors that leantta raises on purpose."""


class SettingError(LeanTTAError, ValueError):
    """An option is out of range or unknown."""


class UnsupportedModelError(LeanTTAError, TypeError):
    """A model, or a layer of it, cannot be changed safely."""


class NoBatchNormError(LeanTTAError, ValueError):
    """The model has no BatchNorm, so there is nothing to adapt."""


class NoLayerMatchedError(LeanTTAError, LookupError):
    """A selector names no layer of the model."""


class BadStatisticsError(LeanTTAError, ValueError):
    """Running statistics that no training can have left behind."""


class CheckpointError(LeanTTAError, ValueError):
    """Weights cannot be read, or do not fit the model."""


class ArtifactError(LeanTTAError, ValueError):
    """A model file is damaged, foreign or too new."""


class DataError(LeanTTAError, ValueError):
    """Images, clips or labels cannot be used."""


class RecordError(LeanTTAError, ValueError):
    """A record is damaged or belongs to another run."""


class MissingFileError(LeanTTAError, FileNotFoundError):
    """There is nothing at a path."""


class StorageError(LeanTTAError, OSError):
    """A file could not be written."""


class DownloadError(LeanTTAError, OSError):
    """A file could not be fetched."""


class MissingExtraError(LeanTTAError, ImportError):
    """An optional dependency is not installed."""
