"""Converts Python values to Lua text for the golden files."""

import math
import re

import torch

from harness.fill import T

RESERVED = {
    "and",
    "break",
    "do",
    "else",
    "elseif",
    "end",
    "false",
    "for",
    "function",
    "goto",
    "if",
    "in",
    "local",
    "nil",
    "not",
    "or",
    "repeat",
    "return",
    "then",
    "true",
    "until",
    "while",
}
ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


def number(value, digits):
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.{digits}g}"


def string(value):
    return "'" + "".join(ESCAPES.get(c, c) for c in value) + "'"


def key(name):
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in RESERVED else f"[{string(name)}]"


def lua(value, in_list=False):
    """Returns a Lua literal for the environment of oracle.lua: T, C, slice, none, inf, nan."""
    if value is None:
        return "none" if in_list else "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) <= 2**53 else f"{value}LL"
    if isinstance(value, float):
        return number(value, 17) if value != round(value, 6) else repr(round(value, 6)).removesuffix(".0")
    if isinstance(value, complex):
        return f"C({lua(value.real)},{lua(value.imag)})"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, T):
        return value.lua()
    if value is Ellipsis:
        return "'...'"
    if isinstance(value, slice):
        return f"slice({lua(value.start)},{lua(value.stop)},{lua(value.step)})"
    if isinstance(value, (list, tuple)):
        return "{" + ",".join(lua(item, True) for item in value) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key(name)}={lua(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format, torch.device)):
        return string(str(value).removeprefix("torch."))
    raise TypeError(f"no Lua form for {value!r}")
