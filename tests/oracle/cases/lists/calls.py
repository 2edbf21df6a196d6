"""Cases of Lua code and a Python function."""

from harness import code


def plain(name, lua, python, **inputs):
    return code(name, lua, python, {"grad": False}, **inputs)


def both(name, lua, python, **inputs):
    return code(
        name, lua, python, {"grad": all(t.dtype.startswith(("float", "complex")) for t in inputs.values())}, **inputs
    )
