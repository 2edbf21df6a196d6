"""Autocast on the CPU, GradScaler and weight averaging."""

import torch

from harness import T, code
from harness.amp import average, network, op, scaling
from harness.lua_text import lua

F = torch.nn.functional
PAIR = {"x": T(3, 4), "y": T(4, 2)}
SAME = {"x": T(3, 4), "y": T(3, 4)}
BATCH = {"x": T(2, 3, 4), "y": T(2, 4, 3)}
IMAGE = {"x": T(1, 2, 6, 6), "w": T(3, 2, 3, 3), "b": T(3)}
HALF = {"x": T(3, 4, dtype="bfloat16"), "y": T(3, 4)}
NET = {"x": T(4, 3), "y": T(4, 2), "w1": T(5, 3), "b1": T(5), "w2": T(2, 5), "b2": T(2)}

# Operators that autocast runs in the lower precision, in float32, in the widest dtype of the arguments, or unchanged.
CASES = [
    op("torch.mm(x, y)", torch.mm, **PAIR),
    op("x:matmul(y)", torch.matmul, **PAIR),
    op("torch.bmm(x, y)", torch.bmm, **BATCH),
    op("torch.addmm(z, x, y)", lambda x, y, z: torch.addmm(z, x, y), **PAIR, z=T(3, 2)),
    op("torch.baddbmm(z, x, y)", lambda x, y, z: torch.baddbmm(z, x, y), **BATCH, z=T(2, 3, 3)),
    op("F.linear(x, w, b)", F.linear, x=T(3, 4), w=T(2, 4), b=T(2)),
    op("torch.einsum('ij,jk->ik', x, y)", lambda x, y: torch.einsum("ij,jk->ik", x, y), **PAIR),
    op("F.conv2d(x, w, b, {padding = 1})", lambda x, w, b: F.conv2d(x, w, b, padding=1), **IMAGE),
    op("F.conv1d(x, w)", F.conv1d, x=T(1, 2, 8), w=T(3, 2, 3)),
    op(
        "F.scaled_dot_product_attention(x, y, z)",
        F.scaled_dot_product_attention,
        x=T(2, 3, 4),
        y=T(2, 3, 4),
        z=T(2, 3, 4),
    ),
    op("torch.softmax(x, 1)", lambda x, y: torch.softmax(x, 1), **HALF),
    op("torch.log_softmax(x, 1)", lambda x, y: torch.log_softmax(x, 1), **HALF),
    op("x:sum()", lambda x, y: x.sum(), **HALF),
    op("x:exp()", lambda x, y: x.exp(), **HALF),
    op("x + y", lambda x, y: x + y, name="add", **HALF),
    op("torch.cat{x, y}", lambda x, y: torch.cat([x, y]), **HALF),
    op("torch.stack{x, y}", lambda x, y: torch.stack([x, y]), **HALF),
    op("F.mse_loss(x, y)", F.mse_loss, **HALF),
    op("F.l1_loss(x, y)", F.l1_loss, **HALF),
    op("F.smooth_l1_loss(x, y)", F.smooth_l1_loss, **HALF),
    op("F.cross_entropy(x, y)", F.cross_entropy, x=T(3, 4, dtype="bfloat16"), y=T(3, dtype="int64", fill="index:4")),
    op(
        "F.binary_cross_entropy_with_logits(x, y)",
        F.binary_cross_entropy_with_logits,
        x=T(3, dtype="bfloat16"),
        y=T(3, fill="unit"),
    ),
    op("F.gelu(x)", lambda x, y: F.gelu(x), **HALF),
    op("F.relu(x)", lambda x, y: F.relu(x), **SAME),
    op("F.layer_norm(x, {4})", lambda x, y: F.layer_norm(x, (4,)), **HALF),
    op("F.group_norm(x, 1)", lambda x, y: F.group_norm(x, 1), **HALF),
    op("torch.cdist(x, y)", lambda x, y: torch.cdist(x, y), **HALF),
    op("x:cumsum(0)", lambda x, y: x.cumsum(0), **HALF),
    op("x:pow(2)", lambda x, y: x.pow(2), **HALF),
    op("torch.linalg.vector_norm(x)", lambda x, y: torch.linalg.vector_norm(x), **HALF),
    op("torch.mm(x, y)", torch.mm, "float16", "mm_float16", **PAIR),
    op("F.linear(x, w, b)", F.linear, "float16", "linear_float16", x=T(3, 4), w=T(2, 4), b=T(2)),
    op("torch.mm(x, y)", torch.mm, "bfloat16", "mm_float64", x=T(3, 4, dtype="float64"), y=T(4, 2, dtype="float64")),
    op(
        "torch.autocast('cpu', {enabled = false}, function() return torch.mm(x, y) end)",
        lambda x, y: torch.autocast("cpu", enabled=False)(torch.mm)(x, y),
        name="nested_off",
        **PAIR,
    ),
]
CASES += [
    code(
        f"network_{dtype}",
        f"return require('harness.amp').network('{dtype}',{','.join(NET)})",
        lambda *values, dtype=dtype: network(dtype, values),
        **NET,
    )
    for dtype in ("bfloat16", "float16")
]

