"""`leantta doctor`: whether this machine is fit to run model files."""

import json

import click

from leantta.cli import options


@click.command("doctor")
@options.as_json
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Tell in one screen whether this machine is fit, and what to do if it is not.

    Looked at are Python (64-bit only), numpy, Pillow and onnxruntime, which are tried in a process of their
    own, the native kernel and the path that it takes here, processor, memory, and which extras are installed.
    The exit code is 1 if `leantta run` would not work.

    \b
    Examples:
      leantta doctor
      leantta doctor --json
    """
    from leantta.runtime.fitness import findings
    from leantta.tables import render

    found = findings()
    fit = all(each.ok for each in found)
    if as_json:
        click.echo(json.dumps({"fit": fit, "findings": [each._asdict() for each in found]}, indent=1))
    else:
        cells = [[name, "ok" if ok else "FAILED", detail] for name, ok, detail in found]
        click.echo(render(["", "result", "detail"], cells))
        click.echo(f"\nleantta run {'works' if fit else 'does not work'} on this machine.")
    if not fit:
        context.exit(1)
