"""The classes and functions of torchvision.transforms with their parameters; transforms_names_test.lua checks them."""

import enum
import inspect

import torch
import torchvision.transforms as T_
import torchvision.transforms.functional as F_
import torchvision.transforms.v2 as V2

from harness.lua_text import lua


def plain(value):
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return list(value) if isinstance(value, tuple) else value


class Parameters:
    """One function or class: the names of its parameters, and the default values."""

    def __init__(self, place, owner):
        self.name, self.place = f"{place}.{owner.__name__}", place
        self.parameters = inspect.signature(owner).parameters

    def line(self):
        defaults = {n: plain(p.default) for n, p in self.parameters.items() if p.default not in (p.empty, None)}
        optional = [n for n, p in self.parameters.items() if p.default is not p.empty]
        return (
            f"{{name={lua(self.name)},place={lua(self.place)},parameters={lua(list(self.parameters))},"
            f"optional={lua(optional)},defaults={lua(defaults)}}}"
        )


class Names:
    def __init__(self, name, names):
        self.name, self.names = name, sorted(names)

    def line(self):
        return f"{{name={lua(self.name)},names={lua(self.names)}}}"


def classes(owner):
    return {n for n in dir(owner) if inspect.isclass(getattr(owner, n)) and not n.startswith("_")}


CASES = [
    Parameters("transforms", getattr(T_, n)) for n in sorted(classes(T_)) if not issubclass(getattr(T_, n), enum.Enum)
]
CASES += [
    Parameters("functional", f)
    for n, f in sorted(inspect.getmembers(F_, inspect.isfunction))
    if f.__module__ == F_.__name__ and not n.startswith("_")
]
CASES += [
    Names("enumerations", [n for n in classes(T_) if issubclass(getattr(T_, n), enum.Enum)]),
    Names("of_v2_alone", classes(V2) - classes(T_)),
]
