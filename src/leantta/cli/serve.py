"""`leantta serve`: model files behind HTTP."""

import logging
from pathlib import Path

import click

from leantta.errors import MissingFileError, SettingError
from leantta.files import existing


@click.command("serve")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 is all.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free one."
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads for one prediction. [default: all]")
@click.option(
    "--max-batch",
    type=click.IntRange(1, 1024),
    default=32,
    show_default=True,
    help="Inputs computed at once.",
)
@click.option(
    "--queue", type=click.IntRange(1, 100_000), default=256, show_default=True,
    help="Requests that may wait for a model; more are told to try again (429).",
)  # fmt: skip
@click.option(
    "--streams", type=click.IntRange(1, 100_000), default=64, show_default=True,
    help="Streams that a model remembers; the one not used for longest is forgotten.",
)  # fmt: skip
@click.option(
    "--timeout", type=click.FloatRange(0.01, 3600), default=30, show_default=True,
    help="Seconds until a request is given up (504).",
)  # fmt: skip
@click.option(
    "--max-bytes", type=click.IntRange(min=1024), default=16_777_216, show_default=True,
    help="The largest body of a request.",
)  # fmt: skip
@click.option(
    "--max-pixels", type=click.IntRange(min=1), default=25_000_000, show_default=True,
    help="The largest image, looked at before it is decoded.",
)  # fmt: skip
@click.option(
    "--token-file", type=click.Path(path_type=Path),
    help="A file with a secret that every request must bring: Authorization: Bearer SECRET.",
)  # fmt: skip
@click.option(
    "--key", type=click.Path(path_type=Path),
    help="A public key: files, also new ones, must be signed with its private one.",
)  # fmt: skip
def serve(
    files: tuple[Path, ...],
    host: str,
    port: int,
    threads: int | None,
    max_batch: int,
    queue: int,
    streams: int,
    timeout: float,
    max_bytes: int,
    max_pixels: int,
    token_file: Path | None,
    key: Path | None,
) -> None:
    """Answer requests over HTTP with model files that `leantta convert` made.

    It speaks the Open Inference Protocol (KServe v2) with binary tensors, so Triton's and KServe's clients
    work as they are; and POST /predict takes a JPEG, PNG, WAV or CSV as it is. /metrics is for Prometheus,
    /openapi.json describes it all. A model is called like its file, and a file that is replaced takes over
    by itself.

    It listens on this machine only, unless --host says otherwise. Needs: pip install 'leantta[serve]'

    \b
    Examples:
      leantta serve model.onnx
      curl --data-binary @cat.png http://127.0.0.1:8000/predict
      curl http://127.0.0.1:8000/v2/models/model
      leantta serve r18.onnx birds.onnx --port 9000 --threads 1
      curl --data-binary @clip.wav 'http://127.0.0.1:9000/predict?model=birds&top=3'
      curl --data-binary @frame.jpg -H 'X-Stream-Id: gate-2' http://127.0.0.1:8000/predict
      leantta serve model.onnx --host 0.0.0.0 --token-file secret.txt
    """
    from leantta.serve.app import Settings
    from leantta.serve.batching import Limits
    from leantta.serve.server import LOCAL, listen
    from leantta.serve.server import serve as serve_files

    logging.basicConfig(format="%(message)s")
    token = None if token_file is None else _token(token_file)
    listener = listen(host, port)
    if host not in LOCAL:
        click.echo(f"warning: {_exposed(host, token is not None)}", err=True)
    settings = Settings(
        threads=threads,
        key=key,
        limits=Limits(max_batch=max_batch, queue=queue, streams=streams),
        max_bytes=max_bytes,
        max_pixels=max_pixels,
        timeout_s=timeout,
    )

    def started(names: list[str]) -> None:
        place, number = listener.getsockname()[:2]
        shown = f"[{place}]" if ":" in place else place
        click.echo(f"{', '.join(names)} at http://{shown}:{number}")

    serve_files(list(files), listener, settings, token, started)


def _exposed(host: str, has_token: bool) -> str:
    if has_token:
        return f"listening at {host}: others can reach it, and its token is sent as it is. Use TLS."
    return f"listening at {host} WITHOUT A TOKEN: whoever reaches this machine can use it. Give --token-file."


def _token(path: Path) -> str:
    """Return the secret in a file.

    Raises:
        MissingFileError: there is nothing at `path`.
        SettingError: the file holds no secret.
    """
    try:
        token = existing(path, "token file").read_text(encoding="utf-8").strip()
    except MissingFileError:
        raise
    except (OSError, UnicodeDecodeError) as e:
        raise SettingError(f"cannot read the token in {path}: {e}. Give a text file.") from e
    if len(token) < 8 or not token.isascii() or any(letter.isspace() for letter in token):
        raise SettingError(f"{path} holds no token: one word of 8 letters or more. Try: openssl rand -hex 32")
    return token
