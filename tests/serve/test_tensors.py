"""The Open Inference Protocol, read and written: what goes in comes out, and nothing else is taken."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from leantta.runtime.engines import Port
from leantta.serve.refusal import RefusalError
from leantta.serve.tensors import DATATYPES, InferRequest, read_request, write_answer

Array = npt.NDArray[Any]

INPUTS = (Port("input", "float32", (None, 3)),)
OUTPUTS = (Port("logits", "float32", (None, 2)), Port("shift", "float32", (None,)))
LETTERS = {numpy: datatype for datatype, numpy in DATATYPES.items()}

VALUES = st.sampled_from(["uint8", "float32", "float64"]).flatmap(
    lambda dtype: arrays.arrays(
        dtype,
        arrays.array_shapes(min_dims=1, max_dims=4, max_side=4),
        elements=None if dtype == "uint8" else {"allow_nan": False, "allow_infinity": False},
    )
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def bodies(values: Array, **parameters: Any) -> tuple[tuple[bytes, None], tuple[bytes, str]]:
    """The same request as JSON and in binary."""
    tensor = {"name": "input", "shape": list(values.shape), "datatype": LETTERS[values.dtype.name]}
    flat = {**tensor, "data": values.ravel().tolist()}
    data = values.tobytes()
    binary = {**tensor, "parameters": {"binary_data_size": len(data)}}
    as_json = json.dumps({"inputs": [flat], "parameters": parameters}).encode()
    head = json.dumps({"inputs": [binary], "parameters": parameters}).encode()
    return (as_json, None), (head + data, str(len(head)))


@given(VALUES)
def test_values_arrive_as_they_were_sent(values: Array) -> None:
    for body, length in bodies(values):
        found = read_request(body, length, INPUTS, OUTPUTS)
        assert found.values.dtype == values.dtype
        np.testing.assert_array_equal(found.values, values)
        assert dict(found.outputs) == {"logits": False, "shift": False}


@given(VALUES)
def test_nested_lists_are_taken_as_flat_ones(values: Array) -> None:
    tensor = {"name": "input", "shape": list(values.shape), "datatype": LETTERS[values.dtype.name]}
    body = json.dumps({"inputs": [{**tensor, "data": values.tolist()}]}).encode()
    np.testing.assert_array_equal(read_request(body, None, INPUTS, OUTPUTS).values, values)


@given(st.binary(max_size=200), st.none() | st.text(max_size=5) | st.integers(-5, 300).map(str))
def test_any_bytes_are_read_or_refused(body: bytes, length: str | None) -> None:
    with pytest.raises(RefusalError) as refused:
        read_request(body, length, INPUTS, OUTPUTS)
    assert 400 <= refused.value.status < 500


@given(ANY_JSON, st.sampled_from(["name", "shape", "datatype", "data", "parameters"]))
def test_any_json_in_the_place_of_a_field_is_read_or_refused(value: object, field: str) -> None:
    tensor = {"name": "input", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3], field: value}
    try:
        found = read_request(json.dumps({"inputs": [tensor]}).encode(), None, INPUTS, OUTPUTS)
    except RefusalError as e:
        assert e.status == 400  # noqa: PT017 - either is right
        return
    assert found.values.size == 3 or field in ("shape", "data")


@given(ANY_JSON, st.sampled_from(["id", "parameters", "inputs", "outputs"]))
def test_any_json_in_the_place_of_a_part_is_read_or_refused(value: object, part: str) -> None:
    (body, _), _ = bodies(np.zeros((1, 3), np.float32))
    asked = {**json.loads(body), part: value}
    try:
        read_request(json.dumps(asked).encode(), None, INPUTS, OUTPUTS)
    except RefusalError as e:
        assert e.status == 400  # noqa: PT017 - either is right


def test_outputs_are_those_that_are_asked_for_each_in_its_form() -> None:
    asked = {
        "inputs": json.loads(bodies(np.zeros((1, 3), np.float32))[0][0])["inputs"],
        "outputs": [{"name": "shift", "parameters": {"binary_data": True}}, {"name": "logits"}],
        "id": "four",
    }
    request = read_request(json.dumps(asked).encode(), None, INPUTS, OUTPUTS)
    assert dict(request.outputs) == {"shift": True, "logits": False}
    outputs: dict[str, Array] = {
        "logits": np.array([[1.5, -2.0]], np.float32),
        "shift": np.array([0.25], np.float32),
    }
    body, head = write_answer("camera", "abc", request, outputs)
    assert head is not None
    told = json.loads(body[:head])
    assert told["id"] == "four"
    assert (told["model_name"], told["model_version"]) == ("camera", "abc")
    assert told["outputs"][1]["data"] == [1.5, -2.0]
    assert told["outputs"][0]["parameters"] == {"binary_data_size": 4}
    assert np.frombuffer(body[head:], "<f4").tolist() == [0.25]


@pytest.mark.parametrize("key", ["stream", "sequence_id"])
@pytest.mark.parametrize(("value", "stream"), [("a", "a"), (7, "7"), (0, None), ("", None)])
def test_a_stream_has_a_name_or_a_number(key: str, value: object, stream: str | None) -> None:
    for body, length in bodies(np.zeros((1, 3), np.float32), **{key: value, "sequence_start": True}):
        request: InferRequest = read_request(body, length, INPUTS, OUTPUTS)
        assert (request.stream, request.starts, request.ends) == (stream, True, False)
