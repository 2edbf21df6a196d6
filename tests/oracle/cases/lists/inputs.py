"""Inputs of modules and functions."""

from harness import T

X1, X2, X3 = T(2, 4, 7), T(2, 4, 6, 6), T(1, 2, 4, 4, 4)
ROWS = T(3, 4)
WIDE = T(3, 5, fill="wide")


def indices(*shape, n):
    return T(*shape, dtype="int64", fill=f"index:{n}")
