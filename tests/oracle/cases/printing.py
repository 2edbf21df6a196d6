"""Tensors as text: str(x) in Python equals tostring(x) in Lua, character by character."""

import torch

from harness import T, code


def printed(name, text, python=None, **inputs):
    """`text` is the Lua expression of a tensor; Python evaluates `python`, or the same text if it is valid in both
    languages.
    """
    source = python or text
    names = ",".join(inputs)
    function = eval(f"lambda {names}: ({source})", {"torch": torch})
    return code(name, f"return tostring({text})", lambda *args: str(function(*args)), **inputs)


def with_options(name, options, *tensors):
    """Prints all tensors under the print options, and then resets the options."""
    keywords = ", ".join(
        f"{k} = {'true' if v is True else 'false' if v is False else repr(v)}" for k, v in options.items()
    )
    names = [f"x{i}" for i in range(len(tensors))]
    text = (
        f"torch.set_printoptions{{{keywords}}} "
        f"local out = {{{', '.join(f'tostring({n})' for n in names)}}} "
        "torch.set_printoptions{profile = 'default'} return unpack(out)"
    )

    def python(*args):
        torch.set_printoptions(**options)
        try:
            return [str(x) for x in args]
        finally:
            torch.set_printoptions(profile="default")

    return code(name, text, python, **dict(zip(names, tensors)))


