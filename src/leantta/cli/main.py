"""The command `leantta`: results on stdout, progress on stderr.

Exit codes: 0 done, 1 an error that the message explains, 2 wrong usage, 130 interrupted.
A bug shows a traceback.
"""

import sys

import click

from leantta import __version__, plugins
from leantta.cli.bench import bench
from leantta.cli.convert import convert
from leantta.cli.corrupt import corrupt
from leantta.cli.doctor import doctor
from leantta.cli.evaluation import evaluation
from leantta.cli.inspection import inspection
from leantta.cli.play import play
from leantta.cli.report import report
from leantta.cli.run import run
from leantta.cli.sample import sample
from leantta.cli.scan import scan
from leantta.cli.serve import serve
from leantta.cli.sign import keys, sign
from leantta.cli.verify import verify
from leantta.cli.watch import watch
from leantta.errors import LeanTTAError
from leantta.extras import missing_extra


class _Commands(click.Group):
    """The tool's own commands, and those that other packages bring."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(dict.fromkeys([*super().list_commands(ctx), *plugins.brought("commands")]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; one of the laboratory where that is missing says how to install it."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in {*plugins.LAB_NAMES["commands"], *plugins.brought("commands")}:
            return own
        command: click.Command = plugins.load("commands", cmd_name)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="leantta")
def cli() -> None:
    """Test-time adaptation for small CNNs: each input adapts the BatchNorm statistics for itself.

    \b
    A first look:
      leantta sample                     a model file and photographs to try the others on
      leantta demo                       a network loses accuracy on corrupted images and wins it back
      leantta inspect mobilenet_v2       what would adapt, what would be fused, and why
      leantta eval --model resnet18 --stream abrupt --method none,leantta --images cifar10.npz
      leantta convert resnet18 --calibration cifar10.npz -o r18.onnx
      leantta run r18.onnx photo.png     one int8 file that adapts as it runs; no torch needed
      leantta serve r18.onnx             the same file behind HTTP
      leantta bench r18.onnx             what it costs: time, memory, start-up, energy
    """


COMMANDS = (
    *(inspection, convert, evaluation, report, corrupt, run, scan, serve, watch, play),
    *(verify, keys, sign, bench, doctor, sample),
)
for command in COMMANDS:
    cli.add_command(command)


def main() -> None:
    """Run the command line and exit."""
    try:
        sys.exit(cli.main(standalone_mode=False))
    except click.UsageError as e:
        e.show()
        sys.exit(2)
    except click.ClickException as e:
        _fail(e.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except LeanTTAError as e:
        _fail(str(e))
    except MemoryError as e:
        _fail(f"this machine has not enough memory for that: {str(e) or 'nothing more is free'}.")
    except ModuleNotFoundError as e:
        explained = missing_extra(e)
        if not isinstance(explained, LeanTTAError):
            raise
        _fail(str(explained))


def _fail(message: str) -> None:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    sys.exit(1)
