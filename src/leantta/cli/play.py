"""`leantta play`: a page that runs a model file in the browser."""

from pathlib import Path

import click


@click.command("play")
@click.argument("model", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of localhost. [default: a free one]")
@click.option(
    "--samples", type=click.Path(path_type=Path), help="Folder of pictures to choose from; 12 at most."
)
@click.option("--export", "folder", type=click.Path(path_type=Path), help="Write the page there and stop.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def play(model: Path, port: int, samples: Path | None, folder: Path | None, no_browser: bool) -> None:
    """Open a page that runs the model FILE in the browser, on your own pictures or the camera.

    The page shows the file's answer beside that of the same file with adapting switched off, the shift of
    the picture as a whole and by layer, and sliders that disturb the picture. It runs FILE itself with
    onnxruntime-web, and no picture leaves the browser. The first time, onnxruntime-web is fetched with npm
    (14 MB are kept); after that no network is needed.

    With --export the page is a folder of static files for any web server. A camera needs https or localhost.

    \b
    Examples:
      leantta play model.onnx
      leantta play model.onnx --samples photos/
      leantta play model.onnx --port 8000 --no-browser
      leantta play model.onnx --export site/
    """
    import webbrowser

    from leantta.play import web_engine
    from leantta.play.server import address, page_server
    from leantta.play.site import export, site_files

    if not web_engine.is_there():
        click.echo(f"Fetching {web_engine.PACKAGE} with npm, once ...", err=True)
        web_engine.fetch()
    files = site_files(model, samples)
    if folder is not None:
        export(files, folder)
        click.echo(f"{folder}: {len(files)} files, for any web server. Start page: index.html")
        return
    with page_server(files, port) as server:
        click.echo(f"{address(server)}  (Ctrl-C stops it)")
        if not no_browser:
            webbrowser.open(address(server))
        server.serve_forever()
