"""The routes of the server: the Open Inference Protocol, `POST /predict`, `/metrics`, `/openapi.json`."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from leantta import __version__
from leantta.errors import DataError
from leantta.modalities.modality import Given
from leantta.runtime.inputs import prepare, single
from leantta.runtime.prediction import Outputs
from leantta.runtime.told import facts
from leantta.serve import tensors
from leantta.serve.batching import Limits, Stream
from leantta.serve.body import Bodies
from leantta.serve.door import Door, told_of_http
from leantta.serve.models import Models, Version
from leantta.serve.numbers import ServerNumbers
from leantta.serve.openapi import description
from leantta.serve.playground import PATHS, Playground
from leantta.serve.refusal import RefusalError
from leantta.serve.uploads import Uploads

_MOST_TOP = 1000
_MOST_STREAM_LETTERS = 256


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a server works."""

    threads: int | None = None  # of one prediction
    key: Path | None = None  # a public key: files must be signed
    limits: Limits = field(default_factory=Limits)
    max_bytes: int = 16_777_216  # of one body
    max_pixels: int = 25_000_000  # of one image
    max_inputs: int = 64  # in one plain file, such as the windows of a long sound
    timeout_s: float = 30.0  # of one prediction, its time in the queue included
    body_timeout_s: float = 10.0
    budget_bytes: int = 268_435_456  # of all bodies at once
    reload_s: float = 1.0  # how often files are looked at


class Service:
    """What the routes do."""

    def __init__(self, models: Models, settings: Settings, token: str | None) -> None:
        self.models = models
        self.settings = settings
        self.registry = CollectorRegistry()
        self.door = Door(token, settings.max_bytes, self.registry)
        ProcessCollector(registry=self.registry)
        self.registry.register(ServerNumbers(models))
        self._bodies = Bodies(
            max_bytes=settings.max_bytes,
            timeout_s=settings.body_timeout_s,
            budget_bytes=max(settings.budget_bytes, settings.max_bytes),
        )
        self._uploads = Uploads(max_pixels=settings.max_pixels, max_inputs=settings.max_inputs)
        self._reading = ThreadPoolExecutor(1, "leantta read")  # Pillow's warnings are the process's

    def routes(self) -> list[Route]:
        """Return the routes; each model is reachable with and without its version."""
        work, look = self.door.work, self.door.look
        model, versioned = "/v2/models/{name}", "/v2/models/{name}/versions/{version}"
        infer, page = work("infer", self.infer), look(Playground(self.models))
        return [
            *(
                Route(f"{path}/infer", infer, methods=["POST"]) for path in (model, versioned)
            ),  # the most used
            Route("/v2", look(self.about)),
            Route("/v2/health/live", self.live),
            Route("/v2/health/ready", self.ready),
            Route("/v2/repository/index", look(self.index), methods=["POST"]),
            *(Route(path, look(self.model)) for path in (model, versioned)),
            *(Route(f"{path}/ready", self.model_ready) for path in (model, versioned)),
            Route("/predict", work("predict", self.predict), methods=["POST"]),
            Route("/metrics", look(self.metrics)),
            Route("/openapi.json", look(self.openapi)),
            *(Route(path, page) for path in PATHS),
        ]

    async def about(self, _request: Request) -> Response:
        """Tell what server this is."""
        extensions = ["binary_tensor_data", "model_repository", "sequence"]
        return JSONResponse({"name": "leantta", "version": __version__, "extensions": extensions})

    async def live(self, _request: Request) -> Response:
        """Tell that the server runs."""
        return JSONResponse({"live": True})

    async def ready(self, _request: Request) -> Response:
        """Tell whether requests are taken."""
        return JSONResponse({"ready": not self.door.stopping}, 503 if self.door.stopping else 200)

    async def index(self, _request: Request) -> Response:
        """Tell which models there are."""
        return JSONResponse(
            [{"name": each.name, "version": each.short, "state": "READY"} for each in self.models.versions()]
        )

    async def model(self, request: Request) -> Response:
        """Tell what a model takes and gives."""
        version = self._version(request)
        info = version.info
        return JSONResponse(
            {
                "name": version.name,
                "versions": [version.short],
                "platform": "onnx_leantta",
                "inputs": [tensors.described(port) for port in version.inputs],
                "outputs": [tensors.described(port) for port in version.outputs],
                "parameters": {
                    "model": info.model,
                    "sha256": version.digest,
                    "layers": list(info.layers),
                    "classes": None if info.classes is None else list(info.classes),
                    "streams": info.memory is not None,
                },
            }
        )

    async def model_ready(self, request: Request) -> Response:
        """Tell whether a model takes requests."""
        try:
            version = self._version(request)
        except RefusalError as e:
            return JSONResponse({"error": str(e)}, e.status)
        ready = not self.door.stopping
        return JSONResponse({"name": version.name, "ready": ready}, 200 if ready else 503)

    async def infer(self, request: Request) -> Response:
        """Answer a request of the Open Inference Protocol."""
        self._version(request)  # a model that is not there is said before the body is read
        async with self._bodies.read(request) as body:
            return await self._inferred(request, body)

    async def _inferred(self, request: Request, body: bytes) -> Response:
        with self._version(request).held() as version:
            asked = tensors.read_request(
                body, request.headers.get(tensors.HEADER_LENGTH), version.inputs, version.outputs
            )
            stream = None
            if name := asked.stream or _stream_of(request):
                stream = Stream(name, starts=asked.starts, ends=asked.ends)
            outputs = await self._computed(version, asked.values, stream)
            answer, head = tensors.write_answer(version.name, version.short, asked, outputs.named())
        if head is None:
            return Response(answer, media_type="application/json")
        headers = {tensors.HEADER_LENGTH: str(head)}
        return Response(answer, media_type="application/octet-stream", headers=headers)

    async def predict(self, request: Request) -> Response:
        """Answer what is in a plain file."""
        top, name = _top(request), request.query_params.get("model")
        self._remember(request, self.models.get(name))
        async with self._bodies.read(request) as body:
            with self.models.get(name).held() as version:
                predictions = await self._predicted(request, version, body, top)
        return _json({"model": version.name, "version": version.short, "predictions": predictions})

    async def _predicted(
        self, request: Request, version: Version, body: bytes, top: int
    ) -> list[dict[str, Any]]:
        if version.reader is None:
            raise RefusalError(400, version.no_reader)
        loop = asyncio.get_running_loop()
        given = await loop.run_in_executor(self._reading, self._uploads.read, body, version.reader)
        stream = Stream(found) if (found := _stream_of(request)) else None
        inputs = np.concatenate([single(each.values, version.info.input) for each in given])
        most = self.settings.limits.max_batch
        parts = [
            await self._computed(version, inputs[start : start + most], stream)
            for start in range(0, len(inputs), most)
        ]
        return list(_told(version, given, parts, top))

    async def metrics(self, request: Request) -> Response:
        """Tell the numbers for Prometheus."""
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self.registry), headers={"Content-Type": media_type})

    async def openapi(self, _request: Request) -> Response:
        """Tell what can be asked, as OpenAPI has it."""
        return JSONResponse(description(self.models.versions(), self.door.needs_token))

    async def close(self) -> None:
        """Finish what was accepted."""
        await self.models.close()
        self._reading.shutdown()
        self._uploads.close()

    def _version(self, request: Request) -> Version:
        found = self.models.get(request.path_params["name"], request.path_params.get("version"))
        self._remember(request, found)
        return found

    def _remember(self, request: Request, version: Version) -> None:
        request.state.model = version.name

    async def _computed(self, version: Version, values: tensors.Array, stream: Stream | None) -> Outputs:
        try:
            inputs = prepare(values, version.info.input)
        except DataError as e:
            raise RefusalError(400, str(e)) from e
        try:
            with anyio.fail_after(self.settings.timeout_s):
                return await version.worker.submit(inputs, stream)
        except TimeoutError as e:
            raise RefusalError(504, f"no answer within {self.settings.timeout_s:g} seconds.") from e


