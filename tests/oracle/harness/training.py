"""Twenty training steps of a small network, and the layout of the optimizer's state_dict: the Python side of
harness/training.lua.
"""

import torch

from harness.case import code
from harness.fill import T
from harness.lua_text import lua

STEPS = 20


def scalar(value):
    if isinstance(value, (list, tuple)):
        return "(" + " ".join(map(scalar, value)) + ")"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, (int, float)) else str(value)


def layout(optimizer):
    """Returns the names in a state_dict with shapes and dtypes, and the options of each group."""
    state = optimizer.state_dict()
    of_first = state["state"].get(0, {})
    names = []
    for name in sorted(of_first):
        value = of_first[name]
        is_tensor = isinstance(value, torch.Tensor)
        if is_tensor:
            names.append(f"{name}:{str(value.dtype).removeprefix('torch.')}[{'x'.join(map(str, value.shape))}]")
        else:
            names.append(f"{name}:{len(value)}" if isinstance(value, list) else name)
    groups = [" ".join(f"{name}={scalar(value)}" for name, value in group.items()) for group in state["param_groups"]]
    return [f"{len(state['state'])}", " ".join(names), *groups]


def sizes(optimizer, param):
    """Returns a number for each tensor of a parameter's state."""
    state = optimizer.state.get(param, {})
    return torch.tensor(
        [
            state[name].to(torch.complex128).abs().sum().item()
            for name in sorted(state)
            if isinstance(state[name], torch.Tensor)
        ]
    )


def make(spec, params):
    params = params[:1] if spec.get("sparse") else params
    kind = getattr(torch.optim, spec["optimizer"])
    if "second" not in spec:
        return kind(params, **spec["options"])
    # Python keeps the order in which a group's options were written; a Lua table cannot, so this uses the order of the
    # defaults.
    defaults = kind(params, **spec["options"]).defaults
    second = {name: spec["second"].get(name, value) for name, value in defaults.items()}
    return kind([{"params": params[:2]}, {"params": params[2:], **second}], **spec["options"])


def loss_of(params, x, y):
    if not x.is_floating_point() and not x.is_complex():
        return (torch.nn.functional.embedding(x, params[0], sparse=True).mean(1) @ params[1] - y).pow(2).mean()
    if len(params) == 2:
        return ((x @ params[0]) @ params[1] - y).pow(2).mean()
    w1, b1, w2, b2 = params
    if x.is_complex():
        return (torch.tanh(x @ w1 + b1) @ w2 + b2 - y).abs().pow(2).mean()
    return (torch.tanh(x @ w1 + b1) @ w2 + b2 - y).pow(2).mean()


def run(spec, x, y, *values):
    params = [value.clone().requires_grad_() for value in values]
    optimizer = make(spec, params)
    for step in range(STEPS):
        if step == STEPS // 2 and spec.get("resume"):
            state = optimizer.state_dict()
            optimizer = make(spec, params)
            optimizer.load_state_dict(state)
        if step == STEPS // 2:
            for group in optimizer.param_groups:
                group["lr"] = group["lr"] / 2

        def closure():
            optimizer.zero_grad()
            loss = loss_of(params, x, y)
            loss.backward()
            if spec.get("absent") and step % 3 == 1:
                params[1].grad = None
            return loss

        optimizer.step(closure)
    flat = torch.cat([param.detach().reshape(-1) for param in params])
    return [flat, sizes(optimizer, params[0]), *layout(optimizer)]


def training(
    optimizer,
    dtype="float64",
    tol=(1e-6, 1e-8),
    matrices=False,
    name=None,
    second=None,
    resume=False,
    absent=False,
    sparse=False,
    **options,
):
    """Returns the case of an optimizer with its options. `second`: options of the second group; `resume`: halfway
    another optimizer takes over its state_dict; `absent`: a parameter has no gradient in every third step; `sparse`:
    only the first parameter, an embedding with sparse gradients, is optimized.
    """
    x = T(6, 2, dtype="int64", fill="index:3") if sparse else T(6, 3, dtype=dtype)
    inputs = {"x": x, "y": T(6, 2, dtype=dtype)}
    shapes = (
        {"u": (3 + 2 * sparse, 5), "v": (5, 2)}
        if matrices or sparse
        else {"w1": (3, 5), "b1": (5,), "w2": (5, 2), "b2": (2,)}
    )
    inputs.update({key: T(*shape, dtype=dtype, fill="signed_unit") for key, shape in shapes.items()})
    spec = {"optimizer": optimizer, "options": options}
    if second:
        spec["second"] = second
    spec.update({key: True for key, value in (("resume", resume), ("absent", absent), ("sparse", sparse)) if value})
    text = f"return require('harness.training').run({lua(spec)},{','.join(inputs)})"
    return code(name or optimizer, text, lambda *tensors: run(spec, *tensors), {"tol": tol}, **inputs)
