"""`leantta verify`: whether a model file is whole and computes what it should."""

import json
from pathlib import Path

import click

from leantta.cli import options
from leantta.cli.run import engine_option


@click.command("verify")
@click.argument("model", type=click.Path(path_type=Path))
@engine_option
@options.as_json
@click.pass_context
def verify(context: click.Context, model: Path, engine: str, as_json: bool) -> None:
    """Check the model file MODEL: structure, digest, metadata, and the self-test that it carries.

    The exit code is 1 if a check fails.

    \b
    Examples:
      leantta verify model.onnx
      leantta verify model.onnx --engine openvino
      leantta verify model.onnx --json
    """
    from leantta.runtime.verify import verify as check
    from leantta.tables import render

    checks = check(model, engine=engine)
    ok = all(found.ok for found in checks)
    if as_json:
        rows = [found._asdict() for found in checks]
        click.echo(json.dumps({"path": str(model), "engine": engine, "ok": ok, "checks": rows}, indent=1))
    else:
        cells = [[name, "ok" if good else "FAILED", detail] for name, good, detail in checks]
        click.echo(render(["check", "result", "detail"], cells))
    if not ok:
        context.exit(1)
