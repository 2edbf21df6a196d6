"""Functions of torch.*, torch.linalg, torch.fft, torch.special and tensor methods that consist of several ATen
operators.
"""

import torch

from cases.lists.attributes import ATTRIBUTES
from cases.lists.calls import both
from cases.lists.func import FUNC
from cases.lists.sparse import SPARSE
from harness import T, call, code, wrong

INTS = T(6, dtype="int64", fill="index:3")
LONG = T(40)


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
    *SPARSE,
    *ATTRIBUTES,
    *FUNC,
]
