"""Fifty learning rates of a scheduler, whose state_dict a new scheduler takes over halfway: the Python side of
harness/schedules.lua.
"""

import torch

from harness.case import code
from harness.training import scalar

STEPS = 50


def make_optimizer(kind):
    params = [torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.25}]
    if kind == "adam":
        return torch.optim.Adam(groups, lr=0.5)
    return torch.optim.SGD(groups, lr=0.5, momentum=0.75 if kind == "momentum" else 0)


def value_text(value):
    if isinstance(value, dict):
        return f"map:{len(value)}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"maps:{len(value)}"
    return scalar(value)


def layout(scheduler):
    state = scheduler.state_dict()
    return " ".join(f"{name}={value_text(state[name])}" for name in sorted(state))


def metric(step):
    return (step * 37 % 11) / 8 + 10 / (step + 1)


def rates(make, kind, at=None):
    """`at` holds the epochs to step to, or "metric"."""
    optimizer = make_optimizer(kind)
    scheduler = make(optimizer, torch.optim.lr_scheduler)
    seen = []
    for step in range(STEPS):
        first, second = optimizer.param_groups
        seen.append([first["lr"], second["lr"], first["betas"][0] if kind == "adam" else first["momentum"]])
        optimizer.step()
        if at == "metric":
            scheduler.step(metric(step))
        elif at:
            scheduler.step(at[step % len(at)])
        else:
            scheduler.step()
        if step == STEPS // 2 and not at:
            old, state, optimizer = scheduler, optimizer.state_dict(), make_optimizer(kind)
            scheduler = make(optimizer, torch.optim.lr_scheduler)
            scheduler.load_state_dict(old.state_dict())
            optimizer.load_state_dict(state)
    values = torch.tensor(seen, dtype=torch.float64)
    return [*values[:, 0].split(20), values[:, 1], *([values[:, 2]] if kind != "sgd" else []), layout(scheduler)]


def schedule(text, make, kind="sgd", at=None):
    """Returns the case of a scheduler: Lua text and Python function of the optimizer o and the module s."""
    name = text.split("(")[0].removeprefix("s.").removeprefix("torch.optim.swa_utils.")
    given = "" if at is None else ",'metric'" if at == "metric" else ",{" + ",".join(map(str, at)) + "}"
    return code(
        name,
        f"return require('harness.schedules').rates(function(o,s) return {text} end,'{kind}'{given})",
        lambda: rates(make, kind, at),
        {"tol": (1e-12, 1e-15)},
    )
