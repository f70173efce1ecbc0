"""Which extra brings a missing package."""

from collections.abc import Mapping

from leantta.errors import MissingExtraError

EXTRA_OF: Mapping[str, str] = {
    "torch": "convert",
    "safetensors": "convert",
    "onnx": "convert",
    "onnxscript": "convert",
    "scipy": "corrupt",
    "matplotlib": "bench",
    "openvino": "openvino",
    "soundfile": "audio",
    "pyarrow": "archive",
    "ray": "ray",
    "paho": "mqtt",
    "starlette": "serve",
    "uvicorn": "serve",
    "h11": "serve",
    "prometheus_client": "serve",
    "cryptography": "sign",
}


DISTRIBUTION_OF: Mapping[str, str] = {"paho": "paho-mqtt"}
"""What pip calls a package that is imported under another name."""


def missing_extra(error: ModuleNotFoundError) -> ModuleNotFoundError | MissingExtraError:
    """Return the error with the line that mends it, or the error itself when no extra brings the package.

    >>> print(missing_extra(ModuleNotFoundError("No module named 'torch'", name="torch")))
    this needs the package 'torch': pip install 'leantta[convert]'
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRA_OF:
        return error
    return MissingExtraError(
        f"this needs the package {package!r}: pip install 'leantta[{EXTRA_OF[package]}]'"
    )
