"""Inputs computed by formula: harness/fill.lua computes exactly the same numbers, so golden files contain only answers.

All numbers come from hash_of(i, seed), a permutation of 0…2002 (cubing is one-to-one modulo this prime). They are
fractions with a power of two as denominator, exact in float32 and mostly in float16.
"""

import math

import torch

PRIME = 2003


def hash_of(i, seed):
    k = (i * 37 + seed * 101 + 5) % PRIME
    return k * k % PRIME * k % PRIME


# Maps a fill to its formula for the number at place i with hash h; `n` is the text after the colon: "index:5".
FILLS = {
    "real": lambda h, i, n: (2 * h - PRIME) / 1024,  # -1.96 … 1.96, never 0, distinct up to 2003 elements
    "positive": lambda h, i, n: (h + 1) / 1024,  # 0 < x < 1.96
    "unit": lambda h, i, n: (2 * h + 1) / 4096,  # 0 < x < 0.98
    "signed_unit": lambda h, i, n: (2 * h - PRIME) / 2048,  # -0.98 … 0.98
    "above_one": lambda h, i, n: 1 + (h + 1) / 1024,  # 1 < x < 2.96
    "wide": lambda h, i, n: (2 * h - PRIME) / 64,  # -31 … 31
    "ties": lambda h, i, n: (h % 4 - 1) / 2,  # -0.5, 0, 0.5, 1: many equal numbers
    "int": lambda h, i, n: h % 9 - 4,  # -4 … 4
    "natural": lambda h, i, n: h % 8 + 1,  # 1 … 8
    "count": lambda h, i, n: h % 9,  # 0 … 8
    "index": lambda h, i, n: h % int(n),  # 0 … n-1
    "order": lambda h, i, n: i,  # 0, 1, 2, …
    "bool": lambda h, i, n: h % 2,
    "zeros": lambda h, i, n: 0,
    "ones": lambda h, i, n: 1,
    "special": lambda h, i, n: SPECIAL[i % len(SPECIAL)],
}
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5]


def square(shape, real, kind):
    """Returns batches of square matrices for linear algebra; `real` holds numerators over 1024, so that sums are exact."""
    n = shape[-1]
    out = []
    for start in range(0, len(real), n * n):
        a = [real[start + r * n : start + (r + 1) * n] for r in range(n)]
        for r in range(n):
            for c in range(n):
                if kind == "spd":  # symmetric positive definite
                    value = sum(a[r][k] * a[c][k] for k in range(n)) / 1048576 + (n if r == c else 0)
                elif kind == "symmetric":
                    value = (a[r][c] + a[c][r]) / 1024
                elif kind == "invertible":
                    value = a[r][c] / 1024 + (2 * n if r == c else 0)
                else:
                    inside = r >= c if kind == "lower" else r <= c
                    value = (a[r][c] / 1024 + (3 if r == c else 0)) if inside else 0
                out.append(value)
    return out


SQUARE = ("spd", "symmetric", "invertible", "lower", "upper")


class T:
    """A tensor of a case: T(2, 3), T(3, dtype="int64", fill="index:5"), T(fill="unit", seed=7), T() for 0 dims.

    The default seed is the tensor's position among the case's tensors. A complex tensor fills its two parts from two
    seeds. With grad=False the tensor is left out of the case's gradients.
    """

    def __init__(self, *shape, dtype="float32", fill=None, seed=None, grad=True):
        self.shape, self.dtype, self.seed, self.grad = shape, dtype, seed, grad
        if fill is None:
            fill = (
                "bool"
                if dtype == "bool"
                else "count"
                if dtype.startswith("uint")
                else "int"
                if dtype.startswith("int")
                else "real"
            )
        if fill.split(":")[0] not in FILLS and fill not in SQUARE:
            raise ValueError(f"unknown fill {fill!r}: {', '.join([*FILLS, *SQUARE])}")
        self.fill = fill

    def __repr__(self):
        return f"{self.dtype} {list(self.shape)}"

    def lua(self):
        shape = ",".join(map(str, self.shape))
        rest = [f"'{self.fill}'", f"'{self.dtype}'", "false"]
        if self.grad:
            rest.pop()
            if self.dtype == "float32":
                rest = rest[: self.fill != "real"]
        return f"T({','.join([str(self.seed), '{' + shape + '}', *rest])})"

    def numbers(self, seed):
        count = math.prod(self.shape)
        if self.fill in SQUARE:
            return square(self.shape, [2 * hash_of(i, seed) - PRIME for i in range(count)], self.fill)
        kind, _, n = self.fill.partition(":")
        return [FILLS[kind](hash_of(i, seed), i, n) for i in range(count)]

    def tensor(self):
        dtype = getattr(torch, self.dtype)
        out = torch.tensor(self.numbers(self.seed), dtype=torch.float64)
        if dtype.is_complex:
            out = torch.complex(out, torch.tensor(self.numbers(self.seed + 500), dtype=torch.float64))
        return out.reshape(self.shape).to(dtype)
