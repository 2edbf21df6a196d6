"""Operators and a network under autocast, sequences of a GradScaler, weight averages: the Python side of
harness/amp.lua.
"""

import re

import torch

from harness.case import code
from harness.fill import T

AC = "return torch.autocast('cpu',{dtype='%s'},function() return %s end)"


def op(text, python, dtype="bfloat16", name=None, **inputs):
    """Returns the case of an expression of the inputs under autocast; the Python function takes the inputs by position."""

    def run(*tensors):
        with torch.autocast("cpu", dtype=getattr(torch, dtype)):
            return python(*tensors)

    inputs = inputs or {"x": T(3, 4), "y": T(4, 2)}
    return code(name or re.split("[.:]", re.split("[({]", text)[0])[-1], AC % (dtype, text), run, **inputs)


def network(dtype, values):
    x, y, w1, b1, w2, b2 = values
    params = [value.clone().requires_grad_() for value in (w1, b1, w2, b2)]
    with torch.autocast("cpu", dtype=getattr(torch, dtype)):
        hidden = torch.nn.functional.linear(x, params[0], params[1])
        out = torch.nn.functional.linear(torch.nn.functional.gelu(hidden), params[2], params[3])
        loss = torch.nn.functional.mse_loss(out, y) + torch.nn.functional.cross_entropy(out, torch.tensor([0, 1, 1, 0]))
    loss.backward()
    return [hidden.detach(), out.detach(), loss.detach(), *[param.grad for param in params]]


def scaling(spec, x):
    """Returns the scale and the parameters after each step; the steps of `infs` have an infinite gradient."""
    param = x.clone().requires_grad_()
    optimizer = getattr(torch.optim, spec["optimizer"])([param], lr=0.125, **spec.get("options", {}))
    scaler = torch.amp.GradScaler("cpu", **spec["scaler"])
    out = []
    for step in range(8):
        optimizer.zero_grad()
        loss = ((param * param).sum() + param.sum()) * (float("inf") if step in spec["infs"] else 1)
        scaler.scale(loss).backward()
        if spec.get("clip"):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_([param], 0.5)
        scaler.step(optimizer)
        scaler.update(3.0 if step == spec.get("reset") else None)
        out += [scaler.get_scale(), param.detach().clone()]
    state = scaler.state_dict()
    return [*out, " ".join(state), state["_growth_tracker"]]


def average(make, x, y):
    """Returns the state of an average of a layer with buffers, whose weights change in four steps."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        model[0].weight.copy_(x)
        model[0].bias.zero_()
    averaged = make(model, torch.optim.swa_utils)
    for step in range(4):
        model(y + step)
        with torch.no_grad():
            model[0].weight.mul_(0.5).add_(step)
        averaged.update_parameters(model)
    state = averaged.state_dict()
    return [" ".join(state), *state.values()]
