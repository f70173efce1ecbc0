"""`leantta keys` and `leantta sign`: who made a model file."""

from pathlib import Path

import click


@click.command("keys")
@click.argument("name", type=click.Path(path_type=Path))
def keys(name: Path) -> None:
    """Make a pair of keys: NAME.key to sign model files with, and NAME.pub to check them with.

    Keep NAME.key secret; whoever has it can sign in your name. Give NAME.pub to those who run your files.
    Needs: pip install 'leantta[sign]'

    \b
    Examples:
      leantta keys ours
      leantta sign model.onnx --key ours.key
    """
    from leantta.runtime.signing import make_keys

    private, public = make_keys(name)
    click.echo(f"{private}: to sign with; keep it secret")
    click.echo(f"{public}: to check with; give it to those who run your files")


@click.command("sign")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    help="The private key, as `leantta keys` makes it.",
)
def sign(files: tuple[Path, ...], key: Path) -> None:
    """Sign the model files FILE..., each by a file FILE.sig beside it.

    The digest inside a file finds damage; whoever changes the file can change the digest too. A signature
    tells who made it: `leantta verify --key`, `leantta serve --key` and `leantta.load(..., key=)` take no
    file without one that fits. Needs: pip install 'leantta[sign]'

    \b
    Examples:
      leantta sign model.onnx --key ours.key
      leantta verify model.onnx --key ours.pub
      leantta serve model.onnx --key ours.pub
    """
    from leantta.runtime.container import check_digest, read_container
    from leantta.runtime.metadata import read_info
    from leantta.runtime.signing import sign as sign_file

    for path in files:
        container = read_container(path)
        check_digest(container)
        read_info(container)  # what is signed is whole, and a model
        click.echo(f"{sign_file(path, key)}")