GROWS = {"init_scale": 8.0, "growth_interval": 2}
CASES += [
    code(
        "grad_scaler",
        f"return require('harness.amp').scaling({lua(spec)},x)",
        lambda x, spec=spec: scaling(spec, x),
        x=T(3),
    )
    for spec in (
        {"optimizer": "SGD", "scaler": GROWS, "infs": [3]},
        {
            "optimizer": "SGD",
            "scaler": {**GROWS, "growth_factor": 4.0, "backoff_factor": 0.25},
            "infs": [0, 4, 5],
            "clip": True,
        },
        {"optimizer": "SGD", "scaler": {}, "infs": []},
        {"optimizer": "SGD", "options": {"momentum": 0.5}, "scaler": GROWS, "infs": [2], "reset": 5},
        {"optimizer": "SGD", "options": {"momentum": 0.5, "fused": True}, "scaler": GROWS, "infs": [3]},
        {"optimizer": "Adam", "options": {"fused": True}, "scaler": GROWS, "infs": [0, 3]},
        {"optimizer": "AdamW", "options": {"fused": True}, "scaler": GROWS, "infs": [3], "clip": True},
        {"optimizer": "AdamW", "scaler": GROWS, "infs": [1, 2]},
        {"optimizer": "RMSprop", "scaler": GROWS, "infs": [3]},
    )
]

CASES += [
    code(
        "averages",
        f"return require('harness.amp').average(function(m,u) return {text} end,x,y)",
        lambda x, y, make=make: average(make, x, y),
        x=T(2, 3),
        y=T(4, 3),
    )
    for text, make in (
        ("u.AveragedModel(m)", lambda m, u: u.AveragedModel(m)),
        ("u.AveragedModel(m, {use_buffers = true})", lambda m, u: u.AveragedModel(m, use_buffers=True)),
        (
            "u.AveragedModel(m, {avg_fn = u.get_ema_avg_fn(0.75)})",
            lambda m, u: u.AveragedModel(m, avg_fn=u.get_ema_avg_fn(0.75)),
        ),
        (
            "u.AveragedModel(m, {multi_avg_fn = u.get_ema_multi_avg_fn(0.5), use_buffers = true})",
            lambda m, u: u.AveragedModel(m, multi_avg_fn=u.get_ema_multi_avg_fn(0.5), use_buffers=True),
        ),
        (
            "u.AveragedModel(m, {multi_avg_fn = u.get_swa_multi_avg_fn()})",
            lambda m, u: u.AveragedModel(m, multi_avg_fn=u.get_swa_multi_avg_fn()),
        ),
        (
            "u.AveragedModel(m, {avg_fn = u.get_swa_avg_fn()})",
            lambda m, u: u.AveragedModel(m, avg_fn=u.get_swa_avg_fn()),
        ),
        (
            "u.AveragedModel(m, {avg_fn = function(a, w, n) return a + w * n end})",
            lambda m, u: u.AveragedModel(m, avg_fn=lambda a, w, n: a + w * n),
        ),
    )
]