SHAPES = [(), (1,), (3,), (0,), (2, 0), (0, 3, 2), (2, 3), (1, 1), (2, 1, 3), (2, 2, 2, 2), (2, 1, 1, 1, 2)]
FLOATS = ["float64", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"]
COMPLEX = ["complex64", "complex128", "complex32"]

CASES = [printed(f"shape_{len(s)}", "x", x=T(*s)) for s in SHAPES]
CASES += [
    printed(f"fill_{fill}", "x", x=T(2, 5, fill=fill))
    for fill in ("positive", "unit", "wide", "ties", "int", "zeros", "ones", "special", "order", "above_one")
]
CASES += [printed(f"{dtype}", "x", x=T(2, 3, dtype=dtype)) for dtype in FLOATS + INTEGERS + COMPLEX]
CASES += [
    printed(f"{dtype}_empty", "x", x=T(0, dtype=dtype)) for dtype in ("float64", "int64", "bool", "int32", "complex64")
]
CASES += [printed(f"{dtype}_0_dim", "x", x=T(dtype=dtype)) for dtype in FLOATS[:3] + INTEGERS + COMPLEX[:2]]
CASES += [
    printed(f"{dtype}_special", "x", x=T(2, 5, dtype=dtype, fill="special"))
    for dtype in ("float16", "bfloat16", "float64", "complex64")
]
CASES += [
    printed(f"large_{len(shape)}", "x", x=T(*shape, dtype=dtype))
    for shape, dtype in [
        ((1001,), "float32"),
        ((1000,), "float32"),
        ((2000,), "int64"),
        ((40, 30), "float32"),
        ((7, 200), "float32"),
        ((6, 200), "float32"),
        ((200, 6), "float32"),
        ((11, 11, 11), "float32"),
        ((3, 4, 100), "bool"),
        ((2, 2, 2, 200), "int64"),
        ((1200,), "complex64"),
        ((30, 40), "complex64"),
    ]
]
CASES += [
    printed(f"row_of_{n}", "x", x=T(2, n, dtype=dtype))
    for n, dtype in [
        (7, "float32"),
        (8, "float32"),
        (9, "float32"),
        (30, "int64"),
        (12, "bool"),
        (4, "complex64"),
        (9, "complex128"),
    ]
]
CASES += [
    printed("scientific_small", "x * 1e-5", x=T(5)),
    printed("scientific_large", "x * 1e9", x=T(5)),
    printed("scientific_wide", "x:pow(20)", "x.pow(20)", x=T(2, 4)),
    printed("scientific_integers", "x:pow(5):floor()", "x.pow(5).floor()", x=T(5, fill="wide")),
    printed("scientific_of_integers_above_1e8", "x * 1e8", x=T(4, fill="natural")),
    printed("scientific_with_nan", "x * 1e-6", x=T(10, fill="special")),
    printed("scientific_complex", "x * 1e-6", x=T(3, dtype="complex64")),
    printed("scientific_half_of_a_complex", "torch.complex(x, x * 1e-6)", x=T(3)),
    printed("only_infinities", "x / 0", x=T(3)),
    printed("negative_zero", "x * -1", x=T(3, fill="zeros")),
    printed("complex_negative_zero", "torch.complex(x, x * -1)", x=T(3, fill="zeros")),
    printed("integers_of_both_signs", "x * 1000", x=T(2, 4, dtype="int64")),
    printed(
        "largest_int64",
        "x:sub(9223372036854775807LL)",
        "x.sub(9223372036854775807)",
        x=T(2, dtype="int64", fill="zeros"),
    ),
    printed("requires_grad", "x:requires_grad_()", "x.requires_grad_()", x=T(3)),
    printed("grad_fn", "x:requires_grad_() * 2", "x.requires_grad_() * 2", x=T(2, 2)),
    printed("grad_fn_of_a_view", "x:requires_grad_():view(-1)", "x.requires_grad_().view(-1)", x=T(2, 2)),
    printed(
        "grad_fn_on_a_new_line",
        "x:requires_grad_():sum({1}, true)",
        "x.requires_grad_().sum((1,), True)",
        x=T(3, 2, dtype="float64"),
    ),
    printed("grad_fn_and_dtype", "x:requires_grad_():exp()", "x.requires_grad_().exp()", x=T(5, dtype="float64")),
    printed("suffix_wraps", "x:requires_grad_():mul(2)", "x.requires_grad_().mul(2)", x=T(6, dtype="float64")),
    printed("suffix_fits_exactly", "x:requires_grad_():mul(2)", "x.requires_grad_().mul(2)", x=T(5)),
    printed("leaf_of_a_double", "x:requires_grad_()", "x.requires_grad_()", x=T(7, dtype="float64")),
    printed("empty_with_grad", "x:requires_grad_()", "x.requires_grad_()", x=T(2, 0)),
    printed("transposed", "x.T", x=T(2, 3)),
    printed("expanded", "x:expand(3, 2)", "x.expand(3, 2)", x=T(2)),
    printed("conjugate", "x:conj()", "x.conj()", x=T(3, dtype="complex64")),
    printed("imaginary_of_conjugate", "x:conj().imag", "x.conj().imag", x=T(3, dtype="complex64")),
    printed("meta", "x:to('meta')", "x.to('meta')", x=T(2, 3)),
    printed("meta_int", "x:to('meta')", "x.to('meta')", x=T(2, dtype="int64")),
    printed("sparse", "x:to_sparse()", "x.to_sparse()", x=T(3, 3, fill="ties")),
    printed("sparse_int", "x:to_sparse()", "x.to_sparse()", x=T(4, dtype="int32", fill="ties")),
    printed("sparse_of_nothing", "x:to_sparse()", "x.to_sparse()", x=T(2, 3, fill="zeros")),
    printed("sparse_with_dense_dim", "x:to_sparse(1)", "x.to_sparse(1)", x=T(3, 2)),
    printed("sparse_csr", "x:to_sparse_csr()", "x.to_sparse_csr()", x=T(3, 3, fill="ties")),
    printed("sparse_csc", "x:to_sparse_csc()", "x.to_sparse_csc()", x=T(2, 4, fill="ties")),
    printed(
        "default_dtype_float64",
        "(function() torch.set_default_dtype('float64') local text = tostring(x) "
        "torch.set_default_dtype('float32') return text end)()",
        "[torch.set_default_dtype(torch.float64), str(x), torch.set_default_dtype(torch.float32)][1]",
        x=T(3),
    ),
    with_options("precision", {"precision": 2}, T(2, 3), T(3, fill="wide"), T(2, dtype="complex64")),
    with_options("precision_0", {"precision": 0}, T(3), T(3, fill="wide")),
    with_options("precision_10", {"precision": 10}, T(3, dtype="float64")),
    with_options("threshold", {"threshold": 5}, T(10), T(4, 10), T(2, 3)),
    with_options("edgeitems", {"threshold": 5, "edgeitems": 1}, T(10), T(4, 10), T(3, 4, 5)),
    with_options("edgeitems_0", {"threshold": 5, "edgeitems": 0}, T(10), T(4, 10), T(2)),
    with_options("linewidth", {"linewidth": 40}, T(10), T(4, 10, dtype="int64"), T(3, 4, dtype="complex64")),
    with_options("linewidth_5", {"linewidth": 5}, T(3), T(2, 2, dtype="int32")),
    with_options("profile_short", {"profile": "short"}, T(40, 40), T(3, fill="wide")),
    with_options("profile_full", {"profile": "full"}, T(1010, dtype="bool")),
    with_options("profile_and_precision", {"profile": "short", "precision": 1}, T(3)),
    with_options("sci_mode", {"sci_mode": True}, T(3), T(3, fill="natural"), T(2, dtype="complex64")),
    with_options("sci_mode_off", {"sci_mode": False}, T(3, fill="wide"), T(2, dtype="float64")),
]
