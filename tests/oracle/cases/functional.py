"""Functions of torch.*, torch.linalg, torch.fft, torch.special and tensor methods that consist of several ATen
operators.
"""

import torch
import torch.nn.functional as F

from harness import T, call, code, wrong

V = T(4)
INTS = T(6, dtype="int64", fill="index:3")
LONG = T(40)


def both(name, lua, python, **inputs):
    return code(
        name, lua, python, {"grad": all(t.dtype.startswith(("float", "complex")) for t in inputs.values())}, **inputs
    )


def ensemble(x):
    models = [torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)]
    params, buffers = torch.func.stack_module_state(models)

    def run(p, b, v):
        return torch.func.functional_call(models[0], (p, b), (v,))

    y = torch.func.vmap(run, in_dims=(0, 0, None))(params, buffers, x)
    return y, params["weight"], params["bias"].requires_grad


def unique(name, *options):
    return [call(name, *a, **k, _={"grad": False}) for a, k in options]


CASES = [
    # shapes
    both("broadcast_tensors", "torch.broadcast_tensors(x, y)", torch.broadcast_tensors, x=T(2, 1), y=T(3)),
    both(
        "broadcast_tensors_of_three",
        "torch.broadcast_tensors{x, y, z}",
        torch.broadcast_tensors,
        x=T(2, 1),
        y=T(3),
        z=T(4, 1, 1),
    ),
    code(
        "broadcast_shapes",
        "torch.broadcast_shapes({2, 1}, {3, 1, 4}, 4)",
        lambda: list(torch.broadcast_shapes((2, 1), (3, 1, 4), 4)),
    ),
    code(
        "broadcast_shapes_of_nothing",
        "torch.broadcast_shapes({}, {0}, {1})",
        lambda: list(torch.broadcast_shapes((), (0,), (1,))),
    ),
    wrong("broadcast_tensors", [T(2, 3), T(4)], _={"python": lambda ts: torch.broadcast_tensors(*ts)}),
    both("atleast_1d", "torch.atleast_1d(x)", torch.atleast_1d, x=T()),
    both("atleast_1d_of_two", "torch.atleast_1d(x, y)", torch.atleast_1d, x=T(), y=T(2)),
    both("atleast_2d", "torch.atleast_2d(x, y)", torch.atleast_2d, x=T(), y=T(2)),
    both("atleast_3d", "torch.atleast_3d{x, y, z}", torch.atleast_3d, x=T(), y=T(2), z=T(2, 3)),
    both("meshgrid", "torch.meshgrid(x, y)", lambda x, y: torch.meshgrid(x, y, indexing="ij"), x=T(2), y=T(3)),
    both(
        "meshgrid_xy",
        "torch.meshgrid(x, y, z, {indexing = 'xy'})",
        lambda *t: torch.meshgrid(*t, indexing="xy"),
        x=T(2),
        y=T(3),
        z=T(2),
    ),
    both("cartesian_prod", "torch.cartesian_prod(x, y)", torch.cartesian_prod, x=T(2), y=T(3)),
    both("cartesian_prod_of_one", "torch.cartesian_prod(x) * 2", lambda x: torch.cartesian_prod(x) * 2, x=T(3)),
    both("block_diag", "torch.block_diag(x, y, z)", torch.block_diag, x=T(2, 2), y=T(1, 3), z=T()),
    both(
        "chain_matmul",
        "torch.chain_matmul(x, y, z)",
        lambda *t: torch.linalg.multi_dot(t),
        x=T(2, 3),
        y=T(3, 4),
        z=T(4, 2),
    ),
    both("split", "x:split(2)", lambda x: x.split(2), x=T(5, 2)),
    both("split_list", "torch.split(x, {1, 3, 1})", lambda x: torch.split(x, [1, 3, 1]), x=T(5, 2)),
    both("split_dim", "x:split({1, 3}, 1)", lambda x: x.split([1, 3], 1), x=T(2, 4)),
    both("chunk", "x:chunk(3, -1)", lambda x: x.chunk(3, -1), x=T(2, 7)),
    both("tensor_split", "x:tensor_split({1, 3})", lambda x: x.tensor_split((1, 3)), x=T(5)),
    both("unbind", "x:unbind(1)", lambda x: x.unbind(1), x=T(2, 3)),
    # products
    both(
        "einsum_matmul",
        "torch.einsum('ij,jk->ik', x, y)",
        lambda x, y: torch.einsum("ij,jk->ik", x, y),
        x=T(2, 3),
        y=T(3, 4),
    ),
    both(
        "einsum_list",
        "torch.einsum('bij,bjk->bik', {x, y})",
        lambda x, y: torch.einsum("bij,bjk->bik", [x, y]),
        x=T(2, 3, 4),
        y=T(2, 4, 2),
    ),
    both("einsum_trace", "torch.einsum('ii', x)", lambda x: torch.einsum("ii", x), x=T(3, 3)),
    both("einsum_diagonal", "torch.einsum('ii->i', x)", lambda x: torch.einsum("ii->i", x), x=T(3, 3)),
    both("einsum_ellipsis", "torch.einsum('...ij->...ji', x)", lambda x: torch.einsum("...ij->...ji", x), x=T(2, 3, 4)),
    both(
        "einsum_bilinear",
        "torch.einsum('bn,anm,bm->ba', x, y, z)",
        lambda *t: torch.einsum("bn,anm,bm->ba", *t),
        x=T(2, 3),
        y=T(4, 3, 2),
        z=T(2, 2),
    ),
    both("einsum_implicit", "torch.einsum('i,j', x, y)", lambda x, y: torch.einsum("i,j", x, y), x=T(2), y=T(3)),
    both(
        "einsum_sublists",
        "torch.einsum(x, {0, 1}, y, {1, 2}, {2, 0})",
        lambda x, y: torch.einsum(x, [0, 1], y, [1, 2], [2, 0]),
        x=T(2, 3),
        y=T(3, 4),
    ),
    both(
        "einsum_sublists_with_ellipsis",
        "torch.einsum(x, {'...', 1}, y, {'...', 1}, {'...'})",
        lambda x, y: torch.einsum(x, [..., 1], y, [..., 1], [...]),
        x=T(2, 3),
        y=T(2, 3),
    ),
    both(
        "einsum_sublists_implicit",
        "torch.einsum(x, {30, 1}, y, {1, 2})",
        lambda x, y: torch.einsum(x, [30, 1], y, [1, 2]),
        x=T(2, 3),
        y=T(3, 4),
    ),
    call("tensordot", T(2, 3, 4), T(3, 4, 5)),
    call("tensordot", T(2, 3), T(3, 4), 1),
    call("tensordot", T(2, 3), T(4), dims=0),
    call("tensordot", T(2, 3, 4), T(4, 3, 5), dims=[[1, 2], [1, 0]]),
    call("tensordot", T(2, 3, 4), T(4, 3, 5), [[-2], [1]]),
    call("tensordot", T(3), T(3), 1),
    call("cdist", T(3, 4), T(5, 4)),
    call("cdist", T(2, 3, 4), T(2, 5, 4), 1),
    call("cdist", T(3, 4), T(5, 4), p=torch.inf),
    call("cdist", T(30, 4), T(28, 4), _={"tol": (1e-4, 1e-4)}),
    call("cdist", T(30, 4), T(28, 4), compute_mode="donot_use_mm_for_euclid_dist"),
    call("cdist", T(3, 4), T(5, 4), compute_mode="use_mm_for_euclid_dist", _={"tol": (1e-4, 1e-4)}),
    # norms
    call("norm", T(3, 4)),
    call("norm", T(3, 4), 1),
    call("norm", T(3, 4), torch.inf),
    call("norm", T(3, 4), -torch.inf),
    call("norm", T(3, 4), 0, _={"grad": False}),
    call("norm", T(3, 4), 3, 1),
    call("norm", T(3, 4), 2, 0, True),
    call("norm", T(2, 3, 4), 2, [0, 2]),
    call("norm", T(2, 3, 4), dim=[0, 2], keepdim=True),
    call("norm", T(3, 4), "nuc", _={"tol": (1e-4, 1e-4)}),
    call("norm", T(2, 3, 3), "nuc", [1, 2], _={"tol": (1e-4, 1e-4)}),
    call("norm", T(3, 4), "fro", [0, 1]),
    call("norm", T(3, dtype="complex64")),
    call("norm", T(3, 4, dtype="float16"), dtype=torch.float32),
    call("norm", T()),
    # unique
    *unique(
        "unique",
        ([INTS], {}),
        ([T(5, fill="ties")], {}),
        ([INTS], {"return_inverse": True}),
        ([INTS], {"return_counts": True}),
        ([T(2, 3, dtype="int64")], {"return_inverse": True, "return_counts": True}),
        ([T(4, 2, dtype="int64", fill="index:2")], {"dim": 0}),
        ([T(4, 2, dtype="int64", fill="index:2")], {"dim": 0, "return_inverse": True, "return_counts": True}),
        ([T(2, 4, dtype="int64", fill="index:2")], {"dim": 1, "return_counts": True}),
        ([T(5, dtype="bool")], {}),
        ([T(0)], {}),
    ),
    *unique(
        "unique_consecutive",
        ([INTS], {}),
        ([T(12, fill="ties")], {"return_counts": True}),
        ([INTS], {"return_inverse": True, "return_counts": True}),
        ([T(6, 1, dtype="int64", fill="index:2")], {"dim": 0, "return_inverse": True}),
    ),
    both("nonzero", "x:nonzero()", lambda x: x.nonzero(), x=T(3, 4, dtype="int64")),
    both("nonzero_tuple", "x:nonzero{as_tuple = true}", lambda x: x.nonzero(as_tuple=True), x=T(3, 4, dtype="int64")),
    both(
        "nonzero_tuple_of_a_number",
        "torch.nonzero(x, {as_tuple = true})",
        lambda x: torch.nonzero(x, as_tuple=True),
        x=T(dtype="int64", fill="ones"),
    ),
    both("where_of_one", "torch.where(x)", lambda x: torch.where(x), x=T(3, 4, dtype="bool")),
    both(
        "unravel_index",
        "torch.unravel_index(x, {3, 4})",
        lambda x: torch.unravel_index(x, (3, 4)),
        x=T(5, dtype="int64", fill="index:12"),
    ),
    both(
        "unravel_index_number",
        "torch.unravel_index(x, 12)",
        lambda x: torch.unravel_index(x, 12),
        x=T(2, 2, dtype="int32", fill="index:12"),
    ),
    # spectra
    call("stft", LONG, 8, return_complex=True),
    call("stft", LONG, 8, window=T(8, fill="positive"), return_complex=True),
    call("stft", LONG, 8, 3, 6, T(6, fill="positive"), return_complex=True),
    call("stft", LONG, 8, center=False, return_complex=True),
    call("stft", LONG, 8, pad_mode="constant", normalized=True, return_complex=True),
    call("stft", LONG, 8, onesided=False, return_complex=True),
    call("stft", T(2, 20), 4, hop_length=2, return_complex=True),
    call("stft", T(20, dtype="complex64"), 4, return_complex=True),
    both(
        "stft_and_back",
        "return torch.istft(torch.stft(x, 8, {window = w, return_complex = true}), 8, {window = w, length = 40})",
        lambda x, w: torch.istft(torch.stft(x, 8, window=w, return_complex=True), 8, window=w, length=40),
        x=LONG,
        w=T(8, fill="positive"),
    ),
    # factorizations
    both("lu", "torch.lu(x)", lambda x: torch.linalg.lu_factor(x), x=T(3, 3, fill="invertible")),
    both("lu_infos", "x:lu{get_infos = true}", lambda x: torch.linalg.lu_factor_ex(x), x=T(3, 3, fill="invertible")),
    code(
        "svd_lowrank",
        "local u, s, v = torch.svd_lowrank(x, 3) return s, u:matmul(s:diag()):matmul(v.T)",
        lambda x: (lambda u, s, v: (s, u @ s.diag() @ v.T))(*torch.svd_lowrank(x, 3)),
        {"tol": (1e-3, 1e-4)},
        x=T(6, 5),
    ),
    code(
        "svd_lowrank_wide",
        "local u, s, v = torch.svd_lowrank(x, {q = 2, niter = 1}) return s, u:abs(), v:abs()",
        lambda x: (lambda u, s, v: (s, u.abs(), v.abs()))(*torch.svd_lowrank(x, q=2, niter=1)),
        {"tol": (1e-3, 1e-4)},
        x=T(4, 7),
    ),
    code(
        "svd_lowrank_with_mean",
        "(select(2, torch.svd_lowrank(x, 2, 2, m)))",
        lambda x, m: torch.svd_lowrank(x, 2, 2, m)[1],
        {"tol": (1e-3, 1e-4)},
        x=T(5, 4),
        m=T(1, 4),
    ),
    code(
        "pca_lowrank",
        "local u, s, v = torch.pca_lowrank(x) return s, v:abs()",
        lambda x: (lambda u, s, v: (s, v.abs()))(*torch.pca_lowrank(x)),
        {"tol": (1e-3, 1e-3)},
        x=T(8, 3),
    ),
    code(
        "pca_lowrank_as_it_is",
        "(select(2, torch.pca_lowrank(x, {q = 2, center = false})))",
        lambda x: torch.pca_lowrank(x, q=2, center=False)[1],
        {"tol": (1e-3, 1e-4)},
        x=T(2, 6, 4),
    ),
    # namespaces
    both("linalg_norm_fro", "torch.linalg.norm(x, 'fro')", lambda x: torch.linalg.norm(x, "fro"), x=T(3, 4)),
    both(
        "linalg_norm_ord",
        "torch.linalg.norm(x, {ord = 1, dim = {0, 1}})",
        lambda x: torch.linalg.norm(x, ord=1, dim=(0, 1)),
        x=T(3, 4),
    ),
    both(
        "linalg_vector_norm",
        "torch.linalg.vector_norm(x, 3, 1)",
        lambda x: torch.linalg.vector_norm(x, 3, 1),
        x=T(3, 4),
    ),
    both("linalg_solve", "torch.linalg.solve(x, y)", torch.linalg.solve, x=T(3, 3, fill="invertible"), y=T(3, 2)),
    both("linalg_svdvals", "torch.linalg.svdvals(x)", torch.linalg.svdvals, x=T(3, 4)),
    both(
        "linalg_matrix_norm",
        "torch.linalg.matrix_norm(x, 'nuc')",
        lambda x: torch.linalg.matrix_norm(x, "nuc"),
        x=T(3, 4),
    ),
    both(
        "linalg_multi_dot",
        "torch.linalg.multi_dot{x, y}",
        lambda x, y: torch.linalg.multi_dot([x, y]),
        x=T(2, 3),
        y=T(3, 2),
    ),
    both("linalg_cond", "torch.linalg.cond(x)", torch.linalg.cond, x=T(3, 3, fill="invertible")),
    both("linalg_lstsq", "(torch.linalg.lstsq(x, y))", lambda x, y: torch.linalg.lstsq(x, y)[0], x=T(5, 3), y=T(5, 2)),
    both(
        "fft_rfft", "torch.fft.rfft(x, {n = 6, norm = 'ortho'})", lambda x: torch.fft.rfft(x, n=6, norm="ortho"), x=T(5)
    ),
    both("fft_ifft2", "torch.fft.ifft2(x)", torch.fft.ifft2, x=T(3, 4, dtype="complex64")),
    code("fft_fftfreq", "torch.fft.fftfreq(5, 0.5)", lambda: torch.fft.fftfreq(5, 0.5)),
    both("fft_fftshift", "torch.fft.fftshift(x, {dim = 1})", lambda x: torch.fft.fftshift(x, dim=1), x=T(2, 5)),
    both("special_logit", "torch.special.logit(x, 0.2)", lambda x: torch.special.logit(x, 0.2), x=T(5, fill="unit")),
    both("special_entr", "torch.special.entr(x)", torch.special.entr, x=T(5, fill="positive")),
    both("special_i0e", "torch.special.i0e(x)", torch.special.i0e, x=T(5)),
    # sparse tensors
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
    # data and dtypes
    both("as_tensor", "torch.as_tensor(x) * 2", lambda x: torch.as_tensor(x) * 2, x=T(3)),
    both(
        "as_tensor_dtype",
        "torch.as_tensor(x, torch.float64)",
        lambda x: torch.as_tensor(x, dtype=torch.float64),
        x=T(3),
    ),
    both("asarray", "torch.asarray(x, {copy = true})", lambda x: torch.asarray(x, copy=True), x=T(3, dtype="int64")),
    code(
        "frombuffer",
        "torch.frombuffer('abcdefgh', {dtype = 'int16', count = 2, offset = 2})",
        lambda: torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=2, offset=2),
    ),
    code(
        "new_tensor", "x:new_tensor{{1, 2}, {3, 4}}", lambda x: x.new_tensor([[1, 2], [3, 4]]), x=T(1, dtype="float64")
    ),
    code("new_full", "x:new_full({2, 2}, 3)", lambda x: x.new_full((2, 2), 3), x=T(1, dtype="int32")),
    code("new_zeros", "x:new_zeros(2, 3, {dtype = 'bool'})", lambda x: x.new_zeros(2, 3, dtype=torch.bool), x=T(1)),
    both("type_as", "x:type_as(y)", lambda x, y: x.type_as(y), x=T(3, fill="wide"), y=T(1, dtype="int64")),
    *[
        code(
            f"type_{dtype}",
            "x:type(), x:element_size(), x.itemsize, x.nbytes, x.ndim",
            lambda x: (x.type(), x.element_size(), x.itemsize, x.nbytes, x.ndim),
            x=T(2, 3, dtype=dtype),
        )
        for dtype in (
            "float32",
            "float64",
            "float16",
            "bfloat16",
            "int64",
            "int32",
            "int16",
            "int8",
            "uint8",
            "bool",
            "complex64",
            "complex128",
            "uint16",
            "uint32",
            "uint64",
            "float8_e5m2",
            "float8_e4m3fn",
        )
    ],
    *[
        code(f"to_{name}", f"x:{name}()", lambda x, name=name: getattr(x, name)(), x=T(4, fill="wide"))
        for name in (
            "float",
            "double",
            "half",
            "bfloat16",
            "long",
            "int",
            "short",
            "char",
            "bool",
            "cfloat",
            "cdouble",
            "cpu",
        )
    ],
    *[
        code(
            f"finfo_{d}",
            f"local f = torch.finfo('{d}') return f.bits, f.dtype, "
            "torch.tensor({f.eps, f.tiny, f.smallest_normal, f.resolution, f.max / 2, f.min / 2}, {dtype = 'float64'})",
            lambda d=d: (
                lambda f: (
                    f.bits,
                    f.dtype,
                    torch.tensor(
                        [f.eps, f.tiny, f.smallest_normal, f.resolution, f.max / 2, f.min / 2], dtype=torch.float64
                    ),
                )
            )(torch.finfo(getattr(torch, d))),
        )
        for d in (
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "float8_e4m3fn",
            "float8_e5m2",
            "float8_e4m3fnuz",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
            "complex64",
            "complex128",
        )
    ],
    *[
        code(
            f"iinfo_{d}",
            f"local f = torch.iinfo('{d}') return f.bits, f.min, f.max, f.dtype",
            lambda d=d: (lambda f: (f.bits, f.min, f.max, f.dtype))(torch.iinfo(getattr(torch, d))),
        )
        for d in ("uint8", "int8", "int16", "int32", "uint16", "uint32", "int64")
    ],
    code(
        "promotion",
        "torch.promote_types('int32', 'float16'), torch.result_type(x, 1.5), torch.can_cast('float32', 'int32'), "
        "torch.get_default_dtype()",
        lambda x: (
            torch.promote_types(torch.int32, torch.float16),
            torch.result_type(x, 1.5),
            torch.can_cast(torch.float32, torch.int32),
            torch.get_default_dtype(),
        ),
        x=T(2, dtype="int64"),
    ),
    # attributes
    *[
        both(
            f"attribute_{name}",
            f"x.{name}:clone()",
            lambda x, name=name: getattr(x, name).clone(),
            x=T(2, 3, dtype="complex64"),
        )
        for name in ("T", "H", "mT", "mH", "real", "imag")
    ],
    code(
        "attributes",
        "x.is_leaf, x.requires_grad, x.is_cuda, x.is_cpu, x.is_sparse, x.device, x.layout",
        lambda x: (x.is_leaf, x.requires_grad, x.is_cuda, x.is_cpu, x.is_sparse, str(x.device), x.layout),
        x=T(2),
    ),
    code(
        "channels_last",
        "local y = x:to{memory_format = 'channels_last'} return y:stride(), y:dim_order(), "
        "y:is_contiguous(), y:is_contiguous{memory_format = 'channels_last'}, y:storage_offset()",
        lambda x: (
            lambda y: (
                list(y.stride()),
                list(y.dim_order()),
                y.is_contiguous(),
                y.is_contiguous(memory_format=torch.channels_last),
                y.storage_offset(),
            )
        )(x.to(memory_format=torch.channels_last)),
        x=T(2, 3, 4, 5),
    ),
    code(
        "item_of_int64",
        "x:add(9007199254740993LL):item()",
        lambda x: x.add(9007199254740993).item(),
        x=T(dtype="int64", fill="zeros"),
    ),
    code("tolist", "x:tolist()", lambda x: x.tolist(), x=T(2, 3, dtype="int16")),
    # elements
    code(
        "apply_",
        "return x:apply_(function(v) return v * v + 1 end)",
        lambda x: x.apply_(lambda v: v * v + 1),
        x=T(2, 3),
    ),
    code(
        "map_",
        "return x:map_(y, function(a, b) return a - 2 * b end)",
        lambda x, y: x.map_(y, lambda a, b: a - 2 * b),
        x=T(2, 3),
        y=T(2, 3),
    ),
    # random
    code(
        "fork_rng",
        "torch.random.fork_rng(function() torch.rand(5) end) return torch.rand(3)",
        lambda: [torch.rand(5), torch.manual_seed(0), torch.rand(3)][2],
    ),
    code(
        "generator",
        "local g = torch.Generator():manual_seed(7) return torch.randn(3, {generator = g}), g:initial_seed()",
        lambda: (lambda g: (torch.randn(3, generator=g), g.initial_seed()))(torch.Generator().manual_seed(7)),
    ),
    code(
        "seeds",
        "torch.manual_seed(5):initial_seed(), torch.initial_seed(), torch.default_generator:initial_seed()",
        lambda: (torch.manual_seed(5).initial_seed(), torch.initial_seed(), torch.default_generator.initial_seed()),
    ),
    # torch.func
    code("vmap", "torch.func.vmap(torch.dot)(x, y)", torch.func.vmap(torch.dot), x=T(4, 3), y=T(4, 3)),
    code(
        "vmap_dims",
        "torch.func.vmap(torch.matmul, {in_dims = {1, none}, out_dims = 1})(x, y)",
        torch.func.vmap(torch.matmul, in_dims=(1, None), out_dims=1),
        x=T(3, 4),
        y=T(3, 2),
    ),
    both(
        "vmap_of_vmap",
        "torch.func.vmap(torch.func.vmap(torch.mul, {in_dims = {none, 0}}), {in_dims = {0, none}})(x, y)",
        torch.func.vmap(torch.func.vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None)),
        x=T(3),
        y=T(4),
    ),
    code(
        "vmap_of_tables",
        "local r = torch.func.vmap(function(p, k) return {p.a * k, p.b + 1}, k end, {in_dims = {{a = 0, b = none}, -1}})"
        "({a = x, b = y}, z) return r[1], r[2]",
        lambda x, y, z: torch.func.vmap(lambda p, k: (p["a"] * k, p["b"] + 1), in_dims=({"a": 0, "b": None}, -1))(
            {"a": x, "b": y}, z
        ),
        x=T(4, 2),
        y=T(2),
        z=T(2, 4),
    ),
    code(
        "vmap_chunks",
        "return torch.func.vmap(function(v) return v:sum(), v * 2 end, {out_dims = {0, 1}, chunk_size = 3})(x)",
        torch.func.vmap(lambda v: (v.sum(), v * 2), out_dims=(0, 1), chunk_size=3),
        x=T(8, 3),
    ),
    code(
        "vmap_in_place",
        "return torch.func.vmap(function(v) v = v:clone() v:add_(1):mul_(v) return v end)(x)",
        torch.func.vmap(lambda v: (lambda c: c.add_(1).mul_(c))(v.clone())),
        x=T(4, 3),
    ),
    code(
        "vmap_different",
        "return torch.func.vmap(function(v) return v + torch.rand(2) end, {randomness = 'different'})(x)",
        torch.func.vmap(lambda v: v + torch.rand(2), randomness="different"),
        x=T(3, 2),
    ),
    code(
        "vmap_same",
        "return torch.func.vmap(function(v) return v * torch.randn(2) end, {randomness = 'same'})(x)",
        torch.func.vmap(lambda v: v * torch.randn(2), randomness="same"),
        x=T(3, 2),
    ),
    code(
        "vmap_of_layers",
        "return torch.func.vmap(function(v) return F.conv2d(v[slice(0, 1)], y), F.softmax(v, -1) end)(x)",
        lambda x, y: torch.func.vmap(lambda v: (F.conv2d(v[:1], y), F.softmax(v, -1)))(x),
        x=T(2, 2, 5, 5),
        y=T(1, 1, 3, 3),
    ),
    code(
        "grad_per_sample",
        "return torch.func.vmap(torch.func.grad(function(w, v) return (w * v):sin():sum() end), {in_dims = {none, 0}})(x, y)",
        torch.func.vmap(torch.func.grad(lambda w, v: (w * v).sin().sum()), in_dims=(None, 0)),
        x=T(3),
        y=T(4, 3),
    ),
    code(
        "grad_of_grad",
        "torch.func.grad(torch.func.grad(torch.sin))(x)",
        torch.func.grad(torch.func.grad(torch.sin)),
        x=T(),
    ),
    code(
        "grad_of_a_constant",
        "return torch.func.grad(function(v) return y:sum() end)(x)",
        lambda x, y: torch.func.grad(lambda v: y.sum())(x),
        x=T(3),
        y=T(2),
    ),
    both(
        "grad_with_a_graph",
        "return torch.func.grad(function(v) return (v ^ 3):sum() end)(x)",
        torch.func.grad(lambda v: (v**3).sum()),
        x=T(3),
    ),
    code(
        "vjp_of_two",
        "local y, f, aux = torch.func.vjp(function(a, b) return a * b, a + 1 end, x, y, {has_aux = true}) "
        "local g, h = f(y * 2) return y, g, h, aux",
        lambda x, y: (lambda r: (r[0], *r[1](r[0] * 2), r[2]))(
            torch.func.vjp(lambda a, b: (a * b, a + 1), x, y, has_aux=True)
        ),
        x=T(3),
        y=T(3),
    ),
    code(
        "jvp",
        "return torch.func.jvp(function(a, b) return (a * b):exp() end, {x, y}, {y, x})",
        lambda x, y: torch.func.jvp(lambda a, b: (a * b).exp(), (x, y), (y, x)),
        x=T(3),
        y=T(3),
    ),
    code(
        "jvp_of_jvp",
        "local function slope(v) local _, t = torch.func.jvp(torch.sin, {v}, {y}) return t end "
        "return torch.func.jvp(slope, {x}, {y})",
        lambda x, y: torch.func.jvp(lambda v: torch.func.jvp(torch.sin, (v,), (y,))[1], (x,), (y,)),
        x=T(3),
        y=T(3),
    ),
    code(
        "jacfwd",
        "torch.func.jacfwd(torch.outer, {argnums = 1})(x, y)",
        torch.func.jacfwd(torch.outer, argnums=1),
        x=T(2),
        y=T(3),
    ),
    code(
        "jacfwd_of_two",
        "local J = torch.func.jacfwd(torch.outer, {argnums = {0, 1}})(x, y) return J[1], J[2]",
        torch.func.jacfwd(torch.outer, argnums=(0, 1)),
        x=T(2),
        y=T(3),
    ),
    code(
        "jacfwd_aux",
        "return torch.func.jacfwd(function(v) return v:cumsum(0), v * 2 end, {has_aux = true})(x)",
        torch.func.jacfwd(lambda v: (v.cumsum(0), v * 2), has_aux=True),
        x=T(3),
    ),
    code(
        "jacrev_aux",
        "return torch.func.jacrev(function(v) return v:cumprod(0), v * 2 end, {has_aux = true})(x)",
        torch.func.jacrev(lambda v: (v.cumprod(0), v * 2), has_aux=True),
        x=T(3),
    ),
    code(
        "jacrev_of_tables",
        "local J = torch.func.jacrev(function(p) return {s = p.w:sin(), t = (p.w * p.b):sum()} end)({w = x, b = y}) "
        "return J.s.w, J.s.b, J.t.w, J.t.b",
        lambda x, y: (lambda J: (J["s"]["w"], J["s"]["b"], J["t"]["w"], J["t"]["b"]))(
            torch.func.jacrev(lambda p: {"s": p["w"].sin(), "t": (p["w"] * p["b"]).sum()})({"w": x, "b": y})
        ),
        x=T(2, 3),
        y=T(3),
    ),
    code(
        "hessian",
        "return torch.func.hessian(function(v) return (v ^ 3):sum() * v[0] end)(x)",
        torch.func.hessian(lambda v: (v**3).sum() * v[0]),
        x=T(3),
    ),
    code(
        "hessian_of_two",
        "local H = torch.func.hessian(function(a, b) return (a * b):sin():sum() end, {argnums = {0, 1}})(x, y) "
        "return H[1][1], H[1][2], H[2][1], H[2][2]",
        lambda x, y: [
            h for row in torch.func.hessian(lambda a, b: (a * b).sin().sum(), argnums=(0, 1))(x, y) for h in row
        ],
        x=T(3),
        y=T(3),
    ),
    code(
        "is_grads_batched",
        "local v = x:detach():requires_grad_() return torch.autograd.grad(v:sin(), v, y, {is_grads_batched = true})[1]",
        lambda x, y: (lambda v: torch.autograd.grad(v.sin(), v, y, is_grads_batched=True)[0])(
            x.detach().requires_grad_()
        ),
        x=T(3),
        y=T(4, 3),
    ),
    code(
        "stack_module_state",
        "local models = {nn.Linear(3, 2), nn.Linear(3, 2)} "
        "local params, buffers = torch.func.stack_module_state(models) "
        "local function call(p, b, v) return torch.func.functional_call(models[1], {p, b}, v) end "
        "return torch.func.vmap(call, {in_dims = {0, 0, none}})(params, buffers, x), params.weight, params.bias.requires_grad",
        ensemble,
        x=T(5, 3),
    ),
]
