"""Indexing: reads and assigns every form of x[…]."""

from harness import T, code
from harness.lua_text import lua


def key(index):
    """Returns the Lua text between the brackets."""
    if isinstance(index, (tuple, list)) and not isinstance(index, str):
        if isinstance(index, list):
            return "{" + lua(index) + "}"
        return "{" + ", ".join(item(i) for i in index) + "}"
    return item(index)


def item(index):
    if isinstance(index, str):  # the name of an input
        return index
    if index is None:
        return "none"
    return lua(index, True)


def name_of(index):
    return (
        key(index)
        .replace("slice", "")
        .replace("'...'", "dots")
        .replace("-", "m")
        .translate({ord(c): "_" for c in "{}()[] ,.':"})
    ).strip("_") or "all"


def filled_in(index, inputs):
    if isinstance(index, tuple):
        return tuple(inputs[i] if isinstance(i, str) else i for i in index)
    return inputs[index] if isinstance(index, str) else index


def read(index, x=None, **inputs):
    x = T(3, 4) if x is None else x
    names = ["x", *inputs]

    def python(*tensors):
        given = dict(zip(names, tensors))
        return given["x"][filled_in(index, given)]

    return code(
        f"read_{len(x.shape)}_dims_{name_of(index)}",
        f"return x[{key(index)}]",
        python,
        _={"grad": x.dtype == "float32"},
        x=x,
        **inputs,
    )


def write(index, value, x=None, **inputs):
    """Returns the case of x[index] = value; the value is a number, a boolean, or the name of an input."""
    x = T(3, 4) if x is None else x
    names = ["x", *inputs]

    def python(*tensors):
        given = dict(zip(names, tensors))
        out = given["x"].clone()
        out[filled_in(index, given)] = given[value] if isinstance(value, str) else value
        return out

    value_text = value if isinstance(value, str) else lua(value).replace("C(", "require('ffi').new('complex', ")
    kind = value if isinstance(value, str) else type(value).__name__
    return code(
        f"write_{name_of(index)}_{kind}",
        f"local out = x:clone() out[{key(index)}] = {value_text} return out",
        python,
        x=x,
        **inputs,
    )


S = slice
INDEX = T(2, dtype="int64", fill="index:3")
PAIRS = T(2, 2, dtype="int64", fill="index:3")
ROWS, CELLS = T(3, dtype="bool"), T(3, 4, dtype="bool")

