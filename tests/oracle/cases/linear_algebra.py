"""Products of matrices, torch.linalg, torch.fft."""

import torch

from harness import T, rows

M, N, SQUARE, BATCH = T(3, 4), T(4, 2), T(3, 3), T(2, 3, 4)
SPD, INV, SYM = T(3, 3, fill="spd"), T(3, 3, fill="invertible"), T(3, 3, fill="symmetric")
SPDS, INVS = T(2, 3, 3, fill="spd"), T(2, 3, 3, fill="invertible", dtype="float64")
LOWER, UPPER = T(3, 3, fill="lower"), T(3, 3, fill="upper")
C, CV = T(3, 3, dtype="complex64"), T(3, dtype="complex64")
V, W = T(3), T(4)
LOOSE = {"tol": (1e-3, 1e-4)}
NO_GRAD = {"grad": False, **LOOSE}

PRODUCTS = {
    "mm": [
        (M, N),
        (T(3, 4, dtype="int64"), T(4, 2, dtype="int64")),
        (T(3, 4, dtype="bfloat16"), T(4, 2, dtype="bfloat16")),
        (T(3, 4, dtype="float64"), T(4, 2, dtype="float64")),
        (C, C),
        (T(0, 4), N),
    ],
    "bmm": [(BATCH, T(2, 4, 2))],
    "matmul": [(M, N), (V, M), (M, W), (V, V), (BATCH, N), (BATCH, T(2, 4, 2)), (T(2, 1, 3, 4), T(5, 4, 2)), (C, CV)],
    "mv": [(M, W)],
    "dot": [(V, V), (V, T(3)), (CV, T(3, dtype="complex64"))],
    "vdot": [(V, T(3)), (CV, T(3, dtype="complex64"))],
    "inner": [(M, T(2, 4)), (V, T(3))],
    "outer": [(V, W), (T(3, dtype="int64"), W)],
    "ger": [(V, W)],
    "addmm": [(T(2), M, N), (T(3, 2), M, N, {"beta": 0.5, "alpha": 2}), (T(3, 2), M, N, {"beta": 0})],
    "addmm_": [(T(3, 2), M, N, {"alpha": -1})],
    "addmv": [(V, M, W), (V, M, W, {"beta": 2, "alpha": 0.5})],
    "addmv_": [(V, M, W)],
    "addr": [(T(3, 4), V, W), (T(3, 4), V, W, {"beta": 0.5, "alpha": 3})],
    "addr_": [(T(3, 4), V, W)],
    "addbmm": [(T(3, 2), BATCH, T(2, 4, 2)), (T(3, 2), BATCH, T(2, 4, 2), {"beta": 0.5, "alpha": 2})],
    "addbmm_": [(T(3, 2), BATCH, T(2, 4, 2))],
    "baddbmm": [(T(2, 3, 2), BATCH, T(2, 4, 2)), (T(2, 3, 2), BATCH, T(2, 4, 2), {"beta": 0.5, "alpha": 2})],
    "baddbmm_": [(T(2, 3, 2), BATCH, T(2, 4, 2))],
    "matrix_power": [(SQUARE, 3), (INV, -1), (SQUARE, 0)],
    "matrix_exp": [(SQUARE,)],
    "bilinear": [(T(2, 3), T(2, 4), T(5, 3, 4)), (T(2, 3), T(2, 4), T(5, 3, 4), T(5))],
    "einsum": [
        ("ij,jk->ik", [M, N], {"_": {"python": torch._C._VariableFunctions.einsum}}),
        ("bij->bj", [BATCH], {"_": {"python": torch._C._VariableFunctions.einsum}}),
    ],
    "inverse": [(INV,)],
    "det": [(SQUARE,)],
    "logdet": [(SPD,)],
    "slogdet": [(SPD,), (SQUARE, {"_": {"grad": False}})],
    "cholesky": [(SPD,), (SPD, True)],
    "cholesky_inverse": [(LOWER,), (UPPER, True)],
    "cholesky_solve": [(T(3, 2), LOWER), (T(3, 2), UPPER, {"upper": True})],
    "triangular_solve": [(T(3, 2), UPPER), (T(3, 2), LOWER, {"upper": False, "transpose": True})],
    "pinverse": [(M, {"_": LOOSE})],
    "svd": [(M, {"_": NO_GRAD})],
    "qr": [(T(4, 3), {"_": NO_GRAD})],
    "orgqr": [(T(4, 3), T(3))],
    "geqrf": [(T(4, 3), {"_": NO_GRAD})],
    "ormqr": [(T(4, 3), T(3), T(4, 2))],
}

