"""A little web server for the playground, for this computer alone."""

from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from leantta.errors import SettingError
from leantta.play.site import POLICY, START, Content, content_type, read

HOST = "127.0.0.1"


class _Handler(BaseHTTPRequestHandler):
    """Sends the files of the page and nothing else: no path of a request reaches the disk."""

    protocol_version = "HTTP/1.1"
    files: Mapping[str, Content]

    def do_GET(self) -> None:
        """Send a file."""
        name = unquote(urlsplit(self.path).path).lstrip("/") or START
        if name not in self.files:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            body = read(self.files[name])
        except OSError:
            self.send_error(HTTPStatus.GONE, "the file is no longer there")
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type(name))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")  # a model that is converted again is seen at once
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing: a person who plays has no use for a log."""


def page_server(files: Mapping[str, Content], port: int) -> ThreadingHTTPServer:
    """Return a server of the page on localhost, ready for `serve_forever`; port 0 means a free one.

    Raises:
        SettingError: the port is taken or not allowed.
    """
    handler = type("Handler", (_Handler,), {"files": files})
    try:
        server = ThreadingHTTPServer((HOST, port), handler)
    except OSError as e:
        raise SettingError(f"cannot use port {port}: {e.strerror or e}. Choose another with --port.") from e
    server.daemon_threads = True
    return server


def address(server: ThreadingHTTPServer) -> str:
    """Return where the page is."""
    return f"http://{HOST}:{server.server_port}/"
