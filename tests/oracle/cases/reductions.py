"""Reductions, scans, order statistics, normalisation along a dim."""

import torch

from harness import T, rows

X, CUBE, S, WIDE = T(3, 4), T(2, 3, 4), T(), T(3, 4, fill="wide")
I, B, TIES = T(3, 4, dtype="int64"), T(3, 4, dtype="bool"), T(3, 5, fill="ties")
POSITIVE, SPECIAL = T(3, 4, fill="positive"), T(2, 10, fill="special")
D, BF, C = T(3, 4, dtype="float64"), T(3, 4, dtype="bfloat16"), T(3, 4, dtype="complex64")
EMPTY = T(0, 3)
KEEP = {"keepdim": True}

# Each takes no dim, one dim with keepdim, or several dims.
ANY_DIMS = "sum mean nansum nanmean amax amin std var count_nonzero logsumexp all any".split()


def any_dims(name):
    keep = name != "count_nonzero"
    out = [(CUBE, 1, KEEP) if keep else (CUBE, 1), (CUBE, [0, -1]), (D, 0), (BF, -1)]
    if name != "logsumexp":
        out.append((CUBE,))
    if name in ("std", "var"):
        out += [
            (CUBE, 0, {"correction": 0}),
            (X, {"unbiased": False}),
            (X, [0, 1], {"correction": 2, "keepdim": True}),
            (X, False),
            (C, 0),
            (X, 1, False),
        ]
    if name in ("sum", "mean", "nansum"):
        out += [(X, 0, {"dtype": torch.float64})]
    if name in ("sum", "all", "any"):
        out += [(I, 0), (B, 1), (EMPTY, 0), (EMPTY,), (S,)]
    if name in ("amax", "amin"):
        out += [(I, [0]), (TIES, 1)]
    return out


