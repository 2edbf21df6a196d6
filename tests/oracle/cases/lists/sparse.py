"""Sparse tensors."""

import torch

from cases.lists.calls import both
from harness import T, code

SPARSE = [
    both(
        "sparse_mm",
        "torch.sparse.mm(x:to_sparse(), y)",
        lambda x, y: torch.sparse.mm(x.to_sparse(), y),
        x=T(3, 4, fill="ties"),
        y=T(4, 2),
    ),
    both(
        "sparse_mm_reduce",
        "torch.sparse.mm(x:to_sparse_csr(), y, 'amax')",
        lambda x, y: torch.sparse.mm(x.to_sparse_csr(), y, "amax"),
        x=T(3, 4, fill="natural"),
        y=T(4, 2),
    ),
    both(
        "sparse_addmm",
        "torch.sparse.addmm(z, x:to_sparse(), y, {beta = 2, alpha = 0.5})",
        lambda x, y, z: torch.sparse.addmm(z, x.to_sparse(), y, beta=2, alpha=0.5),
        x=T(3, 4, fill="ties"),
        y=T(4, 2),
        z=T(3, 2),
    ),
    code(
        "sparse_sampled_addmm",
        "torch.sparse.sampled_addmm(x:to_sparse_csr(), y, z, {alpha = 2}):to_dense()",
        lambda x, y, z: torch.sparse.sampled_addmm(x.to_sparse_csr(), y, z, alpha=2).to_dense(),
        x=T(3, 4, fill="ties"),
        y=T(3, 2),
        z=T(2, 4),
    ),
    both(
        "sparse_sum",
        "torch.sparse.sum(x:to_sparse())",
        lambda x: torch.sparse.sum(x.to_sparse()),
        x=T(3, 4, fill="ties"),
    ),
    both(
        "sparse_sum_dim",
        "torch.sparse.sum(x:to_sparse(), {dim = 0}):to_dense()",
        lambda x: torch.sparse.sum(x.to_sparse(), dim=0).to_dense(),
        x=T(3, 4, fill="ties"),
    ),
    code(
        "sparse_sum_dtype",
        "torch.sparse.sum(x:to_sparse(), {0, 1}, torch.float64)",
        lambda x: torch.sparse.sum(x.to_sparse(), (0, 1), torch.float64),
        x=T(3, 4, fill="ties"),
    ),
    both(
        "sparse_softmax",
        "torch.sparse.softmax(x:to_sparse(), 1):to_dense()",
        lambda x: torch.sparse.softmax(x.to_sparse(), 1).to_dense(),
        x=T(3, 4, fill="ties"),
    ),
    code(
        "sparse_log_softmax",
        "torch.sparse.log_softmax(x:to_sparse(), 0, {dtype = torch.float64}):to_dense()",
        lambda x: torch.sparse.log_softmax(x.to_sparse(), 0, dtype=torch.float64).to_dense(),
        x=T(3, 4, fill="ties"),
    ),
    code(
        "sparse_spdiags",
        "torch.sparse.spdiags(x, i, {4, 4}):to_dense()",
        lambda x, i: torch.sparse.spdiags(x, i, (4, 4)).to_dense(),
        x=T(2, 4),
        i=T(2, dtype="int64", fill="order"),
    ),
    both(
        "sparse_coo_tensor",
        "torch.sparse_coo_tensor(i, x, {3, 3}):coalesce():to_dense()",
        lambda i, x: torch.sparse_coo_tensor(i, x, (3, 3)).coalesce().to_dense(),
        i=T(2, 4, dtype="int64", fill="index:3"),
        x=T(4),
    ),
    both(
        "spmm",
        "torch.spmm(x:to_sparse(), y)",
        lambda x, y: torch.spmm(x.to_sparse(), y),
        x=T(3, 4, fill="ties"),
        y=T(4, 2),
    ),
    both(
        "spmm_csr",
        "torch.spmm(x:to_sparse_csr(), y)",
        lambda x, y: torch.spmm(x.to_sparse_csr(), y),
        x=T(3, 4, fill="ties"),
        y=T(4, 2),
    ),
    both(
        "spmm_of_values",
        "torch.spmm(torch.sparse_coo_tensor(i, x, {3, 3}), y)",
        lambda i, x, y: torch.spmm(torch.sparse_coo_tensor(i, x, (3, 3)), y),
        i=T(2, 4, dtype="int64", fill="index:3"),
        x=T(4),
        y=T(3, 2),
    ),
    code(
        "hsmm",
        "torch.hsmm(x:to_sparse(), y):to_dense()",
        lambda x, y: torch.hsmm(x.to_sparse(), y).to_dense(),
        x=T(3, 4, fill="ties"),
        y=T(4, 2),
    ),
    code(
        "saddmm",
        "torch.saddmm(z:to_sparse(), x:to_sparse(), y, {beta = 2, alpha = 0.5}):to_dense()",
        lambda x, y, z: torch.sspaddmm(z.to_sparse(), x.to_sparse(), y, beta=2, alpha=0.5).to_dense(),
        x=T(3, 4, fill="ties"),
        y=T(4, 2),
        z=T(3, 2),
    ),
    both("to_sparse_coo", "x:to_sparse_coo():to_dense()", lambda x: x.to_sparse_coo().to_dense(), x=T(3, fill="ties")),
]
