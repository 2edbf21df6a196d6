"""torch.nn.init, and torch.nn.utils on parameters."""

import torch
from torch import nn
from torch.nn.utils import rnn as sequences

from cases.lists.calls import plain
from cases.lists.inputs import ROWS
from harness import T


def filled(name, lua, *shape, dtype="float32"):
    """Returns the case of nn.init.<name>: the initialized tensor, after the seed that every case sets."""
    arguments = "".join(f", {value}" for value in lua[0])
    return plain(
        name,
        f"nn.init.{name}(x{arguments})",
        lambda x: getattr(nn.init, name)(x, *lua[1:-1], **lua[-1]),
        x=T(*shape, dtype=dtype),
    )


INIT = [
    filled("uniform_", (["-2", "3"], -2, 3, {}), 3, 4),
    filled("normal_", (["1", "0.5"], 1, 0.5, {}), 3, 4),
    filled("trunc_normal_", (["{std = 2, a = -1, b = 3}"], {"std": 2, "a": -1, "b": 3}), 3, 4),
    filled("constant_", (["2.5"], 2.5, {}), 3),
    filled("ones_", ([], {}), 3),
    filled("zeros_", ([], {}), 3),
    filled("eye_", ([], {}), 2, 3),
    filled("dirac_", ([], {}), 4, 2, 3),
    filled("dirac_", (["2"], 2, {}), 4, 2, 3, 3),
    filled("xavier_uniform_", (["1.5"], 1.5, {}), 3, 4),
    filled("xavier_normal_", ([], {}), 3, 4, 2),
    filled("kaiming_uniform_", (["{a = 0.3, mode = 'fan_out'}"], {"a": 0.3, "mode": "fan_out"}), 3, 4),
    filled("kaiming_normal_", (["{nonlinearity = 'relu'}"], {"nonlinearity": "relu"}), 3, 4, 2, 2),
    filled("orthogonal_", (["2"], 2, {}), 3, 4),
    filled("orthogonal_", ([], {}), 6, 2, 1),
    filled("sparse_", (["0.4", "{std = 2}"], 0.4, {"std": 2}), 5, 3),
    *[
        plain("calculate_gain", f"nn.init.calculate_gain('{name}')", lambda name=name: nn.init.calculate_gain(name))
        for name in ("linear", "conv_transpose2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
    ],
    plain(
        "calculate_gain", "nn.init.calculate_gain('leaky_relu', 0.3)", lambda: nn.init.calculate_gain("leaky_relu", 0.3)
    ),
]


def with_grads(*tensors):
    out = [nn.Parameter(torch.zeros_like(t)) for t in tensors]
    for p, t in zip(out, tensors):
        p.grad = t.clone()
    return out


GRADS = (
    "local x, y = ... local a, b = nn.Parameter(torch.zeros_like(x)), nn.Parameter(torch.zeros_like(y)) "
    "a.grad, b.grad = x:clone(), y:clone() "
)


def clipped(name, lua, python):
    return plain(
        name,
        GRADS + f"local r = {lua} return r, a.grad, b.grad",
        lambda x, y: (lambda a, b: (python([a, b]), a.grad, b.grad))(*with_grads(x, y)),
        x=ROWS,
        y=T(5),
    )


UTILS = [
    clipped("clip_grad_norm_", "nn.utils.clip_grad_norm_({a, b}, 1.5)", lambda p: nn.utils.clip_grad_norm_(p, 1.5)),
    clipped(
        "clip_grad_norm_inf",
        "nn.utils.clip_grad_norm_({a, b}, 1, {norm_type = inf, foreach = false})",
        lambda p: nn.utils.clip_grad_norm_(p, 1, norm_type=float("inf"), foreach=False),
    ),
    clipped("clip_grad_norm_l1", "nn.utils.clip_grad_norm_(a, 1, 1)", lambda p: nn.utils.clip_grad_norm_(p[0], 1, 1)),
    clipped("clip_grad_value_", "nn.utils.clip_grad_value_({a, b}, 0.5)", lambda p: nn.utils.clip_grad_value_(p, 0.5)),
    clipped(
        "clip_grads_with_norm_",
        "nn.utils.clip_grads_with_norm_({a, b}, 1, torch.tensor(4))",
        lambda p: nn.utils.clip_grads_with_norm_(p, 1, torch.tensor(4.0)),
    ),
    plain(
        "get_total_norm",
        "nn.utils.get_total_norm({x, y}, 3)",
        lambda x, y: nn.utils.get_total_norm([x, y], 3),
        x=ROWS,
        y=T(5),
    ),
    plain(
        "parameters_to_vector",
        "nn.utils.parameters_to_vector{x, y}",
        lambda x, y: nn.utils.parameters_to_vector([x, y]),
        x=ROWS,
        y=T(5),
    ),
    plain(
        "vector_to_parameters",
        "local v, x, y = ... nn.utils.vector_to_parameters(v, {x, y}) return x, y",
        lambda v, x, y: (nn.utils.vector_to_parameters(v, [x, y]), x, y)[1:],
        v=T(17),
        x=ROWS,
        y=T(5),
    ),
    plain(
        "pad_sequence",
        "nn.utils.rnn.pad_sequence({x, y}, {padding_value = 2})",
        lambda x, y: sequences.pad_sequence([x, y], padding_value=2),
        x=ROWS,
        y=T(2, 4),
    ),
    plain(
        "pad_sequence_left",
        "nn.utils.rnn.pad_sequence({x, y}, true, 0, 'left')",
        lambda x, y: sequences.pad_sequence([x, y], True, 0, "left"),
        x=ROWS,
        y=T(2, 4),
    ),
    plain(
        "pack_sequence",
        "local x, y = ... local p = nn.utils.rnn.pack_sequence({y, x}, {enforce_sorted = false}) "
        "return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices",
        lambda x, y: tuple(sequences.pack_sequence([y, x], enforce_sorted=False)),
        x=ROWS,
        y=T(2, 4),
    ),
    plain(
        "unpack_sequence",
        "nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence{x, y})",
        lambda x, y: sequences.unpack_sequence(sequences.pack_sequence([x, y])),
        x=ROWS,
        y=T(2, 4),
    ),
    plain(
        "unpad_sequence",
        "nn.utils.rnn.unpad_sequence(x, {2, 3, 1, 1})",
        lambda x: sequences.unpad_sequence(x, torch.tensor([2, 3, 1, 1])),
        x=ROWS,
    ),
    plain(
        "pad_packed_sequence",
        "local x = ... local r = nn.utils.rnn return r.pad_packed_sequence(r.pack_padded_sequence(x, {1, 3, 2, "
        "2}, {enforce_sorted = false}), {batch_first = true, padding_value = -1, total_length = 5})",
        lambda x: sequences.pad_packed_sequence(
            sequences.pack_padded_sequence(x, torch.tensor([1, 3, 2, 2]), enforce_sorted=False),
            batch_first=True,
            padding_value=-1,
            total_length=5,
        ),
        x=T(3, 4, 2),
    ),
]