TABLE = {name: any_dims(name) for name in ANY_DIMS}
TABLE |= {
    "sum": TABLE["sum"]
    + [(I, {"dtype": torch.float32}), (C, 1), (X, None), (X, None, True), (X, []), (T(2, 1, dtype="uint8"),)],
    "mean": TABLE["mean"] + [(I, {"dtype": torch.float32}), (C,)],
    "nansum": TABLE["nansum"] + [(SPECIAL, 0)],
    "nanmean": TABLE["nanmean"] + [(SPECIAL, 1, KEEP)],
    "std_mean": [(X,), (X, 1), (X, [0, 1], {"correction": 0, "keepdim": True}), (X, False)],
    "var_mean": [(X,), (X, 1, {"unbiased": False}), (C, 1)],
    "aminmax": [(X,), (X, {"dim": 1}), (X, {"dim": 0, "keepdim": True}), (I,)],
    "max": [
        (X,),
        (X, 0),
        (CUBE, 1, True),
        (CUBE, -1, KEEP),
        (X, T(4)),
        (I,),
        (I, 1),
        (B, 0),
        (BF, 1),
        (TIES, 0),
        (S,),
        (X, {"dim": 1, "keepdim": True}),
    ],
    "min": [(X,), (X, 0), (CUBE, 1, True), (CUBE, {"dim": -1, "keepdim": True}), (X, T(4)), (I, 1), (D, 0)],
    "argmax": [(X,), (X, 0), (CUBE, 1, True), (CUBE, -1, KEEP), (I, 1)],
    "argmin": [(X,), (X, 0), (CUBE, 1, KEEP), (D,)],
    "prod": [(X,), (X, 0), (CUBE, 1, True), (I, 1), (X, {"dtype": torch.float64}), (C, 0), (EMPTY,)],
    "median": [(X,), (TIES, 1), (X, 1, True), (I, 0), (X, {"dim": 0, "keepdim": True})],
    "nanmedian": [(SPECIAL,), (SPECIAL, 1), (X, 0, KEEP)],
    "mode": [(TIES,), (TIES, 0, True), (I, 1)],
    "kthvalue": [(X, 2), (X, 1, 0, True), (I, 2, {"dim": 0}), (X, {"k": 3, "dim": 1})],
    "quantile": [
        (X, 0.3),
        (X, T(3, fill="unit"), 1),
        (X, 0.5, 0, True),
        (X, 0.7, {"dim": 1, "interpolation": "nearest"}),
        (D, T(2, dtype="float64", fill="unit"), {"dim": 0, "keepdim": True}),
    ],
    "nanquantile": [(T(10, fill="order"), 0.25), (X, 0.5, 1, KEEP)],
    "cumsum": [(X, 0), (CUBE, -1), (I, 1, {"dtype": torch.float64}), (B, 0), (C, 1), (X, {"dim": 1})],
    "cumsum_": [(X, 1)],
    "cumprod": [(X, 0), (I, 1), (D, -1), (C, 0)],
    "cumprod_": [(X, 1)],
    "cummax": [(X, 0), (TIES, 1), (I, {"dim": 1})],
    "cummin": [(X, 0), (TIES, 1)],
    "logcumsumexp": [(WIDE, 1), (D, 0)],
    "trapezoid": [(X,), (X, T(4, fill="order")), (X, {"dx": 0.5}), (X, {"dim": 0})],
    "trapz": [(X, T(4, fill="order")), (X, {"dx": 2})],
    "cumulative_trapezoid": [(X,), (X, T(4, fill="order")), (X, {"dx": 0.5, "dim": 0})],
    "diff": [(X,), (X, 2), (CUBE, {"dim": 1}), (X, {"prepend": T(3, 1)}), (B,), (X, 1, 0, T(1, 4), T(1, 4))],
    "sort": [
        (X,),
        (X, 0),
        (X, 1, True),
        (TIES, {"stable": True, "dim": 1}),
        (I, {"dim": 0, "descending": True}),
        (BF, 0),
        (X, {"descending": True}),
        (T(4, 30), 1),
    ],
    "argsort": [(X,), (X, 0, True), (TIES, {"stable": True, "dim": 1, "descending": True}), (X, {"dim": 0})],
    "msort": [(X,), (I,)],
    "topk": [
        (X, 2),
        (X, 1, 0),
        (X, 2, 1, False),
        (I, 2, {"dim": 0, "largest": False}),
        (D, {"k": 3, "sorted": True}),
        (X, 2, -1, True, True),
    ],
    "histc": [(X, 4, -1, 1), (X,), (D, {"bins": 5, "min": 0, "max": 1})],
    "histogram": [(X, 4, {"range": [-2, 2]}), (X, T(4, fill="order"))],
    "bincount": [
        (T(6, dtype="int64", fill="count"),),
        (T(6, dtype="int64", fill="count"), T(6)),
        (T(6, dtype="int64", fill="count"), {"minlength": 12}),
    ],
    "softmax": [(WIDE, 1), (CUBE, 0), (I, 1, {"dtype": torch.float32}), (BF, 1), (D, {"dim": -1})],
    "log_softmax": [(WIDE, 1), (CUBE, 0), (D, {"dim": -1}), (X, 1, torch.float64)],
    "special_softmax": [(WIDE, 1), (I, 1, torch.float32)],
    "special_log_softmax": [(WIDE, {"dim": 1})],
    "special_logsumexp": [(WIDE, 1), (WIDE, [0, 1], True)],
    "dist": [(X, T(3, 4)), (X, T(3, 4), 1), (X, T(4), {"p": 3})],
    "renorm": [(X, 2, 0, 1), (CUBE, 1, 1, 0.5)],
    "renorm_": [(X, 2, 0, 1)],
    "searchsorted": [
        (T(5, fill="order"), T(2, 3, fill="positive")),
        (T(5, fill="order"), 2, {"right": True}),
        (T(5, dtype="int64", fill="order"), T(3, dtype="int64"), {"out_int32": True}),
        (T(5, fill="order"), T(3, fill="count"), {"side": "right"}),
    ],
    "bucketize": [
        (X, T(4, fill="order")),
        (1.5, T(4, fill="order")),
        (T(3, fill="count"), T(4, fill="order"), {"right": True}),
    ],
    "corrcoef": [(X,), (T(5),)],
    "cov": [(X,), (X, {"correction": 0}), (X, {"fweights": T(4, dtype="int64", fill="natural")})],
    "nonzero": [(B,), (T(5, dtype="int64", fill="zeros"),)],
    "argwhere": [(B,)],
    "cdist": [(T(3, 4), T(5, 4), {"_": {"forms": "f"}}), (T(2, 3, 4), T(2, 5, 4), 1, {"_": {"forms": "f"}})],
    "pdist": [(X,), (X, 1)],
    "pairwise_distance": [(X, T(3, 4)), (X, T(3, 4), 1), (X, T(3, 4), {"keepdim": True})],
    "cosine_similarity": [(X, T(3, 4)), (X, T(3, 4), 0), (X, T(3, 4), {"dim": 1, "eps": 0.5})],
    "masked_select": [(X, B), (T(4), B)],
    "trace": [(X,), (I,), (C,)],
}
CASES = rows(TABLE)
