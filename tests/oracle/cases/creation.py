"""Tensors created from nothing, from other tensors, and by the random generator (seeded before each case)."""

import torch

from harness import T, rows

X, I, C = T(2, 3), T(2, 3, dtype="int64"), T(2, 3, dtype="complex64")
SHAPE = {"shape_only": True}
PROB = T(2, 10, fill="unit")

LIKE = {
    name: [(X,), (X, {"dtype": torch.float64}), (X, {"requires_grad": True, "_": {"grad": False}})]
    for name in ("zeros_like", "ones_like", "rand_like", "randn_like")
}
LIKE["zeros_like"].append((I,))
LIKE["ones_like"].append((I,))

TABLE = LIKE | {
    "zeros": [(2, 3), ([2, 3],), ([],), ([0, 2], {"dtype": torch.int64}), (3, {"dtype": torch.complex64})],
    "ones": [(2, 3), ([2, 3], {"dtype": torch.bool}), ([2], {"dtype": torch.bfloat16}), ([1], {"device": "cpu"})],
    "empty": [(2, 3, {"_": SHAPE}), ([2], {"dtype": torch.int8, "_": SHAPE})],
    "full": [([2, 2], 0.5), ([2], True), ([2], 3, {"dtype": torch.int64}), ([2], 1 + 2j), ([], 2.5)],
    "eye": [(3,), (2, 3), (2, {"dtype": torch.int64})],
    "arange": [
        (5,),
        (1, 4),
        (0, 1, 0.25),
        (5, 0, -2),
        (3, {"dtype": torch.float32}),
        (0.5, 3),
        (2, 8, 3, {"dtype": torch.float64}),
    ],
    "linspace": [
        (0, 1, 5),
        (-2, 3, 4),
        (0, 1, 3, {"dtype": torch.float64}),
        (0, 10, {"steps": 3}),
        (T(fill="zeros"), T(fill="ones"), 4),
    ],
    "logspace": [(0, 2, 3), (0, 3, 4, 2), (0, 1, 3, {"base": 3, "dtype": torch.float64})],
    "scalar_tensor": [(2.5,), (3, {"dtype": torch.int64})],
    "hann_window": [(6,), (6, False), (5, {"dtype": torch.float64})],
    "hamming_window": [(6,), (6, True, 0.5), (6, False, 0.5, 0.4)],
    "blackman_window": [(6,), (6, {"periodic": False})],
    "bartlett_window": [(6,)],
    "kaiser_window": [(6,), (6, True, 8)],
    "full_like": [(X, 2), (I, 2), (X, 0.5, {"dtype": torch.float64}), (X, True, {"dtype": torch.bool})],
    "empty_like": [(X, {"_": SHAPE}), (X, {"dtype": torch.uint8, "_": SHAPE})],
    "new_zeros": [(I, [2, 2]), (I, 2, 2), (X, [1], {"dtype": torch.bool})],
    "new_ones": [(I, [2, 2]), (X, 3)],
    "new_full": [(I, [2], 7), (X, [2, 1], 0.25), (X, [2], 3, {"dtype": torch.int64})],
    "new_empty": [(I, [2, 2], {"_": SHAPE})],
    "empty_strided": [([2, 2], [1, 2], {"_": SHAPE})],
    "new_empty_strided": [(X, [2, 2], [1, 2], {"_": SHAPE})],
    "rand": [(2, 3), ([5],), (3, {"dtype": torch.float64}), ([20],)],
    "randn": [(2, 3), ([5],), (20,), (3, {"dtype": torch.float64}), (2, {"dtype": torch.complex64})],
    "randint": [(10, [4]), (0, 10, [4]), (-5, 5, [2, 2], {"dtype": torch.int32}), (3, [4], {"dtype": torch.float32})],
    "randint_like": [(X, 10), (I, 2, 8)],
    "randperm": [(6,), (4, {"dtype": torch.int32}), (40,)],
    "normal": [(T(2, 3), T(2, 3, fill="positive")), (T(4), 2), (0, T(3, fill="positive")), (0, 1, [4])],
    "normal_": [(X,), (X, 1, 0.5), (X, {"mean": 2, "std": 0.1})],
    "uniform_": [(X,), (X, -1, 1), (X, {"to": 3})],
    "random_": [(I,), (I, 10), (I, 2, 8), (X, 5)],
    "bernoulli": [(PROB,), (X, 0.3)],
    "bernoulli_": [(X, 0.5), (X,), (X, T(3, fill="unit"))],
    "exponential_": [(X,), (X, 2)],
    "geometric_": [(X, 0.4)],
    "cauchy_": [(X,), (X, 1, 2)],
    "log_normal_": [(X,), (X, 0.5, 0.25)],
    "poisson": [(T(2, 3, fill="natural"),)],
    "binomial": [(T(4, fill="natural"), T(4, fill="unit"))],
    "multinomial": [(PROB, 2), (PROB, 5, True), (PROB, {"num_samples": 3, "replacement": False})],
    "tril_indices": [(3, 3, {"dtype": torch.int32})],
}
CASES = rows(TABLE)
