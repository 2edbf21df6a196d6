"""Data, dtypes and attributes of tensors, functions of elements, generators."""

import torch

from cases.lists.calls import both
from harness import T, code

ATTRIBUTES = [
    # data and dtypes
    both("as_tensor", "torch.as_tensor(x) * 2", lambda x: torch.as_tensor(x) * 2, x=T(3)),
    both(
        "as_tensor_dtype",
        "torch.as_tensor(x, torch.float64)",
        lambda x: torch.as_tensor(x, dtype=torch.float64),
        x=T(3),
    ),
    both("asarray", "torch.asarray(x, {copy = true})", lambda x: torch.asarray(x, copy=True), x=T(3, dtype="int64")),
    code(
        "frombuffer",
        "torch.frombuffer('abcdefgh', {dtype = 'int16', count = 2, offset = 2})",
        lambda: torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=2, offset=2),
    ),
    code(
        "new_tensor", "x:new_tensor{{1, 2}, {3, 4}}", lambda x: x.new_tensor([[1, 2], [3, 4]]), x=T(1, dtype="float64")
    ),
    code("new_full", "x:new_full({2, 2}, 3)", lambda x: x.new_full((2, 2), 3), x=T(1, dtype="int32")),
    code("new_zeros", "x:new_zeros(2, 3, {dtype = 'bool'})", lambda x: x.new_zeros(2, 3, dtype=torch.bool), x=T(1)),
    both("type_as", "x:type_as(y)", lambda x, y: x.type_as(y), x=T(3, fill="wide"), y=T(1, dtype="int64")),
    *[
        code(
            f"type_{dtype}",
            "x:type(), x:element_size(), x.itemsize, x.nbytes, x.ndim",
            lambda x: (x.type(), x.element_size(), x.itemsize, x.nbytes, x.ndim),
            x=T(2, 3, dtype=dtype),
        )
        for dtype in (
            "float32",
            "float64",
            "float16",
            "bfloat16",
            "int64",
            "int32",
            "int16",
            "int8",
            "uint8",
            "bool",
            "complex64",
            "complex128",
            "uint16",
            "uint32",
            "uint64",
            "float8_e5m2",
            "float8_e4m3fn",
        )
    ],
    *[
        code(f"to_{name}", f"x:{name}()", lambda x, name=name: getattr(x, name)(), x=T(4, fill="wide"))
        for name in (
            "float",
            "double",
            "half",
            "bfloat16",
            "long",
            "int",
            "short",
            "char",
            "bool",
            "cfloat",
            "cdouble",
            "cpu",
        )
    ],
    *[
        code(
            f"finfo_{d}",
            f"local f = torch.finfo('{d}') return f.bits, f.dtype, "
            "torch.tensor({f.eps, f.tiny, f.smallest_normal, f.resolution, f.max / 2, f.min / 2}, {dtype = 'float64'})",
            lambda d=d: (
                lambda f: (
                    f.bits,
                    f.dtype,
                    torch.tensor(
                        [f.eps, f.tiny, f.smallest_normal, f.resolution, f.max / 2, f.min / 2], dtype=torch.float64
                    ),
                )
            )(torch.finfo(getattr(torch, d))),
        )
        for d in (
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "float8_e4m3fn",
            "float8_e5m2",
            "float8_e4m3fnuz",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
            "complex64",
            "complex128",
        )
    ],
    *[
        code(
            f"iinfo_{d}",
            f"local f = torch.iinfo('{d}') return f.bits, f.min, f.max, f.dtype",
            lambda d=d: (lambda f: (f.bits, f.min, f.max, f.dtype))(torch.iinfo(getattr(torch, d))),
        )
        for d in ("uint8", "int8", "int16", "int32", "uint16", "uint32", "int64")
    ],
    code(
        "promotion",
        "torch.promote_types('int32', 'float16'), torch.result_type(x, 1.5), torch.can_cast('float32', 'int32'), "
        "torch.get_default_dtype()",
        lambda x: (
            torch.promote_types(torch.int32, torch.float16),
            torch.result_type(x, 1.5),
            torch.can_cast(torch.float32, torch.int32),
            torch.get_default_dtype(),
        ),
        x=T(2, dtype="int64"),
    ),
    # attributes
    *[
        both(
            f"attribute_{name}",
            f"x.{name}:clone()",
            lambda x, name=name: getattr(x, name).clone(),
            x=T(2, 3, dtype="complex64"),
        )
        for name in ("T", "H", "mT", "mH", "real", "imag")
    ],
    code(
        "attributes",
        "x.is_leaf, x.requires_grad, x.is_cuda, x.is_cpu, x.is_sparse, x.device, x.layout",
        lambda x: (x.is_leaf, x.requires_grad, x.is_cuda, x.is_cpu, x.is_sparse, str(x.device), x.layout),
        x=T(2),
    ),
    code(
        "channels_last",
        "local y = x:to{memory_format = 'channels_last'} return y:stride(), y:dim_order(), "
        "y:is_contiguous(), y:is_contiguous{memory_format = 'channels_last'}, y:storage_offset()",
        lambda x: (
            lambda y: (
                list(y.stride()),
                list(y.dim_order()),
                y.is_contiguous(),
                y.is_contiguous(memory_format=torch.channels_last),
                y.storage_offset(),
            )
        )(x.to(memory_format=torch.channels_last)),
        x=T(2, 3, 4, 5),
    ),
    code(
        "item_of_int64",
        "x:add(9007199254740993LL):item()",
        lambda x: x.add(9007199254740993).item(),
        x=T(dtype="int64", fill="zeros"),
    ),
    code("tolist", "x:tolist()", lambda x: x.tolist(), x=T(2, 3, dtype="int16")),
    # elements
    code(
        "apply_",
        "return x:apply_(function(v) return v * v + 1 end)",
        lambda x: x.apply_(lambda v: v * v + 1),
        x=T(2, 3),
    ),
    code(
        "map_",
        "return x:map_(y, function(a, b) return a - 2 * b end)",
        lambda x, y: x.map_(y, lambda a, b: a - 2 * b),
        x=T(2, 3),
        y=T(2, 3),
    ),
    # random
    code(
        "fork_rng",
        "torch.random.fork_rng(function() torch.rand(5) end) return torch.rand(3)",
        lambda: [torch.rand(5), torch.manual_seed(0), torch.rand(3)][2],
    ),
    code(
        "generator",
        "local g = torch.Generator():manual_seed(7) return torch.randn(3, {generator = g}), g:initial_seed()",
        lambda: (lambda g: (torch.randn(3, generator=g), g.initial_seed()))(torch.Generator().manual_seed(7)),
    ),
    code(
        "seeds",
        "torch.manual_seed(5):initial_seed(), torch.initial_seed(), torch.default_generator:initial_seed()",
        lambda: (torch.manual_seed(5).initial_seed(), torch.initial_seed(), torch.default_generator.initial_seed()),
    ),
]
