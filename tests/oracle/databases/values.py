"""Encodes Python values as plain data that torch.save writes and values.lua turns into arguments of Lua calls."""

import math

import torch


class NoForm(Exception):
    """Raised for a value that Lua cannot express: a lambda, a generator, a NumPy array."""


NONE = {"_": "none"}


def plain(value):
    """Converts floats without a fraction to integers, because Lua has only one kind of number, and sizes and other
    sequences to lists.
    """
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
    """Encodes a value: tensors stay tensors; other values that are not plain data become a map with the field `_`."""
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
    """Returns the results as a flat list: tuples, lists and maps are unpacked."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [item for part in value for item in flat(part)]
    if isinstance(value, torch.Size):
        return list(value)
    return [value]


def cotangent(result, place):
    """Returns the gradient with which backward starts, the same as in values.lua."""
    numbers = (torch.arange(result.numel()) * 37 + place) % 11 - 5
    out = (numbers / 8).reshape(result.shape)
    return (out * (1 + 0.5j) if result.is_complex() else out).to(result.dtype)


def tensors(value):
    """Returns the tensors of an argument, also those in lists."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = [value[name] for name in sorted(value)]
    return [t for item in value for t in tensors(item)] if isinstance(value, (list, tuple)) else []


def gradients(results, wanted):
    """Returns the gradients, or None if no result needs a gradient."""
    outputs = [(k, r) for k, r in enumerate(results) if isinstance(r, torch.Tensor) and r.requires_grad]
    wanted = [t for t in wanted if t.requires_grad]
    if not outputs or not wanted:
        return None
    try:
        grads = torch.autograd.grad(
            [r for _, r in outputs], wanted, [cotangent(r, k) for k, r in outputs], allow_unused=True
        )
    except RuntimeError:  # eigenvectors have a gradient only for some sums of them
        return None
    return [encoded(None if g is None else g.detach()) for g in grads]
