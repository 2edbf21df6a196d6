"""Elementwise operators: unary and binary operators, activations; dtypes, numbers, broadcasting, in place."""

import torch

from harness import T, call, rows

FLOATS = ["float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "float64", "complex128", "bfloat16"]
NUMBERS = ["int64", "float16", "uint8", "int32", "complex64", "int8", "float64", "int16", "bfloat16"]
INTEGERS = ["int64", "int32", "uint8", "int8", "int16", "bool"]

# names, fill of the input, and dtypes, each of which is used for every name
UNARY = [
    ("abs absolute neg negative sgn square positive", "real", NUMBERS),
    ("sign ceil floor round trunc fix frac", "wide", ["float64", "bfloat16", "float16"]),
    ("exp expm1 sin cos tan sinh cosh tanh atan arctan asinh arcsinh sigmoid reciprocal", "real", COMPLEX),
    ("exp2 erf erfc sinc deg2rad rad2deg i0 nan_to_num hardsigmoid", "real", FLOATS),
    (
        "relu relu6 silu mish selu celu elu gelu hardswish leaky_relu hardtanh hardshrink softshrink softplus log_sigmoid",
        "wide",
        FLOATS,
    ),
    ("log log2 log10 log1p sqrt rsqrt", "positive", COMPLEX),
    ("lgamma digamma", "positive", FLOATS),
    ("acos arccos asin arcsin atanh arctanh", "signed_unit", COMPLEX),
    ("acosh arccosh", "above_one", COMPLEX),
    ("erfinv", "signed_unit", FLOATS),
    ("logit", "unit", FLOATS),
    ("isnan isfinite isinf isposinf isneginf", "special", ["float64", "bfloat16", "float16"]),
    ("isreal signbit angle", "real", ["int64", "float64", "float16", "complex64"]),
    ("logical_not", "int", INTEGERS),
    (
        (
            "special_airy_ai special_bessel_j0 special_bessel_j1 special_modified_bessel_i0 special_modified_bessel_i1 "
            "special_spherical_bessel_j0"
        ),
        "real",
        ["float64"],
    ),
    (
        (
            "special_bessel_y0 special_bessel_y1 special_modified_bessel_k0 special_modified_bessel_k1 "
            "special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1"
        ),
        "positive",
        ["float64"],
    ),
    ("special_entr special_ndtri special_logit", "unit", ["float64"]),
    (
        (
            "special_erf special_erfc special_erfcx special_exp2 special_expit special_expm1 special_i0 special_i0e special_i1 "
            "special_i1e special_log_ndtr special_ndtr special_round special_sinc"
        ),
        "real",
        ["float64", "float64", "bfloat16"],
    ),
    ("special_digamma special_psi special_gammaln special_log1p", "positive", ["float64", "bfloat16"]),
    ("special_erfinv", "signed_unit", ["float64"]),
]
NO_BFLOAT16 = {"special_i1", "special_i1e", "special_log_ndtr", "special_erfcx", "special_i0e", "special_i0"}


def unary():
    out = []
    for names, fill, dtypes in UNARY:
        for i, name in enumerate(names.split()):
            dtype = dtypes[i % len(dtypes)]
            if dtype == "bfloat16" and name in NO_BFLOAT16:
                dtype = "float64"
            out.append(call(name, T(2, 3, fill=fill)))
            floating = dtype.startswith(("float", "bfloat", "complex"))
            out.append(call(name, T(5, dtype=dtype, fill=fill if floating else None)))
            if hasattr(torch.Tensor, name + "_"):
                out.append(call(name + "_", T(3, fill=fill)))
    return out


X, Y, V, S = T(2, 3), T(2, 3), T(3), T()
POSITIVE, ABOVE = T(2, 3, fill="positive"), T(3, fill="above_one")
D = {name: T(2, 3, dtype=name) for name in ["float64", "float16", "bfloat16", "complex64", "complex128", *INTEGERS]}
I, NATURAL = D["int64"], T(3, dtype="int64", fill="natural")
COLUMN = T(2, 1)


def binary():
    """Returns cases of each name with tensors that broadcast, with a number, with another dtype, and in place."""
    out = []
    arithmetic = "add sub subtract mul multiply div divide true_divide"
    compare = "eq ne not_equal lt less le less_equal gt greater ge greater_equal"
    others = list(D)
    for i, name in enumerate((arithmetic + " " + compare).split()):
        other = others[i % len(others)]
        if other in ("complex64", "complex128") and name in compare.split() and name not in ("eq", "ne"):
            other = "int16"
        if other == "bool" and name in ("sub", "subtract"):
            other = "uint8"
        table = {name: [(COLUMN, V), (X, 2), (X, 0.5), (I, 2), (D[other], D[other])], name + "_": [(X, V), (X, 3)]}
        out += rows(table)
    for name in "bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor".split():
        out += rows({name: [(I, T(3, dtype="int64")), (D["bool"], T(3, dtype="bool"))], name + "_": [(I, I)]})
    for name in "bitwise_and bitwise_or bitwise_xor".split():
        out += rows({name: [(D["uint8"], 5)]})
    for name in "maximum minimum fmax fmin".split():
        out += rows({name: [(X, V), (I, NATURAL), (D["bfloat16"], D["bfloat16"]), (T(10, fill="special"), T(10))]})
    for name in "atan2 arctan2 hypot copysign fmod remainder".split():
        out += rows({name: [(X, ABOVE), (D["float64"], D["float64"])], name + "_": [(X, ABOVE)]})
    for name in "logaddexp logaddexp2".split():
        out += rows({name: [(X, V), (D["float64"], V)]})
    for name in "gcd lcm".split():
        out += rows({name: [(NATURAL, T(2, 1, dtype="int64", fill="natural"))], name + "_": [(NATURAL, NATURAL)]})
    for name in "t u v w".split():
        for family in ("special_chebyshev_polynomial_", "special_shifted_chebyshev_polynomial_"):
            out += rows(
                {family + name: [(T(4, fill="unit"), 3), (T(4, fill="unit"), T(dtype="float32", fill="natural"))]}
            )
    for name in (
        "special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l "
        "special_legendre_polynomial_p".split()
    ):
        out += rows({name: [(T(4, fill="unit"), 2), (0.5, T(3, fill="order"))]})
    return out


TABLE = {
    "add": [
        (X, V, {"alpha": 2}),
        (X, Y, {"alpha": 0.5}),
        (I, I, {"alpha": 3}),
        (X, S),
        (S, X),
        (I, X),
        (T(2, 3, dtype="bool"), 1),
        (T(2, 3, dtype="bool"), D["float16"]),
        (I, 0.5),
        (D["float16"], D["bfloat16"]),
        (D["complex64"], 1 + 2j),
        (X, 1 + 2j),
        (T(0, 3), V),
        (T(2, 1, 3), T(4, 1)),
        (X, 4, {"alpha": 2}),
    ],
    "add_": [(X, V, {"alpha": -1})],
    "sub": [(X, V, {"alpha": 2}), (X, 3, {"alpha": 2})],
    "rsub": [(X, V), (X, 2), (X, V, {"alpha": 2}), (I, 7)],
    "mul": [(T(2, 3, dtype="bool"), T(2, 3, dtype="bool")), (T(), 3), (D["uint8"], 200)],
    "div": [
        (X, V, {"rounding_mode": "floor"}),
        (I, 3, {"rounding_mode": "trunc"}),
        (I, 2),
        (X, 2, {"rounding_mode": None}),
        (D["complex64"], D["complex64"]),
    ],
    "div_": [(X, V, {"rounding_mode": "trunc"})],
    "floor_divide": [(X, ABOVE), (I, 3), (I, NATURAL), (X, 0.5)],
    "floor_divide_": [(I, 2)],
    "pow": [
        (POSITIVE, V),
        (X, 2),
        (X, 3),
        (POSITIVE, 0.5),
        (2, X),
        (0.5, X),
        (I, 2),
        (2, NATURAL),
        (D["complex64"], 2),
        (D["float64"], 2),
        (I, T(3, dtype="int64", fill="natural")),
        (D["complex64"], 0.5),
    ],
    "pow_": [(X, 2), (POSITIVE, V)],
    "float_power": [(POSITIVE, V), (I, 2), (2, X)],
    "remainder": [(I, 3), (X, -0.75), (5, NATURAL), (I, -3)],
    "fmod": [(I, 3), (X, -0.75)],
    "ldexp": [(X, T(3, dtype="int64"))],
    "ldexp_": [(X, T(3, dtype="int64"))],
    "frexp": [(X,)],
    "xlogy": [(X, ABOVE), (T(3, fill="zeros"), V), (2, ABOVE), (X, 2)],
    "xlogy_": [(X, ABOVE)],
    "special_xlogy": [(X, ABOVE)],
    "special_xlog1py": [(X, ABOVE), (2, ABOVE), (X, 2)],
    "special_zeta": [(T(2, 3, fill="above_one"), ABOVE), (T(3, fill="above_one"), 2)],
    "nextafter": [(X, V)],
    "nextafter_": [(X, V)],
    "heaviside": [(T(2, 3, fill="ties"), V)],
    "igamma": [(POSITIVE, ABOVE)],
    "igammac": [(POSITIVE, ABOVE)],
    "special_gammainc": [(POSITIVE, ABOVE)],
    "special_gammaincc": [(POSITIVE, ABOVE)],
    "polygamma": [(1, POSITIVE, {"_": {"self": 1}}), (0, POSITIVE), (2, POSITIVE)],
    "special_polygamma": [(1, POSITIVE)],
    "mvlgamma": [(T(3, fill="above_one"), 2)],
    "mvlgamma_": [(T(3, fill="above_one"), 2)],
    "special_multigammaln": [(T(3, fill="above_one"), 2)],
    "bitwise_left_shift": [(NATURAL, 2), (NATURAL, NATURAL)],
    "bitwise_right_shift": [(T(3, dtype="int64", fill="natural"), 1), (D["uint8"], D["uint8"])],
    "bitwise_left_shift_": [(NATURAL, 1)],
    "bitwise_not": [(I,), (D["bool"],), (D["uint8"],)],
    "bitwise_not_": [(I,)],
    "lerp": [(X, Y, 0.3), (X, V, T(3, fill="unit")), (D["float64"], D["float64"], 0.25)],
    "lerp_": [(X, Y, 0.3)],
    "addcmul": [(X, Y, V), (X, Y, V, {"value": 0.5}), (I, I, I, {"value": 2})],
    "addcmul_": [(X, Y, V, {"value": -2})],
    "addcdiv": [(X, Y, ABOVE), (X, Y, ABOVE, {"value": 0.5})],
    "addcdiv_": [(X, Y, ABOVE, {"value": 0.5})],
    "clamp": [
        (X, -0.5, 0.5),
        (X, None, 0.25),
        (X, {"min": 0}),
        (X, V, T(3, fill="positive")),
        (I, -1, 2),
        (X, {"max": V}),
        (D["bfloat16"], -0.5, 0.5),
    ],
    "clamp_": [(X, 0, 1), (X, {"max": 0.5})],
    "clamp_min": [(X, 0), (X, V)],
    "clamp_max": [(X, 0), (X, V)],
    "clamp_min_": [(X, 0.25)],
    "clamp_max_": [(X, V)],
    "clip": [(X, -1, 1)],
    "clip_": [(X, -1, 1)],
    "where": [
        (T(2, 3, dtype="bool"), X, V, {"_": {"self": 1}}),
        (T(2, 3, dtype="bool"), X, 0, {"_": {"self": 1}}),
        (T(2, 3, dtype="bool"), 1, X, {"_": {"forms": "f"}}),
        (T(2, 3, dtype="bool"), I, D["float64"], {"_": {"self": 1}}),
    ],
    "round": [(X, {"decimals": 1}), (T(6, fill="wide"), {"decimals": -1})],
    "round_": [(X, {"decimals": 2})],
    "special_round": [(X, {"decimals": 2})],
    "nan_to_num": [(T(10, fill="special"), 0.5, 9, -9), (T(10, fill="special"), {"posinf": 1})],
    "nan_to_num_": [(T(10, fill="special"),)],
    "logit": [(T(4, fill="real"), 0.1), (T(4, fill="real"), {"eps": 0.25})],
    "threshold": [(X, 0.1, 20), (I, 1, 0)],
    "threshold_": [(X, 0.1, 0.5)],
    "hardtanh": [(X, -0.5, 0.25)],
    "hardtanh_": [(X, -0.5, 0.25)],
    "leaky_relu": [(X, 0.3)],
    "elu": [(X, 0.5, 2, 0.5)],
    "celu": [(X, 0.5)],
    "celu_": [(X, 0.5)],
    "gelu": [(X, {"approximate": "tanh"})],
    "hardshrink": [(X, 0.25), (X, T(fill="unit", grad=False))],
    "softshrink": [(X, 0.25)],
    "softplus": [(X, 2, 0.5)],
    "glu": [(T(2, 4), 1), (T(4, 3), 0)],
    "prelu": [(T(2, 3, 2), T(3)), (X, T(1))],
    "rrelu": [(X, 0.1, 0.3, False), (X, 0.1, 0.3, True)],
    "isclose": [
        (X, X),
        (X, T(2, 3, seed=1), {"atol": 1}),
        (T(10, fill="special", seed=1), T(10, fill="special", seed=1), {"equal_nan": True}),
    ],
    "allclose": [(X, Y), (X, T(2, 3, seed=1)), (X, Y, {"rtol": 10, "atol": 5})],
    "equal": [(X, Y), (X, T(2, 3, seed=1)), (X, V)],
    "isin": [(I, NATURAL), (I, 2), (3, I), (I, NATURAL, {"invert": True})],
    "complex": [(X, Y), (D["float64"], D["float64"])],
    "polar": [(POSITIVE, X)],
    "real": [(D["complex64"], {"_": {"forms": "f"}}), (X, {"_": {"forms": "f"}})],
    "imag": [(D["complex64"], {"_": {"forms": "f"}})],
    "conj": [(D["complex64"],), (X,)],
    "resolve_conj": [(D["complex64"],)],
    "resolve_neg": [(X,)],
    "view_as_real": [(D["complex64"],)],
    "view_as_complex": [(T(3, 2),)],
    "conj_physical": [(D["complex64"],), (X, {"_": {"same": False}})],
    "conj_physical_": [(D["complex64"],)],
    "is_conj": [(D["complex64"],)],
    "is_nonzero": [(T(1),), (T(fill="zeros"),)],
    "is_signed": [(X,), (D["uint8"],)],
    "full": [([2], T(grad=False)), ([2, 1], T(dtype="int64"))],
    "arange": [(T(dtype="int64", fill="natural"),)],
    "roll": [(X, T(dtype="int64"), T(dtype="int64", fill="zeros"))],
    "unsqueeze": [(X, T(dtype="int64", fill="zeros"))],
    "topk": [(X, T(dtype="int32", fill="ones"))],
    "leaky_relu_": [(X, T(fill="unit"))],
    "is_same_size": [(X, Y), (X, V)],
    "result_type": [(X, I), (I, 2), (I, 0.5), (2, X), (D["float16"], D["float64"])],
    "can_cast": [(torch.float64, torch.int32), (torch.int8, torch.float16)],
    "promote_types": [(torch.int32, torch.float16), (torch.uint8, torch.int8)],
}
CASES = unary() + binary() + rows(TABLE)
