"""torch.nn.functional, init and utils where no module of cases/modules.py covers them, and the protocol of modules."""

import torch
import torch.nn.functional as F

from cases.lists.calls import plain
from cases.lists.groups import GROUPED, SDPA
from cases.lists.inputs import ROWS, WIDE, X1, X2, indices
from cases.lists.parameters import INIT, UTILS
from cases.lists.protocol import PROTOCOL
from harness import T, code

X3 = T(1, 2, 3, 4, 4)


def fixed(*shape, fill="real"):
    return T(*shape, fill=fill, grad=False)


def f(name, lua, python, _=None, **inputs):
    """Returns the case of a call F.<…> in Lua and in Python, with the gradients of the inputs."""
    return code(name, lua, python, {"grad": True, **(_ or {})}, **inputs)


IN_PLACE = [
    plain(
        name,
        f"local x = ... F.{name}(x{''.join(', ' + str(a) for a in args)}) return x",
        lambda x, name=name, args=args: getattr(F, name)(x, *args),
        x=WIDE,
    )
    for name, args in [
        ("relu_", []),
        ("elu_", [1.5]),
        ("selu_", []),
        ("celu_", [0.5]),
        ("leaky_relu_", [0.2]),
        ("hardtanh_", [-2, 3]),
        ("threshold_", [1, -4]),
    ]
]

ACTIVATIONS = [
    f(
        "softmax_dtype",
        "F.softmax(x, 1, {dtype = torch.float64})",
        lambda x: F.softmax(x, 1, dtype=torch.float64),
        x=WIDE,
    ),
    f("log_softmax_without_dim", "F.log_softmax(x)", lambda x: F.log_softmax(x), x=T(2, 3, 2)),
    f(
        "softmin_dtype",
        "F.softmin(x, {dim = 0, dtype = 'float64'})",
        lambda x: F.softmin(x, dim=0, dtype=torch.float64),
        x=WIDE,
    ),
    f("gumbel_softmax", "F.gumbel_softmax(x, 0.5)", lambda x: F.gumbel_softmax(x, 0.5), x=ROWS),
    f(
        "gumbel_softmax_hard",
        "F.gumbel_softmax(x, {tau = 2, hard = true, dim = 0})",
        lambda x: F.gumbel_softmax(x, tau=2, hard=True, dim=0),
        x=ROWS,
    ),
    f("rrelu_training", "F.rrelu(x, 0.1, 0.4, true)", lambda x: F.rrelu(x, 0.1, 0.4, True), x=ROWS),
    f("hardtanh", "F.hardtanh(x, {max_val = 2.5})", lambda x: F.hardtanh(x, max_val=2.5), x=WIDE),
    f("threshold", "F.threshold(x, 0.5, -1)", lambda x: F.threshold(x, 0.5, -1), x=WIDE),
    f("prelu", "F.prelu(x, w)", F.prelu, x=X1, w=T(4)),
    f("glu", "F.glu(x, 1)", lambda x: F.glu(x, 1), x=X1),
    f("hardshrink", "F.hardshrink(x, 1)", lambda x: F.hardshrink(x, 1), x=WIDE),
]

DROPOUTS = [
    f("dropout", "F.dropout(x, 0.3)", lambda x: F.dropout(x, 0.3), x=ROWS),
    f(
        "dropout_off",
        "F.dropout(x, {training = false})",
        lambda x: F.dropout(x, training=False),
        {"same": False},
        x=ROWS,
    ),
    f("dropout1d", "F.dropout1d(x)", F.dropout1d, x=X1),
    f("dropout2d_of_three", "F.dropout2d(x)", F.dropout2d, x=X1),
    f("alpha_dropout", "F.alpha_dropout(x)", F.alpha_dropout, {"same": False}, x=ROWS),
    f("alpha_dropout_on", "F.alpha_dropout(x, 0.3, true)", lambda x: F.alpha_dropout(x, 0.3, True), x=ROWS),
    f(
        "feature_alpha_dropout",
        "F.feature_alpha_dropout(x, {training = true})",
        lambda x: F.feature_alpha_dropout(x, training=True),
        x=X2,
    ),
]