READS = [
    0,
    2,
    -1,
    -3,
    S(None),
    S(1, None),
    S(None, 2),
    S(0, 3, 2),
    S(-2, None),
    S(None, -1),
    S(2, 1),
    S(5, 9),
    S(-9, 2),
    ...,
    None,
    True,
    False,
    (0, 0),
    (2, 3),
    (-1, -1),
    (0, S(1, 3)),
    (S(1, 3), 2),
    (S(None), S(None, None, 3)),
    (..., 1),
    (1, ...),
    (..., S(0, 2)),
    (None, 0),
    (0, None),
    (..., None),
    (S(None), None, 1),
    (None, ..., None),
    (True, 0),
    (0, True),
    (..., 0, None),
    (S(0, 2), S(1, 4, 2)),
    (),
    [0, 2],
    [True, False, True],
    [-1],
    [],
    ([0, 1], [2, 3]),
    ([0, 1], 2),
    (S(None), [0, 3]),
    ([0, 2], S(1, 3)),
    (..., [1, 2]),
    (None, [0, 1]),
    ([[0, 1], [2, 0]],),
    (S(None), [True, False, False, True]),
    (1, [0, 2, 3]),
    ([2], [1], None),
    (S(0, 2), None, [0, 1]),
]
CUBE = [
    0,
    (0, 1),
    (0, 1, 2),
    (..., 0),
    (0, ..., 1),
    (S(None), 1),
    (S(None), S(None), 1),
    ([0, 1], S(None), [2, 3]),
    (S(None), [0, 2], [1, 3]),
    ([0, 1], S(1, 3)),
    (0, S(None), [1, 2]),
    ([1], ..., [2]),
    (None, [0, 1], None, [1, 2]),
    (S(None), None, S(None), [0, 0]),
    (1, [0, 1], 2),
    ([0, 1], 1, S(None)),
    (S(None), 1, [3, 0]),
    (..., None, 0),
]
CASES = [read(i) for i in READS] + [read(i, x=T(2, 3, 4)) for i in CUBE]
CASES += [
    read("i", i=INDEX),
    read("i", i=PAIRS),
    read("i", i=ROWS),
    read("i", i=CELLS),
    read(("i", 1), i=INDEX),
    read((S(None), "i"), i=PAIRS),
    read(("i", "j"), i=INDEX, j=T(2, dtype="int64", fill="index:4", seed=9)),
    read(("i", "j"), i=T(2, 1, dtype="int64", fill="index:3"), j=T(3, dtype="int64", fill="index:4")),
    read(("i", S(1, 3)), i=ROWS),
    read(("i", 0), i=ROWS),
    read((..., "i"), i=T(4, dtype="bool")),
    read((0, "i"), i=T(4, dtype="bool")),
    read("i", i=T(dtype="int64", fill="ones")),
    read("i", i=T(dtype="bool", fill="ones")),
    read("i", i=T(dtype="bool", fill="zeros")),
    read(("i", "j"), i=T(dtype="int64", fill="ones"), j=INDEX),
    read("i", i=T(2, dtype="int32", fill="index:3")),
    read("i", i=T(0, dtype="int64")),
    read("i", x=T(3), i=T(2, 2, dtype="int64", fill="index:3")),
    read("i", x=T(), i=T(dtype="bool", fill="ones")),
    read(None, x=T()),
    read(..., x=T()),
    read((), x=T()),
    read((None, ..., None), x=T()),
    read(0, x=T(3, dtype="int64")),
    read(S(0, 2), x=T(3, dtype="bool")),
    read("i", x=T(3, 2, dtype="complex64"), i=INDEX),
    read(
        ("i", S(None), "j"), x=T(2, 3, 4), i=T(2, dtype="int64", fill="index:2"), j=T(2, dtype="int64", fill="index:4")
    ),
    read((S(None), "i"), x=T(2, 3, 4), i=T(3, 4, dtype="bool")),
    read(("i",), x=T(2, 3, 4), i=T(2, 3, dtype="bool")),
]
CASES += [
    write(i, 7)
    for i in (
        0,
        -1,
        S(1, 3),
        ...,
        (0, 0),
        (S(None), 1),
        (S(0, 3, 2), S(1, None)),
        [0, 2],
        ([0, 1], [2, 3]),
        (None, 0),
        True,
        False,
        (),
        (..., [0, 1]),
        ([0, 0], 1),
    )
]
CASES += [
    write(0, 1.5),
    write(0, True),
    write((1, 1), False),
    write(0, 1 + 2j, x=T(2, dtype="complex64")),
    write(0, 2.7, x=T(3, dtype="int64")),
    write(0, True, x=T(3, dtype="int64")),
    write(S(0, 2), 0, x=T(3, dtype="bool")),
    write(0, "v", v=T(4)),
    write(S(0, 2), "v", v=T(4)),
    write(S(0, 2), "v", v=T(2, 1)),
    write(..., "v", v=T(1)),
    write(S(None), "v", v=T()),
    write((0, 0), "v", v=T(1, 1)),
    write((S(None), 1), "v", v=T(3)),
    write((S(None), 1), "v", v=T(1, 1, 3)),
    write([0, 2], "v", v=T(2, 4)),
    write([0, 2], "v", v=T(4)),
    write(([0, 1], [2, 3]), "v", v=T(2)),
    write((S(None), [0, 3]), "v", v=T(2)),
    write((0, None), "v", v=T(1, 4)),
    write("m", 0, m=CELLS),
    write("m", "v", m=CELLS, v=T()),
    write("m", 5, m=ROWS),
    write("m", "v", m=ROWS, v=T(4)),
    write("i", "v", i=INDEX, v=T(2, 4)),
    write("i", 3, i=PAIRS),
    write(("i", 2), "v", i=INDEX, v=T(1)),
    write((S(None), "i"), "v", i=T(2, dtype="int64", fill="order"), v=T(3, 2)),
    write((0, "m"), 9, m=T(4, dtype="bool")),
    write(0, "v", v=T(4, dtype="int64")),
    write(S(None), "v", x=T(3, dtype="int64"), v=T(3)),
    write((S(None), 0, [1, 2]), "v", x=T(2, 3, 4), v=T(2, 2)),
    write((..., 0), "v", x=T(2, 3, 4), v=T(3)),
    write(([0, 1], S(None), [2, 3]), "v", x=T(2, 3, 4), v=T(2, 3)),
    write((), "v", x=T(), v=T()),
    write(..., 3, x=T()),
    write(S(0, 0), 1),
    write([], 1),
]
