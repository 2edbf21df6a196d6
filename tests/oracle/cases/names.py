"""The public names of Python's torch; names_test.lua checks each of them."""

import sys
import types

import torch

from harness.lua_text import lua

OWNERS = {
    "torch": torch,
    "Tensor": torch.Tensor,
    "linalg": torch.linalg,
    "fft": torch.fft,
    "special": torch.special,
    "random": torch.random,
    "profiler": torch.profiler,
    "sparse": torch.sparse,
    "testing": torch.testing,
    "Generator": torch.Generator,
    "Size": torch.Size,
    "distributions": torch.distributions,
    "distributions.constraints": torch.distributions.constraints,
    "distributions.transforms": torch.distributions.transforms,
}
# These modules import many names; their __all__ lists their own.
LISTED = ("profiler", "distributions", "distributions.constraints", "distributions.transforms")
# Names from Python itself, and texts from which PyTorch builds its documentation.
FOREIGN = {
    "torch",
    "TYPE_CHECKING",
    "Tensor",
    "Generator",
    "common_args",
    "factory_common_args",
    "multi_dim_common",
    "common_notes",
    "classproperty",
    "Any",
    "DType",
    "DimOrDims",
    "Optional",
    "Union",
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
}


def is_foreign(owner, name):
    value = getattr(owner, name, None)
    if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] in sys.stdlib_module_names:
        return True
    return name.startswith("_") or (name in FOREIGN and owner is not torch) or name in ("torch", "TYPE_CHECKING")


class Names:
    def __init__(self, name, owner):
        self.name = name
        names = owner.__all__ if name in LISTED else dir(owner)
        self.names = sorted(n for n in names if not is_foreign(owner, n))

    def line(self):
        return f"{{name={lua(self.name)},names={lua(' '.join(self.names))}}}"


CASES = [Names(name, owner) for name, owner in OWNERS.items()]
