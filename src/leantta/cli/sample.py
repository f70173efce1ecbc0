"""`leantta sample`: a model file and photographs to try everything on."""

from pathlib import Path

import click


@click.command("sample")
@click.argument("folder", type=click.Path(path_type=Path), default="sample")
def sample(folder: Path) -> None:
    """Write a small model file, and photographs as they are and disturbed, into FOLDER.

    They come with the package, so that `leantta run`, serve, play, watch and the rest can be tried before you
    have a model. Files of the same names are replaced.

    \b
    Examples:
      leantta sample
      leantta run sample/sample.onnx sample/photos
    """
    import shutil

    from leantta.files import replacing
    from leantta.samples import FOLDER

    wanted = (path for path in sorted(FOLDER.rglob("*")) if path.suffix in (".onnx", ".png", ".md"))
    for path in wanted:
        target = folder / path.relative_to(FOLDER)
        with replacing(target) as part:
            shutil.copyfile(path, part)
        click.echo(target)
    click.echo(f"\nTry it: leantta run {folder}/sample.onnx {folder}/photos")
