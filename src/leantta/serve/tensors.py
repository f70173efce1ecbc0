"""The Open Inference Protocol (KServe v2): what a request says, and what an answer says.

A body is JSON. With the header `Inference-Header-Content-Length` it is so many bytes of JSON and then the
values of those tensors that have a `binary_data_size`, one after the other, little-endian. Nothing is
allocated by what a request says of itself: lengths are compared with the bytes that are there.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from leantta.runtime.engines import Port
from leantta.serve.refusal import RefusalError

Array = npt.NDArray[Any]

HEADER_LENGTH = "inference-header-content-length"

DATATYPES: Mapping[str, str] = {"UINT8": "uint8", "FP16": "float16", "FP32": "float32", "FP64": "float64"}
"""The types of values that models of ours take, and what numpy calls them."""

_NAMES = {name: datatype for datatype, name in DATATYPES.items()}
_MOST_AXES = 8
_LARGEST = 2**31 - 1
_STREAM_KEYS = ("stream", "sequence_id")


@dataclass(frozen=True, eq=False)
class InferRequest:
    """What a client asks: values, and which outputs of them."""

    values: Array
    outputs: Mapping[str, bool]  # which are wanted, and whether as bytes
    request_id: str | None
    stream: str | None
    starts: bool  # whatever the stream held before is forgotten
    ends: bool  # nothing is kept of the stream afterwards


def read_request(body: bytes, header_length: str | None, inputs: tuple[Port, ...],
                 outputs: tuple[Port, ...]) -> InferRequest:  # fmt: skip
    """Return what a body asks of a model with these inputs and outputs.

    Raises:
        RefusalError: it asks nothing that the model can answer; the message says why.
    """
    head, tail = _parts(body, header_length)
    asked = _object(_parsed(head), "the request")
    request_id = asked.get("id")
    if request_id is not None and not isinstance(request_id, str):
        _refuse("the id of a request is a text.")
    parameters = _parameters(asked)
    tensors = asked.get("inputs")
    if not isinstance(tensors, list) or len(tensors) != 1:
        _refuse(f"inputs is a list of the one input {inputs[0].name!r}.")
    values, rest = _values(_object(tensors[0], "an input"), inputs[0], tail)
    if rest:
        _refuse(f"{len(rest)} bytes follow the values of the last input.")
    return InferRequest(
        values,
        _wanted(asked.get("outputs"), parameters, outputs),
        request_id,
        stream=_stream(parameters),
        starts=_flag(parameters, "sequence_start", default=False),
        ends=_flag(parameters, "sequence_end", default=False),
    )


def write_answer(
    model: str, version: str, request: InferRequest, outputs: Mapping[str, Array]
) -> tuple[bytes, int | None]:
    """Return the body of an answer, and the length of its JSON if values follow that."""
    tensors, tail = [], []
    for name, as_bytes in request.outputs.items():
        array = outputs[name]
        tensor: dict[str, Any] = {
            "name": name,
            "datatype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
        }
        if as_bytes:
            data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
            tensor["parameters"] = {"binary_data_size": len(data)}
            tail.append(data)
        else:
            tensor["data"] = array.ravel().tolist()
        tensors.append(tensor)
    told: dict[str, Any] = {"model_name": model, "model_version": version, "outputs": tensors}
    if request.request_id is not None:
        told["id"] = request.request_id
    head = json.dumps(told, separators=(",", ":"), allow_nan=False).encode()
    return b"".join((head, *tail)), len(head) if tail else None


def described(port: Port) -> dict[str, Any]:
    """Return an input or output as the metadata of a model has it."""
    return {
        "name": port.name,
        "datatype": _NAMES[port.dtype],
        "shape": [-1 if size is None else size for size in port.shape],
    }


def _refuse(message: str) -> NoReturn:
    raise RefusalError(400, message)


def _parts(body: bytes, header_length: str | None) -> tuple[bytes, memoryview]:
    """Return the JSON of a body, and the bytes behind it."""
    if header_length is None:
        return body, memoryview(b"")
    if not (header_length.isascii() and header_length.isdigit()) or len(header_length) > len(str(_LARGEST)):
        _refuse("Inference-Header-Content-Length is a number of bytes.")
    length = int(header_length)
    if length > len(body):
        _refuse(f"Inference-Header-Content-Length says {length} bytes; the body has {len(body)}.")
    return body[:length], memoryview(body)[length:]


def _parsed(text: bytes) -> object:
    def no_constant(name: str) -> NoReturn:
        _refuse(f"{name} is not JSON. Values are finite numbers.")

    try:
        return json.loads(text.decode(), parse_constant=no_constant)
    except UnicodeDecodeError:
        _refuse("the JSON of the request is not UTF-8. With binary values, say where it ends: "
                "Inference-Header-Content-Length.")  # fmt: skip
    except RecursionError:
        _refuse("the request is nested too deeply.")
    except ValueError as e:
        _refuse(f"the request is not JSON: {str(e)[:100]}.")


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{what} is a JSON object.")
    return value


def _parameters(of: dict[str, Any]) -> dict[str, Any]:
    given = of.get("parameters")
    return {} if given is None else _object(given, "parameters")


def _shape(value: object) -> tuple[int, ...]:
    if (
        not isinstance(value, list)
        or not 1 <= len(value) <= _MOST_AXES
        or not all(type(size) is int and 0 < size <= _LARGEST for size in value)
    ):
        _refuse(f"the shape of an input is a list of 1 to {_MOST_AXES} whole numbers above 0.")
    return tuple(value)


def _values(tensor: dict[str, Any], port: Port, tail: memoryview) -> tuple[Array, memoryview]:
    """Return the values of an input, and the bytes that belong to none."""
    if tensor.get("name") != port.name:
        _refuse(f"the model's input is called {port.name!r}.")
    datatype = tensor.get("datatype")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        _refuse(f"the datatype of an input is one of {', '.join(DATATYPES)}; the model's is "
                f"{_NAMES[port.dtype]}.")  # fmt: skip
    dtype, shape = np.dtype(DATATYPES[datatype]), _shape(tensor.get("shape"))
    count = math.prod(shape)
    size = _parameters(tensor).get("binary_data_size")
    if size is None:
        if "data" not in tensor:
            _refuse(
                "an input has data, or a binary_data_size and the header Inference-Header-Content-Length."
            )
        return _numbers(tensor["data"], dtype, count).reshape(shape), tail
    if "data" in tensor:
        _refuse("an input has data or a binary_data_size, not both.")
    if type(size) is not int or size != count * dtype.itemsize:
        _refuse(f"the shape of the input takes {count * dtype.itemsize} bytes, and its binary_data_size is "
                f"{str(size)[:40]}.")  # fmt: skip
    if size > len(tail):
        _refuse(f"binary_data_size says {size} bytes; {len(tail)} follow the JSON.")
    values = np.frombuffer(tail[:size], dtype.newbyteorder("<")).reshape(shape)
    return values.astype(dtype, copy=False), tail[size:]


def _numbers(data: object, dtype: np.dtype[Any], count: int) -> Array:
    """Return a list of numbers, flat or nested, as an array; only values that the type has are taken."""
    if not isinstance(data, list):
        _refuse("data is a list of numbers.")
    try:
        array = np.array(data)
    except (ValueError, OverflowError, RecursionError):
        _refuse("data is a list of numbers, or lists of the same length nested in each other.")
    if array.size != count:
        _refuse(f"the shape of the input takes {count} values; data has {array.size}.")
    if array.dtype.kind not in "iuf":
        _refuse("data is a list of numbers.")
    if dtype == np.uint8 and (array.dtype.kind == "f" or array.min() < 0 or array.max() > 255):
        _refuse("values of UINT8 are whole numbers from 0 to 255.")
    with np.errstate(
        over="ignore"
    ):  # what is too large becomes infinite, and is refused with the model's words
        return array.reshape(-1).astype(dtype)


def _wanted(asked: object, parameters: Mapping[str, Any], outputs: tuple[Port, ...]) -> Mapping[str, bool]:
    """Return which outputs are wanted, and whether as bytes; all if none is named."""
    usual = _flag(parameters, "binary_data_output", default=False)
    names = [port.name for port in outputs]
    if asked is None or asked == []:
        return dict.fromkeys(names, usual)
    if not isinstance(asked, list):
        _refuse("outputs is a list.")
    wanted: dict[str, bool] = {}
    for each in asked:
        output = _object(each, "an output")
        name = output.get("name")
        if name not in names:
            _refuse(f"the model's outputs are {', '.join(names)}.")
        own = _parameters(output)
        if own.get("classification"):
            _refuse("this server does not sort classes; ask for the logits.")
        wanted[name] = _flag(own, "binary_data", default=usual)
    return wanted


def _flag(parameters: Mapping[str, Any], key: str, *, default: bool) -> bool:
    value = parameters.get(key, default)
    if not isinstance(value, bool):
        _refuse(f"{key} is true or false.")
    return value


def _stream(parameters: Mapping[str, Any]) -> str | None:
    for key in _STREAM_KEYS:
        value = parameters.get(key)
        if value not in (None, 0, ""):  # 0 is how Triton's clients say that there is none
            if type(value) not in (str, int):
                _refuse(f"{key} is a text or a whole number.")
            return str(value)
    return None
