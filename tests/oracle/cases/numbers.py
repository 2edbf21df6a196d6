"""Operators with a number as one operand, in every dtype, compared bit by bit."""

import torch

from harness.numbers import HALF, REAL, WHOLE, number

F = torch.nn.functional
# The dtypes for operations that other processors may round differently: complex products, powers, fused multiply-adds.
ROUNDED = (*WHOLE, *HALF)


def in_place(name, dtypes):
    return number(name, f"x:{name}(n)", lambda x, n: getattr(x, name)(n), dtypes)


def method(name, dtypes):
    return number(name, f"x:{name}(n)", lambda x, n: getattr(torch, name)(x, n), dtypes)


def first(name, dtypes):
    return number(f"{name}_of_number", f"torch.{name}(n, x)", lambda x, n: getattr(torch, name)(n, x), dtypes)


def set_at(x, n):
    x[1:3] = n
    return x


CASES = [
    number("number_plus", "n + x", lambda x, n: n + x),
    number("plus_number", "x + n", lambda x, n: x + n),
    number("number_minus", "n - x", lambda x, n: n - x),
    number("minus_number", "x - n", lambda x, n: x - n),
    number("number_times", "n * x", lambda x, n: n * x, REAL),
    number("times_number", "x * n", lambda x, n: x * n, REAL),
    number("number_over", "n / x", lambda x, n: n / x, REAL),
    number("over_number", "x / n", lambda x, n: x / n, REAL),
    number("number_modulo", "n % x", lambda x, n: n % x, REAL),
    number("modulo_number", "x % n", lambda x, n: x % n, REAL),
    number("number_to_the", "n ^ x", lambda x, n: n**x, ROUNDED),
    number("to_the_number", "x ^ n", lambda x, n: x**n, ROUNDED),
    *[method(name, None) for name in ("add", "sub", "eq", "ne", "fill", "full_like")],
    *[
        method(name, REAL)
        for name in (
            "rsub",
            "mul",
            "div",
            "true_divide",
            "floor_divide",
            "remainder",
            "fmod",
            "lt",
            "le",
            "gt",
            "ge",
            "clamp",
            "clamp_min",
            "clamp_max",
            "copysign",
            "hardshrink",
        )
    ],
    # float_power answers in float64, with last bits that differ between processors: pointwise.py compares its values.
    *[method(name, ROUNDED) for name in ("pow", "xlogy")],
    *[method(name, WHOLE) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[first(name, None) for name in ("add", "sub", "subtract")],
    *[first(name, REAL) for name in ("mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder")],
    *[first(name, ROUNDED) for name in ("pow", "xlogy")],
    *[first(name, WHOLE) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[in_place(name, None) for name in ("add_", "sub_", "fill_", "eq_", "ne_")],
    *[
        in_place(name, REAL)
        for name in (
            "mul_",
            "div_",
            "floor_divide_",
            "remainder_",
            "fmod_",
            "lt_",
            "le_",
            "gt_",
            "ge_",
            "clamp_",
            "clamp_min_",
            "clamp_max_",
            "copysign_",
        )
    ],
    *[in_place(name, ROUNDED) for name in ("pow_", "xlogy_", "float_power_")],
    *[
        number(
            f"div_{mode}",
            f"torch.div(x, n, {{rounding_mode = '{mode}'}})",
            lambda x, n, mode=mode: torch.div(x, n, rounding_mode=mode),
            REAL,
        )
        for mode in ("floor", "trunc")
    ],
    *[
        number(
            f"div_{mode}_of_number",
            f"torch.div(n, x, {{rounding_mode = '{mode}'}})",
            lambda x, n, mode=mode: torch.div(n, x, rounding_mode=mode),
            REAL,
        )
        for mode in ("floor", "trunc")
    ],
    *[
        number(
            f"{name}_of_two_numbers",
            f"torch.{name}(n, 3)",
            lambda x, n, name=name: getattr(torch, name)(n, 3),
            ["int64"],
        )
        for name in ("add", "sub", "mul")
    ],
    number(
        "add_out", "torch.add(x, n, {out = torch.zeros_like(x)})", lambda x, n: torch.add(x, n, out=torch.zeros_like(x))
    ),
    number(
        "mul_out",
        "torch.mul(n, x, {out = torch.zeros_like(x)})",
        lambda x, n: torch.mul(n, x, out=torch.zeros_like(x)),
        REAL,
    ),
    number("add_alpha", "x:add(x, {alpha = n})", lambda x, n: x.add(x, alpha=n), ROUNDED),
    number("sub_alpha", "x:sub(x, {alpha = n})", lambda x, n: x.sub(x, alpha=n), ROUNDED),
    number("rsub_alpha", "torch.rsub(x, x, {alpha = n})", lambda x, n: torch.rsub(x, x, alpha=n), ROUNDED),
    number("add_alpha_", "x:add_(x, {alpha = n})", lambda x, n: x.add_(x, alpha=n), ROUNDED),
    number("addcmul", "torch.addcmul(x, x, x, {value = n})", lambda x, n: torch.addcmul(x, x, x, value=n), ROUNDED),
    number("lerp", "torch.lerp(x, -x, n)", lambda x, n: torch.lerp(x, -x, n), HALF),
    number("where", "torch.where(x:ne(0), x, n)", lambda x, n: torch.where(x != 0, x, n)),
    number("where_of_number", "torch.where(x:ne(0), n, x)", lambda x, n: torch.where(x != 0, n, x)),
    number("masked_fill", "x:masked_fill(x:ne(0), n)", lambda x, n: x.masked_fill(x != 0, n)),
    number(
        "index_fill",
        "x:index_fill(0, torch.tensor({1, 3}, {dtype = 'int64'}), n)",
        lambda x, n: x.index_fill(0, torch.tensor([1, 3]), n),
    ),
    number("assign", "(function() x[slice(1, 3)] = n return x end)()", set_at),
    number("new_full", "x:new_full({2}, n)", lambda x, n: x.new_full([2], n)),
    number("full", "torch.full({2}, n, {dtype = x.dtype})", lambda x, n: torch.full([2], n, dtype=x.dtype)),
    number("pad", "F.pad(x, {1, 2}, 'constant', n)", lambda x, n: F.pad(x, [1, 2], "constant", n)),
    number("threshold", "F.threshold(x, 1, n)", lambda x, n: F.threshold(x, 1, n), REAL),
    *[
        number(
            f"foreach_{name}",
            f"torch._foreach_{name}({{x}}, n)[1]",
            lambda x, n, name=name: getattr(torch, f"_foreach_{name}")([x], n)[0],
            dtypes,
        )
        for name, dtypes in (
            ("add", None),
            ("sub", None),
            ("mul", REAL),
            ("div", REAL),
            ("pow", ROUNDED),
            ("clamp_min", REAL),
            ("maximum", REAL),
        )
    ],
]
