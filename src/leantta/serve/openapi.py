"""What can be asked of the server, as OpenAPI 3.1 has it."""

from collections.abc import Sequence
from typing import Any

from leantta import __version__
from leantta.serve.models import Version
from leantta.serve.tensors import DATATYPES

Json = dict[str, Any]

_ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}},
}
_TENSOR: Json = {
    "type": "object",
    "required": ["name", "datatype", "shape"],
    "properties": {
        "name": {"type": "string"},
        "datatype": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}},
    },
}
_REFUSALS = {
    "400": "The request makes no sense for the model.",
    "401": "The token is missing or wrong.",
    "404": "There is no such model.",
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "415": "The body is compressed.",
    "422": "The file or its values cannot be used.",
    "429": "Too much is waiting; try again after Retry-After seconds.",
    "503": "The server stops.",
    "504": "No answer in time.",
}
_GET_REFUSALS = ("401", "404", "503")


def description(versions: Sequence[Version], needs_token: bool) -> Json:
    """Return the description of a server with these models."""
    names = [version.name for version in versions]
    name = _parameter("name", "path", {"type": "string", "enum": names})
    paths: Json = {
        "/v2": {"get": _get("What server this is.")},
        "/v2/health/live": {"get": _get("Whether the server runs.", open_to_all=True)},
        "/v2/health/ready": {"get": _get("Whether requests are taken.", open_to_all=True)},
        "/v2/models/{name}": {"get": _get("What a model takes and gives.", [name])},
        "/v2/models/{name}/ready": {"get": _get("Whether a model takes requests.", [name], open_to_all=True)},
        "/v2/models/{name}/infer": {"post": _infer(versions, name)},
        "/predict": {"post": _predict(names)},
        "/metrics": {"get": _get("Numbers for Prometheus.", media="text/plain")},
    }
    told: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "leantta serve",
            "version": __version__,
            "description": "Models that adapt to each input and say how far it is from their training data.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR, "Tensor": _TENSOR}},
    }
    if needs_token:
        told["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        told["security"] = [{"token": []}]
    return told


def _infer(versions: Sequence[Version], name: Json) -> Json:
    inputs = sorted({port.name for version in versions for port in version.inputs})
    outputs = sorted({port.name for version in versions for port in version.outputs})
    given: Json = {
        "type": "object",
        "required": ["name", "datatype", "shape", "data"],
        "properties": {
            "name": {"enum": inputs},
            "datatype": {"enum": list(DATATYPES)},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
            "data": {"type": "array"},
        },
    }
    request: Json = {
        "type": "object",
        "required": ["inputs"],
        "properties": {
            "id": {"type": "string"},
            "parameters": {"type": "object", "properties": {
                "stream": {"type": "string"},
                "binary_data_output": {"type": "boolean"},
            }},
            "inputs": {"type": "array", "items": given, "minItems": 1, "maxItems": 1},
            "outputs": {"type": "array", "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"enum": outputs}},
            }},
        },
    }  # fmt: skip
    answer: Json = {
        "type": "object",
        "required": ["model_name", "model_version", "outputs"],
        "properties": {"outputs": {"type": "array", "items": {"$ref": "#/components/schemas/Tensor"}}},
    }
    binary: Json = {"schema": {"type": "string", "format": "binary"}}
    media = {"application/json": {"schema": answer}, "application/octet-stream": binary}
    return {
        "summary": "Predict tensors: the Open Inference Protocol, with its binary tensor extension.",
        "parameters": [name, _stream_header()],
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {"description": "What the model says.", "content": media},
            **_refusals(_REFUSALS),
        },
    }


def _predict(names: list[str]) -> Json:
    prediction: Json = {
        "type": "object",
        "required": ["shift"],
        "properties": {
            "label": {"type": "string"},
            "probability": {"type": "number"},
            "shift": {"type": ["number", "null"]},
            "distances": {"type": "object", "additionalProperties": {"type": "number"}},
        },
    }
    answer: Json = {
        "type": "object",
        "required": ["model", "version", "predictions"],
        "properties": {"predictions": {"type": "array", "items": prediction}},
    }
    body: Json = {"schema": {"type": "string", "format": "binary"}}
    return {
        "summary": "Predict a plain file: JPEG, PNG, BMP or WebP; WAV, FLAC, OGG or MP3; CSV.",
        "parameters": [
            _parameter("model", "query", {"type": "string", "enum": names}, required=len(names) > 1),
            _parameter("top", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, required=False),
            _stream_header(),
        ],
        "requestBody": {"required": True, "content": {"application/octet-stream": body}},
        "responses": {
            "200": {
                "description": "What the model says of each input in the file.",
                "content": {"application/json": {"schema": answer}},
            },
            **_refusals([*_REFUSALS, "501"]),
        },
    }


def _get(
    summary: str,
    parameters: Sequence[Json] = (),
    *,
    media: str = "application/json",
    open_to_all: bool = False,
) -> Json:
    told: Json = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {
            "200": {"description": "So it is.", "content": {media: {}}},
            **_refusals(_GET_REFUSALS),
        },
    }
    if open_to_all:
        told["security"] = []
    return told


def _refusals(codes: Sequence[str] | dict[str, str]) -> Json:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {code: {"description": _REFUSALS.get(code, "Missing here."), "content": content} for code in codes}


def _stream_header() -> Json:
    return _parameter("X-Stream-Id", "header", {"type": "string", "maxLength": 256}, required=False)


def _parameter(name: str, place: str, schema: Json, *, required: bool = True) -> Json:
    return {"name": name, "in": place, "required": required, "schema": schema}
