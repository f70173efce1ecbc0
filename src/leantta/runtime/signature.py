"""Whether a loaded model has the inputs and outputs that its metadata promises."""

from leantta.errors import ArtifactError
from leantta.runtime.engines import INPUT, NEXT_MEMORY, Engine, Port
from leantta.runtime.metadata import Info


def expected_inputs(info: Info) -> tuple[Port, ...]:
    """Return the one input of such a model."""
    channels, *sizes = info.input.shape
    if info.input.kind == "image":
        return (Port(INPUT, "uint8", (None, *sizes, channels)),)
    return (Port(INPUT, "float32", (None, channels, *sizes)),)


def expected_outputs(info: Info) -> tuple[Port, ...]:
    """Return the outputs of such a model: its own, and of an adapting one how far each input was off."""
    own = tuple(Port(head.name, "float32", (None, *head.shape)) for head in info.heads)
    if not info.layers:
        return own
    ports = (
        *own,
        Port("distance", "float32", (None, len(info.layers))),
        Port("shift", "float32", (None,)),
    )
    if info.memory is None:
        return ports
    return (*ports, Port(NEXT_MEMORY, "float32", (None, info.memory.size)))


def output_names(info: Info) -> tuple[str, ...]:
    """Return the names of the outputs of such a model."""
    return tuple(port.name for port in expected_outputs(info))


def check_signature(engine: Engine, info: Info, name: str) -> None:
    """Compare an engine's inputs and outputs with what the metadata promises; sizes it leaves open fit.

    Raises:
        ArtifactError: they differ; the message names the first that does.
    """
    for what, ports, wanted in (
        ("input", engine.inputs, expected_inputs(info)),
        ("output", engine.outputs, expected_outputs(info)),
    ):
        by_name = {port.name: port for port in ports}
        names = [port.name for port in wanted]
        if sorted(by_name) != sorted(names):
            raise ArtifactError(
                f"{name} has the {what}s {', '.join(sorted(by_name)) or 'none'}; "
                f"its metadata promises {', '.join(sorted(names))}. Convert the model again."
            )
        for port in wanted:
            other = by_name[port.name]
            if not _fits(other, port):
                raise ArtifactError(
                    f"{name} has the {what} {_shown(other)}; its metadata promises {_shown(port)}. "
                    f"Convert the model again."
                )


def _fits(port: Port, wanted: Port) -> bool:
    """Tell whether sizes and type agree; the batch axis must be free, other sizes may be left open."""
    return (
        port.dtype == wanted.dtype
        and len(port.shape) == len(wanted.shape)
        and port.shape[0] is None
        and all(a in (None, b) for a, b in zip(port.shape, wanted.shape, strict=True))
    )


def _shown(port: Port) -> str:
    sizes = ", ".join("n" if size is None else str(size) for size in port.shape)
    return f"{port.name}: {port.dtype} ({sizes})"
