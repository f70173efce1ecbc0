"""`leantta verify`: whether a model file is whole and computes what it should."""

import json
from pathlib import Path

import click

from leantta.cli import options
from leantta.cli.run import engine_option


@click.command("verify")
@click.argument("model", type=click.Path(path_type=Path))
@engine_option
@click.option(
    "--key", type=click.Path(path_type=Path),
    help="A public key; the file must have been signed with its private one (`leantta sign`).",
)  # fmt: skip
@options.as_json
@click.pass_context
def verify(context: click.Context, model: Path, engine: str, key: Path | None, as_json: bool) -> None:
    """Check the model file MODEL: structure, digest, metadata, and the self-test that it carries.

    The exit code is 1 if a check fails.

    The digest finds damage, not people: whoever changes a file can write a new digest and a new self-test
    into it. To know who made a file, have it signed and check it with --key.

    \b
    Examples:
      leantta verify model.onnx
      leantta verify model.onnx --engine openvino
      leantta verify model.onnx --key ours.pub
      leantta verify model.onnx --json
    """
    from leantta.runtime.verify import verify as check
    from leantta.tables import render

    checks = check(model, engine=engine, key=key)
    ok = all(found.ok for found in checks)
    if as_json:
        rows = [found._asdict() for found in checks]
        click.echo(json.dumps({"path": str(model), "engine": engine, "ok": ok, "checks": rows}, indent=1))
    else:
        cells = [[name, "ok" if good else "FAILED", detail] for name, good, detail in checks]
        click.echo(render(["check", "result", "detail"], cells))
    if not ok:
        context.exit(1)
