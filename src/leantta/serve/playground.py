"""The playground of a model at /play/NAME/: the same page that `leantta play` opens (see `leantta.play`).

It sends the model file itself, so it needs the token where there is one; a browser has no way to send that.
"""

from collections.abc import Mapping
from pathlib import Path

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from leantta.errors import DownloadError
from leantta.play.site import POLICY, START, Content, content_type, read, site_files
from leantta.serve.models import Models
from leantta.serve.refusal import RefusalError

PATHS = ("/play/{name}", "/play/{name}/{file:path}")


class Playground:
    """Sends the page's files, made once for each version of a model."""

    def __init__(self, models: Models) -> None:
        """Take the models that may be played with."""
        self.models = models
        self._made: dict[str, Mapping[str, Content]] = {}  # by the digest of the model file

    async def __call__(self, request: Request) -> Response:
        """Send a file of the page."""
        version = self.models.get(request.path_params["name"])
        if "file" not in request.path_params:
            return RedirectResponse(f"/play/{version.name}/")  # its paths are relative
        if version.digest not in self._made:
            path = Path(version.session.name)
            try:
                self._made = {version.digest: await to_thread.run_sync(site_files, path)}
            except DownloadError as e:
                raise RefusalError(503, str(e)) from e
        files = self._made[version.digest]
        name = request.path_params["file"] or START
        if name not in files:
            raise RefusalError(404, f"the page has no file {name!r}.")
        headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
        body = await to_thread.run_sync(read, files[name])
        return Response(body, media_type=content_type(name), headers=headers)