POOLING = [
    plain(
        "max_pool1d_with_indices", "F.max_pool1d_with_indices(x, 2)", lambda x: F.max_pool1d_with_indices(x, 2), x=X1
    ),
    plain(
        "max_pool3d_return_indices",
        "return F.max_pool3d(x, 2, {return_indices = true, ceil_mode = true})",
        lambda x: F.max_pool3d(x, 2, return_indices=True, ceil_mode=True),
        x=X3,
    ),
    plain(
        "adaptive_max_pool1d", "F.adaptive_max_pool1d(x, 3, true)", lambda x: F.adaptive_max_pool1d(x, 3, True), x=X1
    ),
    plain(
        "adaptive_max_pool3d",
        "F.adaptive_max_pool3d_with_indices(x, {2, none, 1})",
        lambda x: F.adaptive_max_pool3d_with_indices(x, [2, None, 1]),
        x=X3,
    ),
    f(
        "adaptive_avg_pool3d",
        "F.adaptive_avg_pool3d(x, {none, 2, 1})",
        lambda x: F.adaptive_avg_pool3d(x, [None, 2, 1]),
        x=X3,
    ),
    f(
        "fractional_max_pool2d",
        "F.fractional_max_pool2d(x, 2, {output_ratio = {0.5, 0.7}})",
        lambda x: F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.7)),
        x=X2,
    ),
    plain(
        "fractional_max_pool3d",
        "F.fractional_max_pool3d_with_indices(x, {1, 2, 2}, {output_size = {2, 2, 2}})",
        lambda x: F.fractional_max_pool3d_with_indices(x, (1, 2, 2), output_size=(2, 2, 2)),
        x=X3,
    ),
    f(
        "max_unpool2d",
        "F.max_unpool2d(x, i, 2, 2, 0, {1, 1, 5, 4})",
        lambda x, i: F.max_unpool2d(x, i, 2, 2, 0, [1, 1, 5, 4]),
        x=T(1, 1, 2, 2),
        i=T(1, 1, 2, 2, dtype="int64", fill="order"),
    ),
    f("lp_pool2d", "F.lp_pool2d(x, 2, {2, 3}, 1, true)", lambda x: F.lp_pool2d(x, 2, (2, 3), 1, True), x=X2),
    f("lp_pool3d", "F.lp_pool3d(x, 2, 2)", lambda x: F.lp_pool3d(x, 2, 2), x=X3),
]

SHAPES = [
    *[
        f(f"pad_{mode}", f"F.pad(x, {{1, 2, 2, 0}}, '{mode}')", lambda x, mode=mode: F.pad(x, (1, 2, 2, 0), mode), x=X2)
        for mode in ("reflect", "replicate", "circular")
    ],
    f("pad", "F.pad(x, {1, -1, 0, 2}, {value = 3})", lambda x: F.pad(x, (1, -1, 0, 2), value=3), x=ROWS),
    plain("one_hot", "F.one_hot(i)", F.one_hot, i=indices(2, 3, n=4)),
    plain("one_hot_wide", "F.one_hot(i, {num_classes = 6})", lambda i: F.one_hot(i, num_classes=6), i=indices(3, n=4)),
    f("unfold", "F.unfold(x, {2, 3}, {padding = 1})", lambda x: F.unfold(x, (2, 3), padding=1), x=X2),
    f("fold", "F.fold(x, {4, 5}, 2)", lambda x: F.fold(x, (4, 5), 2), x=T(1, 8, 12)),
    f("channel_shuffle", "F.channel_shuffle(x, 2)", lambda x: F.channel_shuffle(x, 2), x=X1),
    plain("native_channel_shuffle", "F.native_channel_shuffle(x, 2)", lambda x: F.native_channel_shuffle(x, 2), x=X2),
    f("pixel_unshuffle", "F.pixel_unshuffle(x, 2)", lambda x: F.pixel_unshuffle(x, 2), x=X2),
    f(
        "conv_tbc",
        "F.conv_tbc(x, w, b, {pad = 1})",
        lambda x, w, b: F.conv_tbc(x, w, b, pad=1),
        x=T(5, 2, 3),
        w=T(2, 3, 4),
        b=T(4),
    ),
]

