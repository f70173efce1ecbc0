"""Programs that `torch.export.save` wrote (.pt2), as modules that surgery can work on.

A program has no layers: it is a list of operators over tensors that lie where the layers kept them. So the
convolutions, linear layers and BatchNorms are made again from their operators, with the same tensors and
under the same names; the rest of the list stays as it is.
"""

import logging
import operator
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx, nn

from leantta.errors import CheckpointError, SettingError, UnsupportedModelError
from leantta.files import existing
from leantta.models.opened import OpenedModel
from leantta.models.request import Asked

SUFFIX = ".pt2"

aten = torch.ops.aten

CONVOLUTIONS: Mapping[int, type[nn.Module]] = {3: nn.Conv1d, 4: nn.Conv2d, 5: nn.Conv3d}
NORMS: Mapping[int, type[nn.modules.batchnorm._BatchNorm]] = {
    2: nn.BatchNorm1d,
    3: nn.BatchNorm1d,
    4: nn.BatchNorm2d,
    5: nn.BatchNorm3d,
}
"""Layers by the rank of their inputs."""

CHECKS = (
    "_guards_fn",
    aten._assert_scalar.default,
    aten._assert_tensor_metadata.default,
    aten.sym_constrain_range_for_size.default,
)
"""What a program does only to refuse inputs of other shapes than it was exported for."""


def open_program(asked: Asked) -> OpenedModel:
    """Return the module that a program is.

    Raises:
        MissingFileError, CheckpointError: there is no such file, or it is no such program.
        SettingError: weights were given; a program brings its own.
        UnsupportedModelError: it takes something else than one tensor, only batches of one size, or it was
            exported while it was trained.
    """
    if asked.weights is not None:
        raise SettingError(f"{asked.spec} brings its weights; leave out --weights.")
    file = existing(Path(asked.spec), "exported program")
    logging.getLogger("torch._export.serde.serialize").setLevel(logging.ERROR)  # it counts unused symbols
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of itself
            exported = torch.export.load(file).module()
    except Exception as e:  # torch raises errors of many kinds for what it cannot read
        reason = (str(e).strip().splitlines() or [type(e).__name__])[0]
        raise CheckpointError(
            f"{file} cannot be read as a program of torch.export: {reason.rstrip('.')}. Write it with "
            "torch.export.save."
        ) from e
    assert isinstance(exported, fx.GraphModule)
    module, example = revived(exported), _example(asked.spec, exported)
    _check_batches(asked.spec, module, example)
    return OpenedModel(spec=asked.spec, module=module, input_shape=tuple(example.shape[1:]))


def revived(program: fx.GraphModule) -> fx.GraphModule:
    """Return an exported program, in eval mode, whose layers with weights are modules again.

    Raises:
        UnsupportedModelError: it was exported in training mode.
    """
    graph = program.graph
    names: dict[str, nn.Module] = {}
    for node in list(graph.nodes):
        if node.target in CHECKS:
            graph.erase_node(node)
        elif _trains(node):
            raise UnsupportedModelError(
                "the program was exported in training mode; export it again, after model.eval()."
            )
        elif node.target in MAKERS and (layer := MAKERS[node.target](_Call(program, node))) is not None:
            name = _put(program, _owner(node), layer, names)
            with graph.inserting_before(node):
                new = graph.call_module(name, (node.args[0],))
            _replace(graph, node, new)
    result = fx.GraphModule(program, graph)  # with what the graph names alone
    result.graph.eliminate_dead_code()
    result.delete_all_unused_submodules()
    result.recompile()
    return result.eval()


class _Call:
    """An operator in a program: its arguments by name, tensors as the program holds them."""

    def __init__(self, program: fx.GraphModule, node: fx.Node) -> None:
        assert isinstance(node.target, torch._ops.OpOverload)
        told = node.normalized_arguments(program, normalize_to_only_use_kwargs=True)
        given = dict(told.kwargs) if told is not None else {}
        usual = {
            each.name: each.default_value
            for each in node.target._schema.arguments
            if each.has_default_value()
        }
        self.values = {**usual, **given}
        self.program = program
        self.rank = node.args[0].meta["val"].dim() if isinstance(node.args[0], fx.Node) else 0

    def tensor(self, name: str) -> Tensor | None:
        """Return a tensor that the program holds; None: it is left out, or computed."""
        value = self.values.get(name)
        if not (isinstance(value, fx.Node) and value.op == "get_attr"):
            return None
        held: Tensor = operator.attrgetter(str(value.target))(self.program)
        return held

    def computes(self, *names: str) -> bool:
        """Tell whether one of these tensors is computed, so that no layer can hold it."""
        return any(self.tensor(name) is None and self.values.get(name) is not None for name in names)


def _norm(call: _Call) -> nn.Module | None:
    mean, var = call.tensor("running_mean"), call.tensor("running_var")
    if mean is None or var is None or call.rank not in NORMS or call.computes("weight", "bias"):
        return None
    weight, bias = call.tensor("weight"), call.tensor("bias")
    momentum, eps = call.values["momentum"], call.values["eps"]
    layer = NORMS[call.rank](len(mean), eps, momentum, affine=weight is not None, dtype=mean.dtype)
    layer.running_mean, layer.running_var = mean, var
    if weight is not None:
        layer.weight = _parameter(weight)
        layer.bias = _parameter(torch.zeros_like(weight) if bias is None else bias)
    return layer


