"""Int8, channels last: maps of another size, as decoders and detectors make them; and maps taken apart."""

import numpy as np

from leantta.graph.ir import CONTRIB, Array, Node, Tensor
from leantta.quantize.lowering import (
    BYTES,
    INT_LAST,
    READS_FLOAT,
    Edges,
    Form,
    Refused,
    last_axis,
    to_last,
)
from leantta.quantize.params import quantize_bias, quantize_weights
from leantta.quantize.products import COMPUTED

TWO_AXES = Refused("int8 maps have two axes of positions")
LEAVES = Refused("leaves the graph")


def resize(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a map at another size; the bytes keep their meaning.

    Between pixels ONNX Runtime cuts the fraction of a byte off, half a step on average. A map that leaves the
    graph is resized in float32, so that it is as fine as its scores.
    """
    x, given = node.inputs[0], node.attributes
    if not edges.is_int(x):
        return READS_FLOAT
    if out in edges.graph.outputs:
        return LEAVES
    before, after = edges.shape(x), edges.shape(out)
    if len(before) != 4 or before[1] != after[1]:
        return TWO_AXES
    mode = given.get("mode", "nearest")
    crops = given.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    if mode not in ("nearest", "linear") or crops or given.get("antialias", 0):
        return Refused(f"no int8 resize of its kind ({mode})")
    scales = np.array([1, *(int(b) / int(a) for a, b in zip(before[2:], after[2:], strict=True)), 1])
    inputs = [edges.get(x, INT_LAST), "", edges.constant(f"{out}/scales", scales.astype(np.float32))]
    edges.same_bytes(out, x)
    edges.write(
        "Resize", inputs, out, INT_LAST, {key: value for key, value in given.items() if key != "axes"}
    )
    return None


def pad(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a map with a border: of zeros, or of its own values."""
    x, constants = node.inputs[0], edges.graph.constants
    if not edges.is_int(x):
        return READS_FLOAT
    if any(name and name not in constants for name in node.inputs[1:]) or node.inputs[3:]:
        return COMPUTED
    filled = node.attributes.get("mode", "constant") == "constant"
    value = constants[node.inputs[2]] if len(node.inputs) > 2 and node.inputs[2] else np.zeros(())
    if filled and float(value.reshape(-1)[0]) != 0:
        return Refused("its border is not zero")
    widths = constants[node.inputs[1]].reshape(2, -1)
    rank = widths.shape[1]
    moved = np.empty_like(widths)
    for axis in range(rank):
        moved[:, last_axis(axis, rank)] = widths[:, axis]
    edges.same_bytes(out, x)
    inputs = [edges.get(x, INT_LAST), edges.constant(f"{out}/pads", moved.reshape(-1))]
    inputs += [edges.affine_names(x)[1]] if filled else []
    edges.write("Pad", inputs, out, INT_LAST, node.attributes)
    return None


def split(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a map taken apart; each part keeps the meaning of its bytes."""
    del out  # there are several
    x = node.inputs[0]
    if not edges.is_int(x):
        return READS_FLOAT
    if any(name not in edges.graph.constants for name in node.inputs[1:]):
        return COMPUTED
    rank = len(edges.shape(x))
    form = INT_LAST if rank > 2 else Form(True, False)
    inputs = [edges.get(x, form), *(edges.get(name, form) for name in node.inputs[1:])]
    axis = last_axis(int(node.attributes.get("axis", 0)) % rank, rank)
    slots = [edges.slot(part, form) for part in node.outputs]
    attributes = {**node.attributes, "axis": axis}
    edges.emit("Split", inputs, slots[0], attributes, more=tuple(name for name, _ in slots[1:]))
    for part, (name, tensor) in zip(node.outputs, slots, strict=True):
        edges.tensors[name] = tensor
        edges.same_bytes(part, x)
        edges.put(part, form, name)
    return None


def transposed_conv(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a transposed convolution whose windows do not overlap: a 1 x 1 convolution, spread out.

    Each position of its input becomes a block of kh x kw positions, which are channels at first.
    """
    x, weight, *rest = node.inputs
    constants, given = edges.graph.constants, node.attributes
    if any(name not in constants for name in (weight, *rest)):
        return COMPUTED
    if not edges.is_int(x):
        return READS_FLOAT
    kernel: Array = constants[weight]  # (in, out, kh, kw)
    if kernel.ndim != 4:
        return TWO_AXES
    before, channels, *block = kernel.shape
    apart = list(given.get("strides", [1, 1])) == block and not any(given.get("pads", [0]))
    plain = apart and int(given.get("group", 1)) == 1 and not any(given.get("output_padding", [0]))
    if not plain or given.get("auto_pad", "NOTSET") != "NOTSET" or given.get("dilations", [1, 1]) != [1, 1]:
        return Refused("int8 transposed convolutions have windows that do not overlap")
    rows = kernel.transpose(2, 3, 1, 0).reshape(-1, before, 1, 1)  # a block's positions, then channels
    scale = edges.affine(x).scale
    bias = np.tile(constants[rest[0]], block[0] * block[1]) if rest else None
    integers = quantize_weights(rows, summed_in_pairs=True, bias=bias, input_scale=scale)
    inputs = [
        edges.get(x, INT_LAST),
        *edges.affine_names(x),
        edges.constant(f"{weight}/s8", integers.values),
        edges.constant(f"{weight}/scale", integers.scale),
        edges.constant("zero_s8", np.asarray(0, np.int8)),
        *edges.affine_names(out),
    ]
    if bias is not None:
        inputs.append(edges.constant(f"{out}/bias", quantize_bias(bias, scale, integers)))
    batch, height, width, _ = to_last(edges.shape(x))
    blocks = (batch, height, width, *block, channels)

    def bytes_of(part: str, shape: tuple[int | str, ...]) -> tuple[str, Tensor]:
        return f"{out}/{part}", Tensor(BYTES, shape)

    flat = bytes_of("blocks", (batch, height, width, len(rows)))
    held = edges.emit(
        "QLinearConv", inputs, flat, {"kernel_shape": [1, 1], "channels_last": 1}, domain=CONTRIB
    )
    apart_to = edges.constant(f"{out}/apart", np.array([-1, *blocks[1:]], np.int64))
    held = edges.emit("Reshape", [held, apart_to], bytes_of("apart_u8", blocks))
    order = [0, 1, 3, 2, 4, 5]
    moved = tuple(blocks[place] for place in order)
    held = edges.emit("Transpose", [held], bytes_of("rows", moved), {"perm": order})
    whole = [-1, int(height) * block[0], int(width) * block[1], channels]
    edges.write("Reshape", [held, edges.constant(f"{out}/whole", np.array(whole))], out, INT_LAST)
    return None