VISION = [
    *[
        f(f"interpolate_{name}", f"F.interpolate(x, {lua})", lambda x, kw=kw: F.interpolate(x, **kw), x=x)
        for name, lua, kw, x in [
            ("nearest", "{scale_factor = 1.5}", {"scale_factor": 1.5}, X1),
            ("nearest_3d", "{size = {2, 3, 5}}", {"size": (2, 3, 5)}, X3),
            ("nearest_exact", "{size = 5, mode = 'nearest-exact'}", {"size": 5, "mode": "nearest-exact"}, X1),
            (
                "linear_corners",
                "{size = 12, mode = 'linear', align_corners = true}",
                {"size": 12, "mode": "linear", "align_corners": True},
                X1,
            ),
            (
                "bilinear_antialias",
                "{size = {3, 4}, mode = 'bilinear', antialias = true}",
                {"size": (3, 4), "mode": "bilinear", "antialias": True},
                X2,
            ),
            (
                "bicubic_antialias",
                "{scale_factor = 0.5, mode = 'bicubic', antialias = true}",
                {"scale_factor": 0.5, "mode": "bicubic", "antialias": True},
                X2,
            ),
            (
                "bicubic_recompute",
                "{scale_factor = 1.3, mode = 'bicubic', recompute_scale_factor = true}",
                {"scale_factor": 1.3, "mode": "bicubic", "recompute_scale_factor": True},
                X2,
            ),
            (
                "trilinear",
                "{scale_factor = {2, 1.5, 1}, mode = 'trilinear'}",
                {"scale_factor": (2, 1.5, 1), "mode": "trilinear"},
                X3,
            ),
            ("area", "{size = {4, 3}, mode = 'area'}", {"size": (4, 3), "mode": "area"}, X2),
        ]
    ],
    f(
        "upsample",
        "F.upsample(x, {scale_factor = 2, mode = 'bilinear'})",
        lambda x: F.upsample(x, scale_factor=2, mode="bilinear"),
        x=X2,
    ),
    f("upsample_nearest", "F.upsample_nearest(x, {size = 8})", lambda x: F.upsample_nearest(x, size=8), x=X2),
    f(
        "upsample_bilinear",
        "F.upsample_bilinear(x, {scale_factor = 2})",
        lambda x: F.upsample_bilinear(x, scale_factor=2),
        x=X2,
    ),
    *[
        f(
            f"grid_sample_{mode}_{padding}",
            f"F.grid_sample(x, g, {{mode = '{mode}', padding_mode = '{padding}', align_corners = {lua}}})",
            lambda x, g, mode=mode, padding=padding, corners=corners: F.grid_sample(x, g, mode, padding, corners),
            x=T(1, 2, 4, 4),
            g=T(1, 3, 2, 2),
        )
        for mode, padding, lua, corners in [
            ("bilinear", "zeros", "false", False),
            ("bilinear", "border", "true", True),
            ("nearest", "reflection", "false", False),
            ("bicubic", "border", "false", False),
        ]
    ],
    f(
        "grid_sample_3d",
        "F.grid_sample(x, g)",
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        x=X3,
        g=T(1, 2, 2, 2, 3),
    ),
    f(
        "affine_grid",
        "F.affine_grid(t, {2, 1, 3, 4}, true)",
        lambda t: F.affine_grid(t, [2, 1, 3, 4], True),
        t=T(2, 2, 3),
    ),
    f(
        "affine_grid_3d",
        "F.affine_grid(t, {1, 1, 2, 2, 3})",
        lambda t: F.affine_grid(t, [1, 1, 2, 2, 3], False),
        t=T(1, 3, 4),
    ),
]