def _told(version: Version, given: list[Given], parts: list[Outputs], top: int) -> Iterator[dict[str, Any]]:
    """Give what is told of each input of a file, the same as `leantta run --explain` tells."""
    session = version.session
    answers = (session.prediction(part, place) for part in parts for place in range(part.count))
    for each, prediction in zip(given, answers, strict=True):
        place = {} if each.start_s is None else {"start_s": round(each.start_s, 3)}
        yield place | facts(version.info, prediction, top=top, explain=True)


def _json(value: object) -> Response:
    return Response(json.dumps(value, allow_nan=False), media_type="application/json")


def _top(request: Request) -> int:
    text = request.query_params.get("top", "5")
    if not (text.isascii() and text.isdigit()) or len(text) > 4 or not 1 <= int(text) <= _MOST_TOP:
        raise RefusalError(400, f"top is a number from 1 to {_MOST_TOP}.")
    return int(text)


def _stream_of(request: Request) -> str | None:
    name = request.headers.get("x-stream-id")
    if name and len(name) > _MOST_STREAM_LETTERS:
        raise RefusalError(400, f"X-Stream-Id has at most {_MOST_STREAM_LETTERS} letters.")
    return name or None


def make_app(paths: list[Path], settings: Settings, token: str | None) -> tuple[Starlette, Service]:
    """Return the application and its service; the files are loaded here, in the event loop that serves.

    Raises:
        LeanTTAError: a file is missing, damaged or not ours.
    """
    models = Models(settings.limits, settings.threads, settings.key)
    models.load(paths)
    service = Service(models, settings, token)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(models.follow(settings.reload_s))
        yield
        following.cancel()
        await service.close()

    errors = {HTTPException: told_of_http, Exception: told_of_http}
    app = Starlette(routes=service.routes(), lifespan=lifespan, exception_handlers=errors)
    app.router.redirect_slashes = False  # a path is there, or it is not
    return app, service
