"""The operators behind torch.nn: convolutions, pooling, normalisation, losses, recurrent cells, resampling, padding."""

import torch

from harness import T, rows

X1, X2, X3 = T(2, 4, 9), T(2, 4, 6, 6), T(1, 2, 4, 4, 4)
SEQ = T(5, 2, 3)


def classes(*shape, n):
    return T(*shape, dtype="int64", fill=f"index:{n}")


CONVOLUTIONS = {
    "conv1d": [
        (X1, T(3, 4, 3)),
        (X1, T(3, 4, 3), T(3), 2, 1),
        (X1, T(4, 2, 3), {"groups": 2, "padding": "same"}),
        (T(4, 9), T(3, 4, 3)),
        (X1, T(3, 4, 3), {"stride": 2, "dilation": 2}),
    ],
    "conv2d": [
        (X2, T(3, 4, 3, 3)),
        (X2, T(3, 4, 3, 3), T(3), 2, 1),
        (X2, T(4, 1, 3, 3), None, [1, 2], [1, 0], 1, 4),
        (X2, T(3, 4, 2, 2), {"padding": "valid", "bias": T(3)}),
        (X2, T(3, 4, 3, 3), {"dilation": [2, 1]}),
    ],
    "conv3d": [(X3, T(2, 2, 2, 2, 2)), (X3, T(2, 2, 2, 2, 2), T(2), {"padding": 1})],
    "conv_transpose1d": [(X1, T(4, 2, 3)), (X1, T(4, 2, 3), T(2), 2, 1, 1)],
    "conv_transpose2d": [
        (X2, T(4, 2, 3, 3)),
        (X2, T(4, 1, 3, 3), None, {"stride": 2, "output_padding": 1, "groups": 2}),
    ],
    "conv_transpose3d": [(X3, T(2, 1, 2, 2, 2))],
    "conv_tbc": [(T(5, 2, 3), T(2, 3, 4), T(4)), (T(5, 2, 3), T(2, 3, 4), T(4), 1)],
    "convolution": [(X2, T(3, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)],
    "linear": [(T(2, 3), T(4, 3)), (T(2, 3), T(4, 3), T(4)), (T(3), T(4, 3)), (T(2, 5, 3), T(4, 3), {"bias": T(4)})],
    "im2col": [(X2, [2, 2], [1, 1], [0, 0], [2, 2]), (X2, 3, 1, 1, 2)],
    "col2im": [(T(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])],
}

POOLING = {
    "max_pool1d": [(X1, 3), (X1, 3, 2, 1), (X1, [2], {"ceil_mode": True})],
    "max_pool1d_with_indices": [(X1, 2)],
    "max_pool2d": [(X2, 2), (X2, [3, 2], [1, 2], 1), (X2, 2, {"dilation": 2, "ceil_mode": True})],
    "max_pool2d_with_indices": [(X2, 2), (X2, [2, 3], {"stride": 1})],
    "max_pool3d": [(X3, 2)],
    "avg_pool1d": [(X1, 3), (X1, 3, 2, 1, True, False)],
    "avg_pool2d": [(X2, 2), (X2, 3, 2, 1, {"count_include_pad": False}), (X2, [2, 3], {"divisor_override": 5})],
    "avg_pool3d": [(X3, 2)],
    "adaptive_avg_pool1d": [(X1, 4)],
    "adaptive_avg_pool2d": [(X2, [3, 2]), (X2, 4)],
    "adaptive_avg_pool3d": [(X3, [2, 3, 1])],
    "adaptive_max_pool1d": [(X1, 4)],
    "adaptive_max_pool2d": [(X2, [3, 2])],
    "adaptive_max_pool3d": [(X3, [2, 3, 1])],
    "fractional_max_pool2d": [(X2, [2, 2], [3, 3], T(2, 4, 2, fill="unit", grad=False))],
    "max_unpool2d": [(T(1, 1, 2, 2), T(1, 1, 2, 2, dtype="int64", fill="order"), [4, 4])],
}

NORMALIZATION = {
    "batch_norm": [
        (X2, T(4), T(4), T(4, grad=False), T(4, fill="positive", grad=False), False, 0.1, 0.001, False),
        (X2, T(4), T(4), None, None, True, 0.1, 0.001, False),
        (X1, None, None, None, None, True, 0.1, 0.5, True),
    ],
    "native_batch_norm": [(X2, T(4), None, None, None, True, 0.1, 0.001)],
    "instance_norm": [(X2, T(4), T(4), None, None, True, 0.1, 0.001, False)],
    "layer_norm": [
        (T(2, 3, 4), [4]),
        (T(2, 3, 4), [3, 4], T(3, 4), T(3, 4)),
        (T(2, 4), [4], None, T(4), 0.5),
        (T(2, 4), [4], {"eps": 0.1}),
    ],
    "native_layer_norm": [(T(2, 4), [4], None, None, 0.001)],
    "group_norm": [(X2, 2), (X2, 4, T(4), T(4)), (X1, 2, None, None, 0.1), (X1, {"num_groups": 1})],
    "native_group_norm": [(X1, T(4), T(4), 2, 4, 9, 2, 0.001)],
    "rms_norm": [(T(2, 4), [4]), (T(2, 4), [4], T(4), 0.01), (T(2, 4), [4], {"eps": 0.1})],
    "norm_except_dim": [(T(3, 4), 2, 0)],
    "embedding": [
        (T(5, 3), classes(2, 2, n=5)),
        (T(5, 3), classes(4, n=5), 1),
        (T(5, 3), classes(4, n=5), {"padding_idx": 0}),
        (T(5, 3), classes(4, n=5), -1, True),
    ],
    "embedding_bag": [(T(5, 3), classes(4, n=5), T(2, dtype="int64", fill="order"), False, 1)],
    "dropout": [(T(30), 0.5, True), (T(5), 0.5, False, {"_": {"same": False}}), (T(30), {"p": 0.1, "train": True})],
    "dropout_": [(T(30), 0.5, True)],
    "feature_dropout": [(X1, 0.5, True)],
    "alpha_dropout": [(T(30), 0.3, True)],
    "native_dropout": [(T(30), 0.5, True)],
}

Y, LOGITS, PROB = T(4, 3), T(4, 3), T(4, 3, fill="unit")
TARGET = classes(4, n=3)
SIGNS = T(4, 3, fill="ones", grad=False)
CLASS_WEIGHT, POS_WEIGHT = T(3, fill="positive", grad=False), T(3, fill="above_one", grad=False)

# In Python these operators default to no reduction, while torch.nn.functional and the schemas default to mean (1).
LOSSES = {
    "mse_loss": [(Y, T(4, 3), 1), (Y, T(4, 3), 2), (Y, T(4, 3), 0), (Y, T(4, 3), {"reduction": 2})],
    "smooth_l1_loss": [(Y, T(4, 3), 1), (Y, T(4, 3), 2, 0.5), (Y, T(4, 3), {"reduction": 0, "beta": 2})],
    "huber_loss": [(Y, T(4, 3), 1), (Y, T(4, 3), 1, 0.5), (Y, T(4, 3), {"delta": 2, "reduction": 1})],
    "binary_cross_entropy": [
        (PROB, T(4, 3, fill="unit"), {"reduction": 1}),
        (PROB, T(4, 3, fill="unit"), CLASS_WEIGHT, 2),
    ],
    "binary_cross_entropy_with_logits": [
        (LOGITS, PROB, {"reduction": 1}),
        (LOGITS, PROB, CLASS_WEIGHT, POS_WEIGHT, 2),
        (LOGITS, PROB, {"pos_weight": POS_WEIGHT, "reduction": 1}),
    ],
    "nll_loss": [
        (LOGITS, TARGET, None, 1),
        (LOGITS, TARGET, CLASS_WEIGHT, 2),
        (LOGITS, TARGET, {"ignore_index": 1, "reduction": 1}),
    ],
    "nll_loss2d": [(T(2, 3, 2, 2), classes(2, 2, 2, n=3), None, 1)],
    "nll_loss_nd": [(T(2, 3, 4), classes(2, 4, n=3), None, 2)],
    "cross_entropy_loss": [
        (LOGITS, TARGET, None, 1),
        (LOGITS, TARGET, CLASS_WEIGHT, 1, -100, 0.1),
        (LOGITS, PROB, None, 2),
        (LOGITS, TARGET, {"label_smoothing": 0.2, "reduction": 1}),
        (T(2, 3, 4), classes(2, 4, n=3), {"reduction": 0}),
    ],
    "kl_div": [(LOGITS, PROB, 1), (LOGITS, PROB, 2), (LOGITS, LOGITS, {"log_target": True, "reduction": 1})],
    "soft_margin_loss": [(Y, SIGNS, 1), (Y, SIGNS, 2)],
    "hinge_embedding_loss": [(Y, SIGNS, {"reduction": 1}), (Y, SIGNS, 0.5, 2)],
    "margin_ranking_loss": [
        (Y, T(4, 3), T(4, 3, fill="ones"), {"reduction": 1}),
        (Y, T(4, 3), T(4, 3, fill="ones"), 0.5, 2),
    ],
    "cosine_embedding_loss": [
        (Y, T(4, 3), T(4, fill="ones"), {"reduction": 1}),
        (Y, T(4, 3), T(4, fill="ones"), 0.5, 2),
    ],
    "triplet_margin_loss": [(Y, T(4, 3), T(4, 3), {"reduction": 1}), (Y, T(4, 3), T(4, 3), 0.5, 1, 1e-6, True, 2)],
    "poisson_nll_loss": [(Y, T(4, 3, fill="count"), True, False, 1e-8, 1)],
    "multi_margin_loss": [(LOGITS, TARGET, {"reduction": 1}), (LOGITS, TARGET, 2, 0.5, CLASS_WEIGHT, 2)],
    "multilabel_margin_loss": [(LOGITS, classes(4, 3, n=3), 1)],
    "ctc_loss": [
        (
            T(6, 2, 4, fill="wide"),
            T(2, 3, dtype="int64", fill="natural"),
            [6, 5],
            [2, 3],
            0,
            1,
            True,
            {"_": {"grad": False, "python": lambda *a: torch.ctc_loss(*a)}},
        )
    ],
}

CELLS = {
    "lstm": [(SEQ, [T(1, 2, 4), T(1, 2, 4)], [T(16, 3), T(16, 4), T(16), T(16)], True, 1, 0, False, False, False)],
    "gru": [(SEQ, T(1, 2, 4), [T(12, 3), T(12, 4), T(12), T(12)], True, 1, 0, False, False, False)],
    "rnn_tanh": [(SEQ, T(1, 2, 4), [T(4, 3), T(4, 4), T(4), T(4)], True, 1, 0, False, False, False)],
    "rnn_relu": [(SEQ, T(2, 2, 4), [T(4, 3), T(4, 4), T(4, 3), T(4, 4)], False, 1, 0, False, True, False)],
    "lstm_cell": [(T(2, 3), [T(2, 4), T(2, 4)], T(16, 3), T(16, 4), T(16), T(16))],
    "gru_cell": [(T(2, 3), T(2, 4), T(12, 3), T(12, 4), T(12), T(12))],
    "rnn_tanh_cell": [(T(2, 3), T(2, 4), T(4, 3), T(4, 4))],
    "rnn_relu_cell": [(T(2, 3), T(2, 4), T(4, 3), T(4, 4), T(4), T(4))],
    "scaled_dot_product_attention": [
        (T(2, 2, 3, 4), T(2, 2, 5, 4), T(2, 2, 5, 4)),
        (T(2, 3, 4), T(2, 3, 4), T(2, 3, 4), {"is_causal": True}),
        (T(2, 3, 4), T(2, 5, 4), T(2, 5, 4), T(3, 5, dtype="bool", fill="ones"), 0, False, {"scale": 0.3}),
    ],
}

RESAMPLING = {
    "upsample_nearest1d": [(X1, [5]), (X1, None, [2])],
    "upsample_nearest2d": [(X2, [4, 9]), (X2, None, [2, 0.5])],
    "upsample_nearest3d": [(X3, [2, 5, 3])],
    "upsample_linear1d": [(X1, [5], False), (X1, [12], True)],
    "upsample_bilinear2d": [(X2, [4, 9], False), (X2, [8, 8], True), (X2, None, False, [2, 2])],
    "upsample_bicubic2d": [(X2, [4, 9], False)],
    "upsample_trilinear3d": [(X3, [2, 5, 3], True)],
    "reflection_pad1d": [(X1, [1, 2])],
    "reflection_pad2d": [(X2, [1, 2, 0, 1])],
    "reflection_pad3d": [(X3, [1, 1, 0, 1, 2, 0])],
    "replication_pad1d": [(X1, [1, 2])],
    "replication_pad2d": [(X2, [1, 2, 0, 1])],
    "replication_pad3d": [(X3, [1, 1, 0, 1, 2, 0])],
    "pad": [
        (X2, [1, 1], "constant", 2),
        (X2, [1, 2, 0, 1], "reflect"),
        (X1, [1, 1], {"mode": "circular"}),
        (X1, [1, 1]),
    ],
    "grid_sampler": [(X2, T(2, 3, 3, 2, fill="signed_unit"), 0, 0, False)],
    "grid_sampler_2d": [(X2, T(2, 3, 3, 2), 0, 1, True)],
    "grid_sampler_3d": [(X3, T(1, 2, 2, 2, 3, fill="signed_unit"), 0, 0, True)],
    "affine_grid_generator": [(T(2, 2, 3), [2, 3, 4, 4], False)],
    "pad_sequence": [([T(3), T(2), T(4)], True, 0.5)],
    "native_channel_shuffle": [(T(1, 4, 2, 2), 2)],
}
PARTS = (CONVOLUTIONS, POOLING, NORMALIZATION, LOSSES, CELLS, RESAMPLING)
CASES = [case for table in PARTS for case in rows(table)]
