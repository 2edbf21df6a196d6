"""The public names of Python's torch.nn and its parts; nn_names_test.lua checks each of them."""

from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune, rnn, stateless

from cases.names import Names

OWNERS = {
    "nn": nn,
    "functional": nn.functional,
    "init": nn.init,
    "parallel": nn.parallel,
    "utils": nn.utils,
    "rnn": rnn,
    "prune": prune,
    "parametrize": parametrize,
    "parametrizations": parametrizations,
    "stateless": stateless,
    "Module": nn.Module,
    "Sequential": nn.Sequential,
    "ModuleList": nn.ModuleList,
    "ModuleDict": nn.ModuleDict,
    "ParameterList": nn.ParameterList,
    "ParameterDict": nn.ParameterDict,
    "PackedSequence": rnn.PackedSequence,
}


class PublicNames(Names):
    """The public names without imports from typing and similar modules."""

    def __init__(self, name, owner):
        super().__init__(name, owner)
        self.names = [n for n in self.names if not self.is_imported(getattr(owner, n))]

    @staticmethod
    def is_imported(value):
        return getattr(value, "__module__", None) in ("typing", "collections.abc", "contextlib", "warnings", "enum")


CASES = [PublicNames(name, owner) for name, owner in OWNERS.items()]
