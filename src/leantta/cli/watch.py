"""`leantta watch`: whether what a model sees in the field has drifted away from its training data."""

import signal
from pathlib import Path

import click

from leantta.cli import options
from leantta.cli.run import engine_option


@click.command("watch")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source")
@click.option(
    "--windows",
    default="25,100,400",
    show_default=True,
    help="How many of the last inputs are looked at: few see a strong drift soon, many a weak one.",
)
@click.option(
    "--false-alarms",
    default=1e-4,
    show_default=True,
    help="On inputs like the training data, at most this share of them meets a false alarm.",
)
@click.option(
    "--every",
    "every_s",
    default=1.0,
    show_default=True,
    help="Seconds between frames of a camera or film; 0: all.",
)
@click.option("--once", is_flag=True, help="Stop when the files of a folder are done; else wait for more.")
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    help="Keep what is seen, as lines of JSON; a watch that was stopped goes on after them.",
)
@click.option(
    "--examples", type=click.Path(path_type=Path), help="Folder for pictures of the most shifted inputs."
)
@click.option("--keep", default=50, show_default=True, help="Pictures in that folder, at most.")
@click.option(
    "--hook",
    help="Command that is run at an alarm and at its end, with the event as JSON on its standard input.",
)
@click.option(
    "--mqtt", metavar="HOST[:PORT]", help="Tell a broker, and Home Assistant through it. Needs leantta[mqtt]."
)
@click.option("--topic", default="leantta", show_default=True, help="Under which topic the broker is told.")
@click.option("--memory", is_flag=True, help="Let inputs follow each other: a file converted with --stream.")
@engine_option
@click.option("--threads", type=click.IntRange(min=1), help="Threads for one prediction. [default: all]")
def watch(
    model: Path,
    source: str,
    windows: str,
    false_alarms: float,
    every_s: float,
    once: bool,
    log: Path | None,
    examples: Path | None,
    keep: int,
    hook: str | None,
    mqtt: str | None,
    topic: str,
    memory: bool,
    engine: str,
    threads: int | None,
) -> None:
    """Watch whether inputs drift away from the training data of the model file MODEL.

    SOURCE is a folder that fills, camera:0 (OpenCV), camera:picamera (a Raspberry Pi's), a film, - for
    standard input (paths, or lines of `leantta run --json`), or a .jsonl of such lines.

    Of inputs like the training data 1 in 100 has a shift above 1. There is an alarm when the last inputs hold
    more than chance gives, by an exact test, and a recovery when they no longer do. Ctrl+C ends the watch.

    \b
    Examples:
      leantta watch model.onnx inbox/ --log watch.jsonl --examples odd/
      leantta watch model.onnx camera:0 --every 5 --hook 'systemctl --user start tell-me'
      leantta watch model.onnx door.mp4 --every 0
      leantta watch model.onnx inbox/ --mqtt broker.local --topic leantta/door
      leantta run model.onnx photos/ --json | leantta watch model.onnx -
      leantta report watch.jsonl -o watch.html
    """
    from leantta.modalities.kinds import modality_for
    from leantta.monitor.examples import Examples
    from leantta.monitor.log import Log, read_lines
    from leantta.monitor.monitor import Monitor
    from leantta.monitor.mqtt import Mqtt
    from leantta.monitor.sources import inputs_of
    from leantta.monitor.watching import Listeners, Summary
    from leantta.monitor.watching import watch as follow
    from leantta.runtime.container import DIGEST_KEY, read_container
    from leantta.runtime.session import load

    with load(model, engine=engine, threads=threads, memory=memory) as session:
        monitor = Monitor.of(
            session.info, windows=options.numbers(windows, "windows"), false_alarms=false_alarms
        )
        reader = modality_for(session.info.input.kind).reader(session.info)
        known = frozenset[str]()
        if log is not None and log.is_file():
            known = frozenset(str(line["path"]) for line in read_lines(log) if "path" in line)
        header = {
            "model": session.info.model,
            "artifact_sha256": read_container(model).metadata[DIGEST_KEY],
            "windows": monitor.windows,
            "false_alarms": false_alarms,
            "images": monitor.images,
        }
        to = Listeners(
            log=None if log is None else Log(log, header),
            examples=None if examples is None else Examples(examples, keep),
            mqtt=None if mqtt is None else Mqtt(mqtt, topic, session.info.model),
            hook=hook,
            tell=lambda line: click.echo(line, err=line.startswith("error")),
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # systemd's stop ends it as Ctrl+C does
        raising = " or ".join(f"{monitor.least[window]} of {window}" for window in monitor.windows)
        click.echo(f"watching {source}: {raising} above 1 raise an alarm", err=True)
        summary = Summary()
        try:
            follow(
                session,
                inputs_of(source, reader, every_s=every_s, once=once, known=known),
                monitor,
                to,
                summary,
            )
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
        finally:
            if to.log is not None:
                to.log.close()
            if to.mqtt is not None:
                to.mqtt.close()
    share = 100 * summary.shifted / max(summary.inputs, 1)
    click.echo(
        f"{summary.inputs:,} inputs, {summary.shifted:,} with a shift above 1 ({share:.1f} %), "
        f"alarms: {summary.alarms}, could not be read: {summary.errors}"
    )