def _conv(call: _Call) -> nn.Module | None:
    weight, bias = call.tensor("weight"), call.tensor("bias")
    if weight is None or call.rank not in CONVOLUTIONS or call.rank != weight.dim():
        return None
    if call.values.get("transposed") or call.computes("bias"):
        return None
    told = call.values
    padding = told["padding"]
    layer = CONVOLUTIONS[call.rank](
        weight.shape[1] * told["groups"],
        weight.shape[0],
        tuple(weight.shape[2:]),
        stride=_sizes(told["stride"], call.rank),
        padding=padding if isinstance(padding, str) else _sizes(padding, call.rank),
        dilation=_sizes(told["dilation"], call.rank),
        groups=told["groups"],
        bias=bias is not None,
        dtype=weight.dtype,
    )
    return _holding(layer, weight, bias)


def _linear(call: _Call) -> nn.Module | None:
    weight, bias = call.tensor("weight"), call.tensor("bias")
    if weight is None or call.computes("bias"):
        return None
    outputs, inputs = weight.shape
    return _holding(nn.Linear(inputs, outputs, bias is not None, dtype=weight.dtype), weight, bias)


MAKERS: Mapping[Any, Callable[[_Call], nn.Module | None]] = {
    aten.batch_norm.default: _norm,
    aten._native_batch_norm_legit_no_training.default: _norm,
    aten.conv1d.default: _conv,
    aten.conv2d.default: _conv,
    aten.conv3d.default: _conv,
    aten.conv1d.padding: _conv,
    aten.conv2d.padding: _conv,
    aten.conv3d.padding: _conv,
    aten.convolution.default: _conv,
    aten.linear.default: _linear,
}


def _trains(node: fx.Node) -> bool:
    """Tell whether an operator does what it does in training only."""
    places: dict[object, int] = {
        aten.batch_norm.default: 5,
        aten.dropout.default: 2,
        aten.feature_dropout.default: 2,
    }
    place = places.get(node.target)
    return place is not None and len(node.args) > place and node.args[place] is True


def _owner(node: fx.Node) -> str:
    """Return the name of the module whose tensors an operator reads, as the program remembers it."""
    held = [str(each.target) for each in node.args if isinstance(each, fx.Node) and each.op == "get_attr"]
    owner = held[-1].rpartition(".")[0]
    return owner or held[-1] + "_layer"


def _put(program: nn.Module, name: str, layer: nn.Module, names: dict[str, nn.Module]) -> str:
    """Put a layer at a name of the program, or at one beside it if that is taken; return where."""
    free, count = name, 1
    while free in names:
        if _alike(names[free], layer):
            return free  # the same layer, called once more
        count += 1
        free = f"{name}_{count}"
    program.add_submodule(free, layer)  # type: ignore[operator] # a GraphModule has it
    names[free] = layer
    return free


def _alike(one: nn.Module, other: nn.Module) -> bool:
    mine, others = ({**dict(each.named_parameters()), **dict(each.named_buffers())} for each in (one, other))
    same = mine.keys() == others.keys() and all(
        mine[name].data_ptr() == others[name].data_ptr() for name in mine if name != "num_batches_tracked"
    )
    return str(one) == str(other) and same


def _replace(graph: fx.Graph, node: fx.Node, new: fx.Node) -> None:
    """Let everybody read the new node; an operator with several results gave the first as its output."""
    new.meta = dict(node.meta)
    if isinstance(node.meta.get("val"), tuple | list):
        new.meta["val"] = node.meta["val"][0]
        for user in list(node.users):
            if user.target is operator.getitem and user.args[1] == 0:
                user.replace_all_uses_with(new)
            graph.erase_node(user)
    else:
        node.replace_all_uses_with(new)
    graph.erase_node(node)


def _holding(layer: nn.Module, weight: Tensor, bias: Tensor | None) -> nn.Module:
    layer.weight = _parameter(weight)
    if bias is not None:
        layer.bias = _parameter(bias)
    return layer


def _parameter(value: Tensor) -> nn.Parameter:
    return value if isinstance(value, nn.Parameter) else nn.Parameter(value, requires_grad=False)


def _sizes(told: list[int], rank: int) -> tuple[int, ...]:
    return tuple(told) * (rank - 2) if len(told) == 1 else tuple(told)


def _example(spec: str, program: fx.GraphModule) -> Tensor:
    """Return three inputs of the shape that the program was exported with.

    Raises:
        UnsupportedModelError: it takes something else than one batch of tensors.
    """
    taken = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    if len(taken) != 1 or not isinstance(taken[0], Tensor) or not taken[0].is_floating_point():
        raise UnsupportedModelError(
            f"{spec} takes {len(taken)} inputs; one tensor of numbers is wanted. Export a module that takes "
            "one."
        )
    return torch.zeros(3, *_hinted(taken[0])[1:], dtype=taken[0].dtype).normal_(
        generator=torch.Generator().manual_seed(0)
    )


def _hinted(value: Tensor) -> list[int]:
    """Return a shape with the sizes of the example where the program leaves them open."""
    return [size if isinstance(size, int) else size.node.hint for size in value.shape]


def _check_batches(spec: str, module: nn.Module, example: Tensor) -> None:
    """Refuse a program that does something else with several inputs than with each of them.

    Raises:
        UnsupportedModelError: the size of its batches is fixed.
    """
    advice = (
        "export it with a batch of any size: torch.export.export(model, (images,), "
        'dynamic_shapes=({0: torch.export.Dim("batch")},)), with two images or more'
    )
    try:
        with torch.no_grad():
            together = module(example)
            alone = (
                torch.cat([module(each[None]) for each in example]) if isinstance(together, Tensor) else None
            )
    except Exception as e:
        raise UnsupportedModelError(f"{spec} runs on batches of one size only; {advice}.") from e
    if alone is not None and (
        alone.shape != together.shape or not torch.allclose(alone, together, rtol=1e-3, atol=1e-3)
    ):
        raise UnsupportedModelError(f"{spec} runs on batches of one size only; {advice}.")
