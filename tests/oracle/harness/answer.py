"""The part of a result that a golden file keeps: all elements of small tensors, samples and weighted sums of large
ones.
"""

import math

import torch

from harness.lua_text import lua, number

WHOLE = 24  # the largest number of elements that are all kept (a complex element counts twice)
SAMPLES = 12
DIGITS = {torch.float64: 15, torch.complex128: 15, torch.float16: 5, torch.bfloat16: 4}


def flatten(value):
    """Returns the results as a flat list: tuples and lists are unpacked."""
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flatten(part)]
    return [value]


def elements(tensor):
    """Returns the numbers in order; a complex element gives two numbers."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.contiguous())
    if tensor.is_floating_point():
        tensor = tensor.to(torch.float64)
    return [int(x) if isinstance(x, bool) else x for x in tensor.reshape(-1).tolist()]


def weight(i, k):
    return ((i * (7 + 4 * k) + k) % 13 - 6) / 8


def sums(numbers):
    """Returns [count of non-finite elements, three weighted sums of the finite elements]."""
    finite = [(i, x) for i, x in enumerate(numbers) if math.isfinite(x)]
    return [len(numbers) - len(finite)] + [math.fsum(weight(i, k) * x for i, x in finite) for k in range(3)]


def tensor_text(tensor):
    dtype = str(tensor.dtype).removeprefix("torch.")
    digits = DIGITS.get(tensor.dtype, 7)

    def text(values):
        return "{" + ",".join(number(x, digits) if isinstance(x, float) else lua(x) for x in values) + "}"

    shape = "{" + ",".join(map(str, tensor.shape)) + "}"
    numbers = elements(tensor)
    if len(numbers) <= WHOLE:
        return f"A('{dtype}',{shape},{text(numbers)})"
    samples = [numbers[k * (len(numbers) - 1) // (SAMPLES - 1)] for k in range(SAMPLES)]
    return f"A('{dtype}',{shape},{text(samples)},{text(sums(numbers))})"


def text(value, shape_only=False):
    """Returns one result as Lua text."""
    if isinstance(value, torch.Tensor) and shape_only:
        value = torch.zeros(value.shape, dtype=value.dtype)
    if isinstance(value, torch.Tensor):
        return tensor_text(value)
    if isinstance(value, float):
        return number(value, 15)
    return lua(value, True)
