"""Applies an operator to a tensor and many numbers in every dtype, compared bit by bit: the Python side of
harness/numbers.lua.
"""

import math

import torch

from harness.case import code
from harness.fill import T

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
NUMBERS = [0.1, -2.0315, 70000.5, 1e-6, 1e-40, 1e300, math.inf, math.nan, 3, -2, 0, 300, 100000]
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
HALF = ("float16", "bfloat16")
WHOLE = ("uint8", "int8", "int16", "int32", "int64")
REAL = ("bool", *WHOLE, *HALF, "float32", "float64")


def input_of(name):
    """Returns numbers of ordinary size, near 0 and non-finite; for integer dtypes -32 to 31, for complex dtypes with an
    imaginary part.
    """
    dtype = getattr(torch, name)
    x = T(40, dtype="float64", fill="wide", seed=1).tensor()
    if dtype.is_complex:
        return torch.complex(x, T(40, dtype="float64", seed=2).tensor()).to(dtype)
    if not dtype.is_floating_point:
        return (x.abs() if name == "uint8" else x > 0 if name == "bool" else x).to(dtype)
    special = T(10, dtype="float64", fill="special", seed=1).tensor()
    return torch.cat([x, x / 1024, special, -special[3:4]]).to(dtype)


def bits_of(result):
    """Returns the bits as int64; all NaNs become one value, because their signs differ between processors."""
    if result.is_complex():
        result = torch.view_as_real(result)
    result = result.contiguous().reshape(-1)
    bits = result.view(BITS[result.element_size()]).long()
    return torch.where(result.isnan(), -1, bits) if result.is_floating_point() else bits


def digest(result):
    """Returns six digits that depend on dtype, shape and every bit."""
    bits = bits_of(result)
    weights = torch.arange(1, 2 * bits.numel(), 2) * 40503
    total = (bits * weights).sum() + bits.numel() + len(str(result.dtype)) * 7
    return f"{(total * 2654435761 >> 20 & 0xFFFFFF).item():06x}"


def numbers_for(name):
    """Returns the numbers for a dtype: Lua has no negative integer zero, so for integer dtypes -0.0 becomes 0."""
    floating = name in HALF or name.startswith(("float", "complex"))
    return [*NUMBERS, -0.0 if floating else 0]


def answers(function, names):
    out = []
    for name in names:
        x, digests = input_of(name), []
        for number in numbers_for(name):
            try:
                digests.append(digest(function(x.clone(), number)))
            except Exception:
                digests.append("fails")
        out.append(f"{name} {' '.join(digests)}")
    return out


def number(name, text, function, dtypes=None):
    """Returns the case of a Lua expression of a tensor x and a number n, and of a Python function of both. `dtypes` are
    the dtypes for which the answer has the same bits on every processor.
    """
    dtypes = dtypes or DTYPES
    names = ",".join(f"'{dtype}'" for dtype in dtypes)
    return code(
        name,
        f"return require('harness.numbers').answers(function(x, n) return {text} end, {{{names}}})",
        lambda: answers(function, dtypes),
    )
