"""Operators of ATen: forms of a call, dtypes, broadcasting, views, gradients, errors."""

from harness import T, call, code, wrong

CASES = [
    call("add", T(2, 3), T(3), alpha=2),
    call("add_", T(2, 3), T(3)),
    call("transpose", T(2, 3), 0, 1),
    call("max", T(3, 4), 1),
    call("linalg_inv", T(3, 3, fill="spd")),
    call("sum", T(20, 30), [0], keepdim=True),
    call("mul", T(3, dtype="complex64"), T(2, 3, dtype="complex64")),
    call("split", T(5, 2), 2),
    wrong("add", T(2, 3), T(4)),
    code("relu_of_sum", "F.relu(x + y):sum()", lambda x, y: (x + y).relu().sum(), x=T(3), y=T(2, 3)),
]