DISTANCES = [
    f("normalize", "F.normalize(x)", F.normalize, x=ROWS),
    f("normalize_l1", "F.normalize(x, 1, 0, 0.5)", lambda x: F.normalize(x, 1, 0, 0.5), x=ROWS),
    f("normalize_inf", "F.normalize(x, {p = inf, dim = 2})", lambda x: F.normalize(x, p=float("inf"), dim=2), x=X1),
    f("pdist", "F.pdist(x, 3)", lambda x: F.pdist(x, 3), x=T(4, 3)),
    f(
        "cosine_similarity",
        "F.cosine_similarity(x, y, {dim = 0})",
        lambda x, y: F.cosine_similarity(x, y, dim=0),
        x=ROWS,
        y=T(3, 4),
    ),
    f(
        "pairwise_distance",
        "F.pairwise_distance(x, y, 1, 0.5, true)",
        lambda x, y: F.pairwise_distance(x, y, 1, 0.5, True),
        x=ROWS,
        y=T(3, 4),
    ),
]

NORMALIZATION = [
    f(
        "batch_norm",
        "F.batch_norm(x, nil, nil, {training = true, eps = 0.1})",
        lambda x: F.batch_norm(x, None, None, training=True, eps=0.1),
        x=X1,
    ),
    f(
        "batch_norm_running",
        "F.batch_norm(x, m, v, w, b)",
        F.batch_norm,
        x=X1,
        m=fixed(4),
        v=fixed(4, fill="positive"),
        w=T(4),
        b=T(4),
    ),
    plain(
        "batch_norm_updates",
        "local x, m, v = ... F.batch_norm(x, m, v, {training = true, momentum = 0.5}) return m, v",
        lambda x, m, v: (F.batch_norm(x, m, v, training=True, momentum=0.5), m, v)[1:],
        x=X1,
        m=T(4),
        v=T(4, fill="positive"),
    ),
    f("instance_norm", "F.instance_norm(x)", F.instance_norm, x=X1),
    f(
        "instance_norm_running",
        "F.instance_norm(x, m, v, w, b, {use_input_stats = false})",
        lambda x, m, v, w, b: F.instance_norm(x, m, v, w, b, use_input_stats=False),
        x=X1,
        m=fixed(4),
        v=fixed(4, fill="positive"),
        w=T(4),
        b=T(4),
    ),
    f(
        "layer_norm",
        "F.layer_norm(x, {4}, w, nil, 0.1)",
        lambda x, w: F.layer_norm(x, [4], w, None, 0.1),
        x=ROWS,
        w=T(4),
    ),
    f(
        "group_norm",
        "F.group_norm(x, 2, {weight = w, bias = b})",
        lambda x, w, b: F.group_norm(x, 2, weight=w, bias=b),
        x=X2,
        w=T(4),
        b=T(4),
    ),
    f("rms_norm", "F.rms_norm(x, {4}, w)", lambda x, w: F.rms_norm(x, [4], w), x=ROWS, w=T(4)),
    f(
        "local_response_norm",
        "F.local_response_norm(x, 3, {alpha = 0.1, k = 2})",
        lambda x: F.local_response_norm(x, 3, alpha=0.1, k=2),
        x=X1,
    ),
]

LOOKUPS = [
    f(
        "embedding",
        "F.embedding(i, w, {padding_idx = -1, scale_grad_by_freq = true})",
        lambda i, w: F.embedding(i, w, padding_idx=-1, scale_grad_by_freq=True),
        i=indices(6, n=4),
        w=T(4, 3),
    ),
    plain(
        "embedding_max_norm",
        "local i, w = ... return F.embedding(i, w, nil, 1, 1), w",
        lambda i, w: (F.embedding(i, w, None, 1, 1), w),
        i=indices(2, n=4),
        w=T(4, 3),
    ),
    f(
        "embedding_bag",
        "F.embedding_bag(i, w, {per_sample_weights = s, mode = 'sum'})",
        lambda i, w, s: F.embedding_bag(i, w, per_sample_weights=s, mode="sum"),
        i=indices(2, 3, n=4),
        w=T(4, 3),
        s=T(2, 3),
    ),
    f(
        "embedding_bag_offsets",
        "F.embedding_bag(i, w, o, {include_last_offset = true, padding_idx = 0})",
        lambda i, w, o: F.embedding_bag(i, w, o, include_last_offset=True, padding_idx=0),
        i=indices(4, n=4),
        w=T(4, 3),
        o=T(4, dtype="int64", fill="order"),
    ),
]