LINALG = {
    "inv": [(INV,), (INVS,), (T(2, 2, fill="invertible", dtype="complex64"),)],
    "inv_ex": [(INV,), (INV, {"check_errors": True})],
    "det": [(SQUARE,), (INVS,)],
    "slogdet": [(SPD,), (INVS,)],
    "cholesky": [(SPD,), (SPDS,), (SPD, {"upper": True})],
    "cholesky_ex": [(SPD,), (SPD, {"upper": True, "check_errors": True})],
    "solve": [(INV, T(3, 2)), (INV, V), (INV, T(2, 3), {"left": False}), (INVS, T(2, 3, 2, dtype="float64"))],
    "solve_ex": [(INV, V)],
    "solve_triangular": [
        (UPPER, T(3, 2), {"upper": True}),
        (LOWER, T(3, 2), {"upper": False, "unitriangular": True}),
        (UPPER, T(2, 3), {"upper": True, "left": False}),
    ],
    "lstsq": [(T(4, 2), T(4, 1), {"_": NO_GRAD}), (T(4, 2), T(4, 1), None, {"driver": "gels", "_": NO_GRAD})],
    "lu": [(INV,)],
    "lu_factor": [(INV,)],
    "lu_factor_ex": [(INV,)],
    "ldl_factor": [(SPD, {"_": NO_GRAD})],
    "qr": [(T(4, 3),), (T(4, 3), "complete", {"_": NO_GRAD}), (T(4, 3), {"mode": "r", "_": NO_GRAD})],
    "svd": [(M, {"full_matrices": False, "_": NO_GRAD}), (M, False, {"_": NO_GRAD})],
    "svdvals": [(M,), (BATCH,)],
    "eigh": [(SPD, {"_": NO_GRAD})],
    "eigvalsh": [(SPD,), (SYM, "U"), (SYM, {"UPLO": "L"})],
    "eigvals": [(UPPER, {"_": NO_GRAD})],
    "matrix_norm": [
        (M,),
        (M, 1),
        (M, "nuc", {"_": LOOSE}),
        (BATCH, {"ord": 2, "keepdim": True}),
        (BATCH, "fro", [0, 2]),
    ],
    "vector_norm": [
        (M,),
        (M, 1),
        (M, 3, 1),
        (M, float("inf")),
        (M, {"dim": 0, "keepdim": True}),
        (M, 0, [0, 1], False, {"dtype": torch.float64}),
    ],
    "norm": [
        (M,),
        (M, "nuc", {"_": LOOSE}),
        (M, 2, 1),
        (V, 3),
        (BATCH, {"dim": [1, 2], "keepdim": True}),
        (M, float("-inf"), 0),
    ],
    "cond": [(INV, {"_": LOOSE}), (INV, 1, {"_": NO_GRAD}), (INV, {"p": "fro", "_": NO_GRAD})],
    "matrix_rank": [
        (SQUARE,),
        (T(3, 4, fill="ones"),),
        (SQUARE, {"rtol": 0.5}),
        (SQUARE, {"hermitian": True, "_": {"name": "linalg_matrix_rank_h"}}),
    ],
    "matrix_power": [(SQUARE, 2), (INV, -2)],
    "matrix_exp": [(SQUARE,)],
    "multi_dot": [([M, N, T(2, 3)],)],
    "pinv": [(M, {"_": LOOSE}), (SPD, {"hermitian": True, "_": LOOSE})],
    "cross": [(T(2, 3), T(2, 3)), (T(3, 2), T(3, 2), {"dim": 0})],
    "diagonal": [(M,), (BATCH, {"offset": 1, "dim1": 0, "dim2": 2})],
    "householder_product": [(T(4, 3), T(3))],
    "matmul": [(M, N)],
    "vecdot": [(M, T(3, 4)), (M, T(3, 4), {"dim": 0}), (CV, T(3, dtype="complex64"))],
    "vander": [(V, {"_": {"grad": False}}), (V, {"N": 2, "_": {"grad": False}})],
    "tensorinv": [(T(4, 2, 2), 1)],
    "tensorsolve": [(T(2, 2, 4), T(2, 2), {"_": LOOSE})],
}

FFT1, FFT2 = T(8, dtype="complex64"), T(4, 4, dtype="complex64")
REAL1, REAL2 = T(2, 8), T(4, 6)
FFT = {
    "fft": [(REAL1,), (FFT1,), (REAL1, 5), (REAL1, None, 0), (REAL1, {"n": 10, "dim": 1, "norm": "ortho"})],
    "ifft": [(FFT1,), (REAL1, 6, -1, "forward")],
    "rfft": [(REAL1,), (REAL1, 4), (REAL1, {"dim": 0, "norm": "forward"}), (T(8, dtype="float64"),)],
    "irfft": [(FFT1,), (FFT1, 9), (T(5, dtype="complex64"), {"n": 8, "norm": "backward"})],
    "hfft": [(FFT1,), (T(5, dtype="complex64"), 8)],
    "ihfft": [(REAL1,)],
    "fft2": [(REAL2,), (FFT2, [4, 2]), (REAL2, {"norm": "ortho"})],
    "ifft2": [(FFT2,)],
    "rfft2": [(REAL2,), (REAL2, {"s": [2, 4]})],
    "irfft2": [(FFT2,)],
    "hfft2": [(FFT2,)],
    "ihfft2": [(REAL2,)],
    "fftn": [(REAL2,), (T(2, 3, 4), {"dim": [0, 2]})],
    "ifftn": [(FFT2,)],
    "rfftn": [(REAL2,), (T(2, 3, 4), None, [1, 2])],
    "irfftn": [(FFT2,)],
    "hfftn": [(FFT2,)],
    "ihfftn": [(REAL2,)],
    "fftshift": [(REAL2,), (REAL2, 1), (REAL2, {"dim": [0]})],
    "ifftshift": [(REAL2,), (REAL2, [1])],
    "fftfreq": [(8,), (5, 0.5), (4, {"dtype": torch.float64, "d": 2})],
    "rfftfreq": [(8,), (5, {"d": 0.5})],
}


def prefixed(prefix, table):
    return {prefix + name: calls for name, calls in table.items()}


CASES = rows(PRODUCTS) + rows(prefixed("linalg_", LINALG)) + rows(prefixed("fft_", FFT))
