"""Values of Python as plain data that torch.save writes and values.lua turns into what Lua calls with."""

import math

import torch


class NoForm(Exception):
    """A value that has no form in Lua: a lambda, a generator, an array of NumPy."""


NONE = {"_": "none"}


def plain(value):
    """Floats without a fraction become integers: Lua has one kind of number. Sizes and other sequences become lists."""
    if isinstance(value, torch.Tensor) or value is None or isinstance(value, (bool, int, str, slice)):
        return value
    if isinstance(value, float):
        return (
            int(value)
            if math.isfinite(value) and value == int(value) and (value != 0 or math.copysign(1, value) > 0)
            else value
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        raise NoForm(type(value).__name__)
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value) if type(value) in (list, tuple) else list(value)
    if type(value) is dict:
        return {name: plain(item) for name, item in value.items()}
    return value


def encoded(value):
    """Tensors stay what they are; what plain data does not have is a map with the field `_`."""
    if isinstance(value, torch.Tensor):
        if type(value) is torch.nn.Parameter:
            value = value.detach().requires_grad_(value.requires_grad)
        if type(value) is not torch.Tensor or value.is_quantized or value.is_nested or value.device.type != "cpu":
            raise NoForm("a tensor of another kind")
        kept = value.detach()
        return {"_": "tensor", "value": kept.clone() if kept._is_zerotensor() else kept, "grad": value.requires_grad}
    if value is None:
        return NONE
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, complex):
        return {"_": "complex", "re": value.real, "im": value.imag}
    if value is Ellipsis:
        return {"_": "ellipsis"}
    if isinstance(value, slice):
        return {"_": "slice", "items": [encoded(item) for item in (value.start, value.stop, value.step)]}
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format, torch.device)):
        return str(value).removeprefix("torch.")
    if type(value) is dict:
        return {"_": "map", "items": {name: encoded(item) for name, item in value.items()}}
    if callable(value) and getattr(torch.nn.functional, getattr(value, "__name__", ""), None) is value:
        return {"_": "function", "name": value.__name__}
    raise NoForm(repr(value)[:60])


def keywords(kwargs):
    return {name: encoded(value) for name, value in sorted(kwargs.items()) if value is not None}


def flat(value):
    """The results one after the other: tuples, lists and maps dissolve."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [item for part in value for item in flat(part)]
    if isinstance(value, torch.Size):
        return list(value)
    return [value]


def cotangent(result, place):
    """What backward begins with: the same numbers as values.lua has."""
    numbers = (torch.arange(result.numel()) * 37 + place) % 11 - 5
    out = (numbers / 8).reshape(result.shape)
    return (out * (1 + 0.5j) if result.is_complex() else out).to(result.dtype)


def tensors(value):
    """The tensors of an argument, those in lists too."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = [value[name] for name in sorted(value)]
    return [t for item in value for t in tensors(item)] if isinstance(value, (list, tuple)) else []


def gradients(results, wanted):
    """None where no result needs a gradient."""
    outputs = [(k, r) for k, r in enumerate(results) if isinstance(r, torch.Tensor) and r.requires_grad]
    wanted = [t for t in wanted if t.requires_grad]
    if not outputs or not wanted:
        return None
    try:
        grads = torch.autograd.grad(
            [r for _, r in outputs], wanted, [cotangent(r, k) for k, r in outputs], allow_unused=True
        )
    except RuntimeError:  # eigenvectors have no gradient but for some sums of them
        return None
    return [encoded(None if g is None else g.detach()) for g in grads]