LOSSES = [
    *[
        f(
            f"{name}_weight_{r}",
            f"F.{name}(x, y, {{weight = w, reduction = '{r}'}})",
            lambda x, y, w, name=name, r=r: getattr(F, name)(x, y, weight=w, reduction=r),
            x=ROWS,
            y=T(3, 4),
            w=fixed(3, 4, fill="unit"),
        )
        for name in ("mse_loss", "l1_loss", "huber_loss")
        for r in ("mean", "sum", "none")
    ],
    f(
        "cross_entropy_of_images",
        "F.cross_entropy(x, y, {weight = w, ignore_index = 1, label_smoothing = 0.1})",
        lambda x, y, w: F.cross_entropy(x, y, weight=w, ignore_index=1, label_smoothing=0.1),
        x=T(2, 3, 2, 2),
        y=indices(2, 2, 2, n=3),
        w=fixed(3, fill="unit"),
    ),
    f("nll_loss_alone", "F.nll_loss(x, y)", F.nll_loss, x=T(4), y=indices(n=4)),
    f("kl_div", "F.kl_div(x, y, {log_target = true})", lambda x, y: F.kl_div(x, y, log_target=True), x=ROWS, y=T(3, 4)),
    f(
        "gaussian_nll_loss",
        "F.gaussian_nll_loss(x, y, 0.5, {full = true})",
        lambda x, y: F.gaussian_nll_loss(x, y, 0.5, full=True),
        x=ROWS,
        y=T(3, 4),
    ),
    f(
        "ctc_loss",
        "F.ctc_loss(x:log_softmax(2), y, {5, 4}, {2, 1})",
        lambda x, y: F.ctc_loss(x.log_softmax(2), y, torch.tensor([5, 4]), torch.tensor([2, 1])),
        x=T(5, 2, 4),
        y=T(3, dtype="int64", fill="ones"),
    ),
    f(
        "triplet_margin_with_distance_loss",
        "F.triplet_margin_with_distance_loss(a, p, n, {swap = true, reduction = 'none'})",
        lambda a, p, n: F.triplet_margin_with_distance_loss(a, p, n, swap=True, reduction="none"),
        a=ROWS,
        p=T(3, 4),
        n=T(3, 4),
    ),
    f(
        "multilabel_soft_margin_loss",
        "F.multilabel_soft_margin_loss(x, y, {weight = w})",
        lambda x, y, w: F.multilabel_soft_margin_loss(x, y, weight=w),
        x=ROWS,
        y=fixed(3, 4, fill="bool"),
        w=fixed(4),
    ),
    f(
        "poisson_nll_loss",
        "F.poisson_nll_loss(x, y, false, true)",
        lambda x, y: F.poisson_nll_loss(x, y, False, True),
        x=T(3, 4, fill="positive"),
        y=fixed(3, 4, fill="count"),
    ),
]

ATTENTION = [
    f(
        "multi_head_attention_forward",
        "F.multi_head_attention_forward(q, k, k, 4, 2, w, b, nil, nil, false, 0, o, nil, {static_k = s, static_v = s})",
        lambda q, k, w, b, o, s: F.multi_head_attention_forward(
            q, k, k, 4, 2, w, b, None, None, False, 0.0, o, None, static_k=s, static_v=s
        ),
        q=T(3, 1, 4),
        k=T(5, 1, 4),
        w=T(12, 4),
        b=T(12),
        o=T(4, 4),
        s=T(2, 5, 2),
    ),
    f(
        "scaled_dot_product_attention",
        "F.scaled_dot_product_attention(q, k, k, {is_causal = true, scale = 0.3})",
        lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True, scale=0.3),
        q=T(1, 2, 3, 4),
        k=T(1, 2, 3, 4),
    ),
]

CASES = [
    *PROTOCOL,
    *IN_PLACE,
    *ACTIVATIONS,
    *DROPOUTS,
    *POOLING,
    *SHAPES,
    *VISION,
    *DISTANCES,
    *NORMALIZATION,
    *LOOKUPS,
    *LOSSES,
    *ATTENTION,
    *SDPA,
    *GROUPED,
    *INIT,
    *UTILS,
]
