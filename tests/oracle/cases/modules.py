"""Modules of torch.nn: every class, with the arguments that change its behaviour."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, prune
from torch.nn.utils import rnn as sequences

from harness import T, module

X1, X2, X3 = T(2, 4, 7), T(2, 4, 6, 6), T(1, 2, 4, 4, 4)
ROWS = T(3, 4)
WIDE = T(3, 5, fill="wide")


def indices(*shape, n):
    return T(*shape, dtype="int64", fill=f"index:{n}")


def table(*entries):
    """Returns cases for entries (class, arguments…, {keywords}, [inputs])."""
    out = []
    for name, *rest in entries:
        x = rest.pop()
        keywords = rest.pop() if rest and isinstance(rest[-1], dict) else {}
        options = keywords.pop("_", {})
        out.append(module(name, *rest, x=x, _=options, **keywords))
    return out


def built(name, lua, python, x, **options):
    return module((name, lua, python), x=x, _=options)


LINEAR = table(
    ("Linear", 4, 3, [ROWS]),
    ("Linear", 4, 3, {"bias": False}, [T(2, 5, 4)]),
    ("Linear", 4, 2, {"dtype": torch.float64}, [T(4, dtype="float64")]),
    ("Bilinear", 3, 4, 2, [T(5, 3), T(5, 4)]),
    ("Bilinear", 3, 4, 2, {"bias": False}, [T(5, 3), T(5, 4)]),
    ("Identity", [ROWS]),
    ("Identity", 3, "x", [ROWS]),
    ("Flatten", [T(2, 3, 4)]),
    ("Flatten", 0, 1, [T(2, 3, 4)]),
    ("Unflatten", 1, [2, 2], [X2]),
)

CONVOLUTIONS = table(
    ("Conv1d", 4, 6, 3, [X1]),
    ("Conv1d", 4, 6, 3, {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}, [X1]),
    ("Conv1d", 4, 2, 3, {"padding": "same", "padding_mode": "circular"}, [X1]),
    ("Conv1d", 4, 2, 3, [T(4, 7)]),
    ("Conv2d", 4, 3, 3, [X2]),
    ("Conv2d", 4, 3, [3, 2], {"stride": [2, 1], "padding": [1, 0], "bias": False}, [X2]),
    ("Conv2d", 4, 4, 3, {"padding": 1, "groups": 4, "padding_mode": "reflect"}, [X2]),
    ("Conv2d", 4, 2, [2, 3], {"padding": "same", "padding_mode": "replicate"}, [X2]),
    ("Conv2d", 4, 2, 3, {"padding": "valid", "dilation": 2}, [X2]),
    ("Conv2d", 4, 2, 4, {"padding": "same"}, [X2]),
    ("Conv3d", 2, 3, 2, [X3]),
    ("Conv3d", 2, 2, [1, 2, 3], {"padding": [0, 1, 1], "padding_mode": "circular"}, [X3]),
    ("ConvTranspose1d", 4, 3, 3, [X1]),
    ("ConvTranspose1d", 4, 4, 3, {"stride": 2, "output_padding": 1, "groups": 2}, [X1]),
    ("ConvTranspose1d", 4, 2, 3, {"stride": 3}, [X1, [22]]),
    ("ConvTranspose2d", 4, 3, 3, {"stride": 2, "padding": 1, "bias": False}, [X2]),
    ("ConvTranspose2d", 4, 2, [2, 3], {"stride": 2, "dilation": [1, 2]}, [X2, {"output_size": [2, 2, 13, 15]}]),
    ("ConvTranspose3d", 2, 3, 2, {"stride": 2}, [X3]),
)

POOLING = table(
    ("MaxPool1d", 3, [X1]),
    ("MaxPool1d", 2, {"stride": 1, "return_indices": True}, [X1]),
    ("MaxPool2d", 2, [X2]),
    ("MaxPool2d", [3, 2], {"stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "ceil_mode": True}, [X2]),
    ("MaxPool2d", 2, {"return_indices": True}, [X2]),
    ("MaxPool3d", 2, {"padding": 1}, [X3]),
    ("AvgPool1d", 3, {"padding": 1}, [X1]),
    ("AvgPool2d", 2, [X2]),
    ("AvgPool2d", [3, 2], {"stride": 1, "padding": [1, 0], "ceil_mode": True, "count_include_pad": False}, [X2]),
    ("AvgPool2d", 2, {"divisor_override": 3}, [X2]),
    ("AvgPool3d", 2, [X3]),
    ("MaxUnpool1d", 2, [T(1, 1, 3), T(1, 1, 3, dtype="int64", fill="order")]),
    ("MaxUnpool2d", 2, {"stride": 2}, [T(1, 1, 2, 2), T(1, 1, 2, 2, dtype="int64", fill="order"), [5, 4]]),
    ("MaxUnpool3d", [1, 2, 2], [T(1, 1, 1, 2, 2), T(1, 1, 1, 2, 2, dtype="int64", fill="order")]),
    ("FractionalMaxPool2d", 2, {"output_size": [3, 4]}, [X2]),
    ("FractionalMaxPool2d", [2, 3], {"output_ratio": [0.5, 0.6], "return_indices": True}, [X2]),
    ("FractionalMaxPool3d", 2, {"output_ratio": 0.5}, [X3]),
    ("LPPool1d", 2, 3, [T(2, 4, 7, fill="positive")]),
    ("LPPool2d", 1.5, [2, 3], {"stride": 2}, [T(2, 4, 6, 6, fill="positive")]),
    ("LPPool3d", 3, 2, {"ceil_mode": True}, [T(1, 2, 5, 4, 4, fill="positive")]),
    ("AdaptiveAvgPool1d", 3, [X1]),
    ("AdaptiveAvgPool2d", [3, None], [X2]),
    ("AdaptiveAvgPool2d", 1, [X2]),
    ("AdaptiveAvgPool3d", [2, 3, 1], [X3]),
    ("AdaptiveMaxPool1d", 3, [X1]),
    ("AdaptiveMaxPool2d", [None, 2], [X2]),
    ("AdaptiveMaxPool2d", 4, {"return_indices": True}, [X2]),
    ("AdaptiveMaxPool3d", 2, [X3]),
)

PADDING = table(
    ("ConstantPad1d", 2, 3.5, [X1]),
    ("ConstantPad1d", [1, -1], 2, [X1]),
    ("ConstantPad2d", [1, 0, 2, 1], -1, [X2]),
    ("ConstantPad3d", 1, 0.5, [X3]),
    ("ZeroPad1d", [2, 1], [X1]),
    ("ZeroPad2d", 1, [X2]),
    ("ZeroPad3d", [0, 1, 1, 0, 2, 0], [X3]),
    ("ReflectionPad1d", 2, [X1]),
    ("ReflectionPad2d", [1, 2, 0, 1], [X2]),
    ("ReflectionPad3d", 1, [X3]),
    ("ReplicationPad1d", [3, 1], [X1]),
    ("ReplicationPad2d", 2, [X2]),
    ("ReplicationPad3d", [1, 0, 2, 1, 0, 1], [X3]),
    ("CircularPad1d", 2, [X1]),
    ("CircularPad2d", [1, 1, 2, 2], [X2]),
    ("CircularPad3d", 1, [X3]),
)

ACTIVATIONS = table(
    ("ReLU", [WIDE]),
    ("ReLU6", [WIDE]),
    ("GELU", [WIDE]),
    ("GELU", {"approximate": "tanh"}, [WIDE]),
    ("SiLU", [WIDE]),
    ("Mish", [WIDE]),
    ("SELU", [WIDE]),
    ("Hardswish", [WIDE]),
    ("Hardsigmoid", [WIDE]),
    ("Sigmoid", [WIDE]),
    ("LogSigmoid", [WIDE]),
    ("Tanh", [WIDE]),
    ("Tanhshrink", [WIDE]),
    ("Softsign", [WIDE]),
    ("Softplus", [WIDE]),
    ("Softplus", {"beta": 2.0, "threshold": 5.5}, [WIDE]),
    ("Softshrink", 1.5, [WIDE]),
    ("Hardshrink", [WIDE]),
    ("LeakyReLU", [WIDE]),
    ("LeakyReLU", 0.25, [WIDE]),
    ("RReLU", [WIDE]),
    ("RReLU", 0.1, 0.3, [WIDE]),
    ("ELU", [WIDE]),
    ("ELU", 0.5, [WIDE]),
    ("CELU", 2.0, [WIDE]),
    ("Hardtanh", [WIDE]),
    ("Hardtanh", -2.0, 3.5, [WIDE]),
    ("Threshold", 0.5, 20.0, [WIDE]),
    ("GLU", [T(3, 4)]),
    ("GLU", 0, [T(4, 3)]),
    ("Softmax", 1, [WIDE]),
    ("Softmin", -1, [WIDE]),
    ("LogSoftmax", {"dim": 0}, [WIDE]),
    ("Softmax", [T(2, 3, 4)]),
    ("Softmax2d", [X2]),
    ("PReLU", [WIDE]),
    ("PReLU", 4, 0.1, [X2]),
    ("ReLU", {"inplace": True, "_": {"grad": False}}, [WIDE]),
    ("ELU", 1.5, {"inplace": True, "_": {"grad": False}}, [WIDE]),
    ("Threshold", -1.0, 2.5, {"inplace": True, "_": {"grad": False}}, [WIDE]),
    ("Hardtanh", {"inplace": True, "_": {"grad": False}}, [WIDE]),
    ("Hardswish", {"inplace": True, "_": {"grad": False}}, [WIDE]),
    ("RReLU", {"inplace": True, "_": {"grad": False}}, [WIDE]),
    ("Mish", {"inplace": True, "_": {"grad": False}}, [WIDE]),
)

DROPOUTS = table(
    ("Dropout", [ROWS]),
    ("Dropout", 0.0, [ROWS]),
    ("Dropout", 1.0, [ROWS]),
    ("Dropout", 0.25, {"inplace": True, "_": {"grad": False}}, [ROWS]),
    ("Dropout1d", 0.5, [X1]),
    ("Dropout1d", 0.5, [T(4, 3)]),
    ("Dropout2d", 0.5, [X2]),
    ("Dropout3d", 0.3, [X3]),
    ("Dropout3d", 0.5, [T(2, 2, 2, 2)]),
    ("AlphaDropout", 0.5, [ROWS]),
    ("FeatureAlphaDropout", 0.5, [X2]),
)

NORMALIZATION = table(
    ("BatchNorm1d", 4, [ROWS]),
    ("BatchNorm2d", 4, [X2]),
    ("BatchNorm2d", 4, {"eps": 0.01, "momentum": 0.3, "affine": False}, [X2]),
    ("BatchNorm2d", 4, {"track_running_stats": False}, [X2]),
    ("BatchNorm3d", 2, [X3]),
    ("InstanceNorm1d", 4, [X1]),
    ("InstanceNorm2d", 4, {"affine": True, "track_running_stats": True}, [X2]),
    ("InstanceNorm2d", 4, {"affine": True}, [T(4, 6, 6)]),
    ("InstanceNorm3d", 2, {"eps": 0.01}, [X3]),
    ("LayerNorm", 4, [ROWS]),
    ("LayerNorm", [4, 7], {"eps": 0.001}, [X1]),
    ("LayerNorm", 4, {"bias": False}, [ROWS]),
    ("LayerNorm", 4, {"elementwise_affine": False}, [ROWS]),
    ("RMSNorm", 4, [ROWS]),
    ("RMSNorm", [4, 7], {"eps": 0.01, "elementwise_affine": False}, [X1]),
    ("GroupNorm", 2, 4, [X2]),
    ("GroupNorm", 1, 4, {"affine": False, "eps": 0.1}, [X1]),
    ("LocalResponseNorm", 3, [X2]),
    ("LocalResponseNorm", 2, {"alpha": 0.5, "beta": 1.5, "k": 2.0}, [X1]),
    ("LocalResponseNorm", 3, {"alpha": 0.5}, [X3]),
    ("CrossMapLRN2d", 3, {"alpha": 0.5}, [T(2, 6, 2, 2)]),
    ("CrossMapLRN2d", 4, {"alpha": 0.3, "beta": 1.0, "k": 2}, [T(1, 5, 2, 2)]),
    ("SyncBatchNorm", 4, [X2]),
) + [
    built(
        "BatchNorm1d_cumulative",
        "nn.BatchNorm1d(4, {momentum = false})",
        lambda: nn.BatchNorm1d(4, momentum=None),
        [X1],
    ),
    built(
        "convert_sync_batchnorm",
        "nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.BatchNorm1d(3))))",
        lambda: nn.SyncBatchNorm.convert_sync_batchnorm(
            nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.BatchNorm1d(3)))
        ),
        [ROWS],
    ),
]

EMBEDDINGS = table(
    ("Embedding", 10, 3, [indices(2, 4, n=10)]),
    ("Embedding", 6, 3, {"padding_idx": -2}, [indices(8, n=6)]),
    ("Embedding", 6, 3, {"max_norm": 1.0, "norm_type": 1.0, "scale_grad_by_freq": True}, [indices(8, n=6)]),
    ("Embedding", 6, 3, {"sparse": True, "_": {"grad": False}}, [indices(4, n=6)]),
    ("EmbeddingBag", 10, 3, [indices(2, 4, n=10)]),
    (
        "EmbeddingBag",
        10,
        3,
        {"mode": "sum", "padding_idx": 1},
        [indices(6, n=10), T(2, dtype="int64", fill="order"), T(6)],
    ),
    ("EmbeddingBag", 10, 3, {"mode": "max", "max_norm": 0.5}, [indices(2, 4, n=10)]),
    (
        "EmbeddingBag",
        10,
        3,
        {"include_last_offset": True, "scale_grad_by_freq": True},
        [indices(3, n=10), T(4, dtype="int64", fill="order")],
    ),
) + [
    built(
        "Embedding_from_pretrained",
        "nn.Embedding.from_pretrained(torch.ones(4, 2), {freeze = false, padding_idx = 1})",
        lambda: nn.Embedding.from_pretrained(torch.ones(4, 2), freeze=False, padding_idx=1),
        [indices(5, n=4)],
    ),
    built(
        "EmbeddingBag_from_pretrained",
        "nn.EmbeddingBag.from_pretrained(torch.ones(4, 2), {mode = 'sum'})",
        lambda: nn.EmbeddingBag.from_pretrained(torch.ones(4, 2), mode="sum"),
        [indices(2, 3, n=4)],
    ),
]

VISION = table(
    ("Upsample", {"size": 5}, [X1]),
    ("Upsample", {"scale_factor": 2}, [X2]),
    ("Upsample", {"scale_factor": [1.5, 2.0], "mode": "bilinear"}, [X2]),
    ("Upsample", {"size": [3, 9], "mode": "bicubic", "align_corners": True}, [X2]),
    ("Upsample", {"scale_factor": 1.7, "mode": "linear", "recompute_scale_factor": True}, [X1]),
    ("Upsample", {"size": [3, 5, 6], "mode": "trilinear"}, [X3]),
    ("Upsample", {"scale_factor": 0.7, "mode": "nearest-exact"}, [X2]),
    ("Upsample", {"scale_factor": 0.5, "mode": "area"}, [X2]),
    ("UpsamplingNearest2d", {"scale_factor": 2}, [X2]),
    ("UpsamplingBilinear2d", {"size": [4, 7]}, [X2]),
    ("PixelShuffle", 2, [X2]),
    ("PixelUnshuffle", 3, [X2]),
    ("ChannelShuffle", 2, [X2]),
    ("Unfold", 3, [X2]),
    ("Unfold", [2, 3], {"dilation": [1, 2], "padding": 1, "stride": 2}, [X2]),
    ("Fold", [4, 5], 2, [T(2, 8, 12)]),
    ("Fold", 4, [2, 2], {"stride": 2}, [T(1, 4, 4)]),
    ("CosineSimilarity", [ROWS, T(3, 4)]),
    ("CosineSimilarity", {"dim": 0, "eps": 0.1}, [ROWS, T(3, 4)]),
    ("PairwiseDistance", [ROWS, T(3, 4)]),
    ("PairwiseDistance", 1, {"keepdim": True}, [ROWS, T(3, 4)]),
)

SIGNS = T(3, 4, fill="bool", grad=False)
PROBABILITIES = T(3, 4, fill="unit")
TARGETS = T(3, 4, fill="unit", grad=False)


def signs(*shape):
    """Returns a tensor of 1 and -1."""
    return T(*shape, fill="bool", grad=False)


AS_SIGNS = (
    "local given = {...} given[#given] = given[#given] * 2 - 1 return m(unpack(given))",
    lambda m, *x: m(*x[:-1], x[-1] * 2 - 1),
)


def losses(name, inputs, *variants, **options):
    """Returns cases of the loss with each reduction, and with each dict of arguments."""
    default = [{"reduction": "mean"}, {"reduction": "sum"}, {"reduction": "none"}]
    return [module(name, x=list(inputs), _=dict(options), **v) for v in [*default, *variants]]


LOSSES = [
    *losses("L1Loss", [ROWS, T(3, 4)]),
    *losses("MSELoss", [ROWS, T(3, 4)]),
    *losses("SmoothL1Loss", [ROWS, T(3, 4)], {"beta": 0.3}, {"beta": 0.0}),
    *losses("HuberLoss", [ROWS, T(3, 4)], {"delta": 0.4}),
    *losses(
        "CrossEntropyLoss",
        [T(4, 5), indices(4, n=5)],
        {"weight": T(5, fill="unit", grad=False)},
        {"ignore_index": 2},
        {"label_smoothing": 0.2},
    ),
    module("CrossEntropyLoss", x=[T(2, 3, 4), TARGETS_PER_PLACE := T(2, 3, 4, fill="unit", grad=False)]),
    module("CrossEntropyLoss", x=[T(2, 3, 4), indices(2, 4, n=3)]),
    *losses("NLLLoss", [T(4, 5), indices(4, n=5)], {"weight": T(5, fill="unit", grad=False), "ignore_index": 1}),
    *losses("KLDivLoss", [T(3, 4), TARGETS], {"reduction": "batchmean"}, {"reduction": "sum", "log_target": True}),
    *losses("BCELoss", [PROBABILITIES, TARGETS], {"weight": T(4, fill="unit", grad=False)}),
    *losses(
        "BCEWithLogitsLoss",
        [ROWS, TARGETS],
        {"pos_weight": T(4, fill="positive", grad=False)},
        {"weight": T(4, fill="unit", grad=False)},
    ),
    *losses(
        "PoissonNLLLoss", [ROWS, T(3, 4, fill="count", grad=False)], {"full": True}, {"log_input": False, "eps": 0.01}
    ),
    *losses("GaussianNLLLoss", [ROWS, T(3, 4, grad=False), T(3, 4, fill="positive")], {"full": True}, {"eps": 0.5}),
    module("GaussianNLLLoss", x=[ROWS, T(3, 4, grad=False), T(3, 1, fill="positive")]),
    module("GaussianNLLLoss", x=[ROWS, T(3, 4, grad=False), T(3, fill="positive")]),
    *losses("HingeEmbeddingLoss", [ROWS, signs(3, 4)], {"margin": 0.5}, call=AS_SIGNS),
    *losses("SoftMarginLoss", [ROWS, signs(3, 4)], call=AS_SIGNS),
    *losses(
        "MultiMarginLoss", [ROWS, indices(3, n=4)], {"p": 2, "margin": 0.5}, {"weight": T(4, fill="unit", grad=False)}
    ),
    *losses(
        "MultiLabelMarginLoss",
        [ROWS, T(3, 4, dtype="int64", fill="order")],
        call=("local x, y = ... return m(x, y % 5 - 1)", lambda m, x, y: m(x, y % 5 - 1)),
    ),
    *losses("MultiLabelSoftMarginLoss", [ROWS, SIGNS], {"weight": T(4, fill="unit", grad=False)}),
    *losses("CosineEmbeddingLoss", [ROWS, T(3, 4), signs(3)], {"margin": 0.3}, call=AS_SIGNS),
    *losses("MarginRankingLoss", [T(5), T(5), signs(5)], {"margin": 0.5}, call=AS_SIGNS),
    *losses("TripletMarginLoss", [ROWS, T(3, 4), T(3, 4)], {"margin": 2.0, "p": 1, "swap": True}),
    *losses("TripletMarginWithDistanceLoss", [ROWS, T(3, 4), T(3, 4)], {"margin": 2.0, "swap": True}),
    built(
        "TripletMarginWithCosine",
        "nn.TripletMarginWithDistanceLoss{distance_function = function(a, b) return 1 - torch.cosine_similarity(a, b) end}",
        lambda: nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1 - torch.cosine_similarity(a, b)),
        [ROWS, T(3, 4), T(3, 4)],
    ),
    *losses(
        "CTCLoss",
        [T(6, 2, 5), T(2, 2, dtype="int64", fill="index:4"), [6, 5], [2, 1]],
        {"blank": 4},
        {"zero_infinity": True},
        call=(
            "local x, y, i, t = ... return m(x:log_softmax(2), m.blank == 4 and y or y + 1, i, t)",
            lambda m, x, y, i, t: m(x.log_softmax(2), y if m.blank == 4 else y + 1, i, t),
        ),
    ),
    module("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 7], x=[T(5, 8), indices(5, n=12)], div_value=2.0),
    module("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 7], x=[T(8), indices(n=12)], div_value=2.0, head_bias=True),
    module(
        "AdaptiveLogSoftmaxWithLoss",
        8,
        12,
        [3, 7],
        x=[T(5, 8)],
        div_value=2.0,
        _={
            "name": "AdaptiveLogSoftmax_log_prob",
            "call": ("local x = ... return m:log_prob(x), m:predict(x)", lambda m, x: (m.log_prob(x), m.predict(x))),
        },
    ),
]

SEQ = T(5, 2, 3)
PACKED = (
    (
        "local x, state = ... local p = nn.utils.rnn.pack_padded_sequence(x, {2, 5}, {enforce_sorted = false}) "
        "local out, h = m(p, state) local y, n = nn.utils.rnn.pad_packed_sequence(out) return y, n, h"
    ),
    lambda m, x, state=None: (lambda out, h: (*sequences.pad_packed_sequence(out), h))(
        *m(sequences.pack_padded_sequence(x, torch.tensor([2, 5]), enforce_sorted=False), state)
    ),
)

RECURRENT = table(
    ("RNN", 3, 4, [SEQ]),
    ("RNN", 3, 4, {"num_layers": 2, "nonlinearity": "relu", "bidirectional": True, "bias": False}, [SEQ]),
    ("RNN", 3, 4, {"batch_first": True}, [T(2, 5, 3), T(1, 2, 4)]),
    ("RNN", 3, 4, {"_": {"call": PACKED}}, [SEQ]),
    ("LSTM", 3, 4, [SEQ]),
    ("LSTM", 3, 4, {"num_layers": 2, "dropout": 0.5}, [SEQ]),
    (
        "LSTM",
        3,
        4,
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        [T(2, 5, 3), [T(4, 2, 4), T(4, 2, 4)]],
    ),
    ("LSTM", 3, 4, {"proj_size": 2, "bidirectional": True}, [SEQ]),
    ("LSTM", 3, 4, [T(5, 3), [T(1, 4), T(1, 4)]]),
    ("LSTM", 3, 4, {"num_layers": 2, "_": {"call": PACKED}}, [SEQ, [T(2, 2, 4), T(2, 2, 4)]]),
    ("GRU", 3, 4, [SEQ]),
    ("GRU", 3, 4, {"num_layers": 2, "dropout": 0.3, "bidirectional": True}, [SEQ, T(4, 2, 4)]),
    ("GRU", 3, 4, {"batch_first": True}, [T(5, 3)]),
    ("GRU", 3, 4, {"bidirectional": True, "_": {"call": PACKED}}, [SEQ]),
    ("RNNCell", 3, 4, [T(2, 3)]),
    ("RNNCell", 3, 4, {"nonlinearity": "relu", "bias": False}, [T(3), T(4)]),
    ("LSTMCell", 3, 4, [T(2, 3)]),
    ("LSTMCell", 3, 4, {"bias": False}, [T(2, 3), [T(2, 4), T(2, 4)]]),
    ("LSTMCell", 3, 4, [T(3), [T(4), T(4)]]),
    ("GRUCell", 3, 4, [T(2, 3), T(2, 4)]),
    ("GRUCell", 3, 4, [T(3)]),
)

QUERY, KEY = T(3, 2, 4), T(5, 2, 4)
MASK = T(3, 5, dtype="bool")
HIDDEN = T(2, 5, dtype="bool", fill="index:2")

ATTENTION = table(
    ("MultiheadAttention", 4, 2, [QUERY, KEY, KEY]),
    ("MultiheadAttention", 4, 2, {"bias": False}, [QUERY, QUERY, QUERY]),
    ("MultiheadAttention", 4, 2, [QUERY, KEY, KEY, {"need_weights": False, "attn_mask": T(3, 5)}]),
    (
        "MultiheadAttention",
        4,
        2,
        [QUERY, KEY, KEY, {"average_attn_weights": False, "attn_mask": T(4, 3, 5, grad=False)}],
    ),
    ("MultiheadAttention", 4, 2, {"kdim": 3, "vdim": 5}, [QUERY, T(5, 2, 3), T(5, 2, 5)]),
    (
        "MultiheadAttention",
        4,
        2,
        {"add_bias_kv": True, "add_zero_attn": True},
        [QUERY, KEY, KEY, {"key_padding_mask": T(2, 5, grad=False), "attn_mask": T(3, 5, grad=False)}],
    ),
    (
        "MultiheadAttention",
        4,
        2,
        {"add_zero_attn": True},
        [QUERY, KEY, KEY, {"key_padding_mask": HIDDEN, "need_weights": False}],
    ),
    ("MultiheadAttention", 4, 2, {"batch_first": True}, [T(2, 3, 4), T(2, 5, 4), T(2, 5, 4)]),
    ("MultiheadAttention", 4, 2, {"dropout": 0.5}, [QUERY, KEY, KEY]),
    ("MultiheadAttention", 4, 1, [T(3, 4), T(5, 4), T(5, 4)]),
    (
        "MultiheadAttention",
        4,
        2,
        [T(3, 4), T(5, 4), T(5, 4), {"need_weights": False, "attn_mask": T(3, 5, grad=False)}],
    ),
    ("TransformerEncoderLayer", 4, 2, 6, [T(3, 2, 4)]),
    (
        "TransformerEncoderLayer",
        4,
        2,
        {
            "dim_feedforward": 6,
            "dropout": 0.0,
            "activation": "gelu",
            "norm_first": True,
            "batch_first": True,
            "bias": False,
        },
        [T(2, 3, 4), {"src_mask": T(3, 3, grad=False)}],
    ),
    ("TransformerEncoderLayer", 4, 2, 6, 0, [T(3, 4), {"src_key_padding_mask": T(3, grad=False)}]),
    ("TransformerDecoderLayer", 4, 2, 6, [T(3, 2, 4), T(5, 2, 4)]),
    (
        "TransformerDecoderLayer",
        4,
        2,
        {"dim_feedforward": 6, "dropout": 0.0, "norm_first": True, "layer_norm_eps": 0.01},
        [
            T(3, 2, 4),
            T(5, 2, 4),
            {
                "tgt_mask": T(3, 3, grad=False),
                "memory_mask": T(3, 5, grad=False),
                "memory_key_padding_mask": T(2, 5, grad=False),
            },
        ],
    ),
    (
        "Transformer",
        {"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 2, "dim_feedforward": 6},
        [T(3, 2, 4), T(5, 2, 4)],
    ),
) + [
    built(
        "TransformerEncoder",
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, {batch_first = true}), 2, "
        "{norm = nn.LayerNorm(4), enable_nested_tensor = false})",
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 2, norm=nn.LayerNorm(4), enable_nested_tensor=False
        ),
        [T(2, 3, 4)],
    ),
    built(
        "TransformerEncoder_causal",
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0), 1)",
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0), 1),
        [T(3, 2, 4)],
        call=(
            "return m(..., {mask = nn.Transformer.generate_square_subsequent_mask(3)})",
            lambda m, x: m(x, mask=nn.Transformer.generate_square_subsequent_mask(3)),
        ),
    ),
    built(
        "TransformerDecoder",
        "nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0), 1, nn.LayerNorm(4))",
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0), 1, nn.LayerNorm(4)),
        [T(3, 2, 4), T(5, 2, 4)],
    ),
]


class Holder(nn.Module):
    """A module that Lua writes as nn.Module:extend('Holder') with the same fields."""

    def __init__(self, **fields):
        super().__init__()
        for name, value in fields.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.body(x)


HOLDER = (
    "local Holder = nn.Module:extend('Holder') function Holder:forward(x) return self.body(x) end local h = Holder() "
)
SUM = (
    "local x = ... for _, p in ipairs(m:parameters()) do x = x + p:sum() end return x",
    lambda m, x: x + sum(p.sum() for p in m.parameters()),
)


def held(lua, python):
    return "(function() " + HOLDER + lua + " return h end)()", python


def shared():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer)


CONTAINERS = [
    built(
        "Sequential",
        "nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)))",
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))),
        [ROWS],
    ),
    built("Sequential_empty", "nn.Sequential()", lambda: nn.Sequential(), [ROWS]),
    built(
        "Sequential_shared",
        "(function() local layer = nn.Linear(4, 4) return nn.Sequential(layer, nn.ReLU(), layer) end)()",
        shared,
        [ROWS],
    ),
    built(
        "Sequential_insert_pop",
        "(function() local s = nn.Sequential(nn.Linear(4, 3), nn.Tanh()) s:insert(2, nn.ReLU()) "
        "s:append(nn.Linear(3, 1)) s:pop(1) s:insert(1, nn.Linear(4, 3)) return s end)()",
        lambda: (
            lambda s: (s.insert(1, nn.ReLU()), s.append(nn.Linear(3, 1)), s.pop(0), s.insert(0, nn.Linear(4, 3)), s)[-1]
        )(nn.Sequential(nn.Linear(4, 3), nn.Tanh())),
        [ROWS],
    ),
    built(
        "Sequential_sum",
        "nn.Sequential(nn.Linear(4, 4)) + nn.Sequential(nn.Tanh()) * 2",
        lambda: nn.Sequential(nn.Linear(4, 4)) + nn.Sequential(nn.Tanh()) * 2,
        [ROWS],
    ),
    built(
        "Sequential_slice",
        "nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)):slice(1, 2)",
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))[0:2],
        [ROWS],
    ),
    built(
        "ModuleList",
        *held(
            "h.layers = nn.ModuleList{nn.Linear(4, 4), nn.Linear(4, 4), nn.Sequential(nn.ReLU())} h.body = nn.ReLU()",
            lambda: Holder(
                layers=nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Sequential(nn.ReLU())]), body=nn.ReLU()
            ),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "ModuleDict",
        *held(
            "h.heads = nn.ModuleDict{{'b', nn.Linear(4, 2)}, {'a', nn.PReLU()}} h.none = nn.ModuleDict() "
            "h.list = nn.ModuleList()",
            lambda: Holder(
                heads=nn.ModuleDict({"b": nn.Linear(4, 2), "a": nn.PReLU()}), none=nn.ModuleDict(), list=nn.ModuleList()
            ),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "ParameterList",
        *held(
            "h.scales = nn.ParameterList{torch.ones(2, 3), nn.Parameter(torch.zeros(4)), 'text', "
            "3} h.one = nn.ParameterList{torch.ones(1)}",
            lambda: Holder(
                scales=nn.ParameterList([torch.ones(2, 3), nn.Parameter(torch.zeros(4)), "text", 3]),
                one=nn.ParameterList([torch.ones(1)]),
            ),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "ParameterDict",
        *held(
            "h.p = nn.ParameterDict{{'left', torch.ones(2)}, {'a', nn.Parameter(torch.zeros(4, 1))}}",
            lambda: Holder(p=nn.ParameterDict([("left", torch.ones(2)), ("a", nn.Parameter(torch.zeros(4, 1)))])),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "Buffers",
        *held(
            "h.body = nn.Linear(4, 2) h:register_buffer('kept', torch.ones(3)) h:register_buffer('cache', "
            "torch.ones(2), {persistent = false}) h.made = nn.Buffer(torch.zeros(1)) "
            "h:register_parameter('absent', nil) h:register_module('nothing', nil)",
            lambda: (
                lambda h: (
                    h.register_buffer("kept", torch.ones(3)),
                    h.register_buffer("cache", torch.ones(2), persistent=False),
                    setattr(h, "made", nn.Buffer(torch.zeros(1))),
                    h.register_parameter("absent", None),
                    h.register_module("nothing", None),
                    h,
                )[-1]
            )(Holder(body=nn.Linear(4, 2))),
        ),
        [ROWS],
    ),
]


def written_in_pairs():
    h = Holder(kept=torch.ones(1))
    h.first, h.body = nn.Linear(4, 2), nn.Linear(4, 3)
    h.scale, h.norm, h.shift = nn.Parameter(torch.ones(2)), nn.BatchNorm1d(3), nn.Parameter(torch.zeros(3))
    return h


CONTAINERS += [
    built(
        "fields_of_one_assignment",
        *held(
            "h.kept = torch.ones(1) h.first, h.body = nn.Linear(4, 2), nn.Linear(4, 3) "
            "h.scale, h.norm, h.shift = nn.Parameter(torch.ones(2)), nn.BatchNorm1d(3), nn.Parameter(torch.zeros(3))",
            written_in_pairs,
        ),
        [ROWS],
        call=SUM,
    )
]


def pruned(*calls):
    """Returns the case of a layer after calls of torch.nn.utils.prune."""

    def make():
        layer = nn.Linear(4, 6)
        for call in calls:
            call(layer)
        return layer

    return make


def scores():
    return torch.arange(24.0).reshape(6, 4)


PRUNED = [
    ("identity", "prune.identity(m, 'bias')", pruned(lambda m: prune.identity(m, "bias"))),
    (
        "random",
        "prune.random_unstructured(m, 'weight', 0.4)",
        pruned(lambda m: prune.random_unstructured(m, "weight", 0.4)),
    ),
    ("l1", "prune.l1_unstructured(m, 'weight', 0.3)", pruned(lambda m: prune.l1_unstructured(m, "weight", 0.3))),
    (
        "l1_scores",
        "prune.l1_unstructured(m, 'weight', 5, {importance_scores = torch.arange(24):float():view(6, 4)})",
        pruned(lambda m: prune.l1_unstructured(m, "weight", 5, importance_scores=scores())),
    ),
    (
        "random_channels",
        "prune.random_structured(m, 'weight', 2, 0)",
        pruned(lambda m: prune.random_structured(m, "weight", 2, 0)),
    ),
    (
        "ln_channels",
        "prune.ln_structured(m, 'weight', 0.5, 2, 1)",
        pruned(lambda m: prune.ln_structured(m, "weight", 0.5, 2, 1)),
    ),
    (
        "twice",
        "prune.l1_unstructured(m, 'weight', 0.25) prune.l1_unstructured(m, 'weight', 4)",
        pruned(lambda m: prune.l1_unstructured(m, "weight", 0.25), lambda m: prune.l1_unstructured(m, "weight", 4)),
    ),
    (
        "mixed",
        (
            "prune.ln_structured(m, 'weight', 2, 1, 0) prune.random_unstructured(m, 'weight', 3) "
            "prune.ln_structured(m, 'weight', 1, 2, -1)"
        ),
        pruned(
            lambda m: prune.ln_structured(m, "weight", 2, 1, 0),
            lambda m: prune.random_unstructured(m, "weight", 3),
            lambda m: prune.ln_structured(m, "weight", 1, 2, -1),
        ),
    ),
    (
        "mask",
        "prune.custom_from_mask(m, 'bias', torch.tensor{1, 0, 1, 1, 0, 1})",
        pruned(lambda m: prune.custom_from_mask(m, "bias", torch.tensor([1, 0, 1, 1, 0, 1]))),
    ),
    (
        "global",
        "prune.global_unstructured({{m, 'weight'}, {m, 'bias'}}, prune.L1Unstructured, {amount = 0.5})",
        pruned(lambda m: prune.global_unstructured([(m, "weight"), (m, "bias")], prune.L1Unstructured, amount=0.5)),
    ),
    (
        "removed",
        "prune.remove(prune.l1_unstructured(m, 'weight', 7), 'weight')",
        pruned(lambda m: prune.remove(prune.l1_unstructured(m, "weight", 7), "weight")),
    ),
]

UTILITIES = [
    built(
        "weight_norm_hook",
        "nn.utils.weight_norm(nn.Linear(4, 3))",
        lambda: nn.utils.weight_norm(nn.Linear(4, 3)),
        [ROWS],
    ),
    built(
        "weight_norm_hook_whole",
        "nn.utils.weight_norm(nn.Conv1d(4, 3, 2), {dim = -1})",
        lambda: nn.utils.weight_norm(nn.Conv1d(4, 3, 2), dim=None),
        [X1],
    ),
    built(
        "weight_norm_removed",
        "nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(4, 3)))",
        lambda: nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(4, 3))),
        [ROWS],
    ),
    built(
        "spectral_norm_hook",
        "nn.utils.spectral_norm(nn.Linear(4, 3), {n_power_iterations = 2})",
        lambda: nn.utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=2),
        [ROWS],
    ),
    built(
        "spectral_norm_hook_transposed",
        "nn.utils.spectral_norm(nn.ConvTranspose1d(4, 3, 2))",
        lambda: nn.utils.spectral_norm(nn.ConvTranspose1d(4, 3, 2)),
        [X1],
    ),
    built(
        "spectral_norm_removed",
        "nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(4, 3)))",
        lambda: nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(4, 3))),
        [ROWS],
    ),
    built(
        "weight_norm",
        "nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))",
        lambda: parametrizations.weight_norm(nn.Linear(4, 3)),
        [ROWS],
    ),
    built(
        "spectral_norm",
        "nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))",
        lambda: parametrizations.spectral_norm(nn.Linear(4, 3)),
        [ROWS],
    ),
    built(
        "spectral_norm_transposed",
        "nn.utils.parametrizations.spectral_norm(nn.ConvTranspose2d(4, 3, 2), {n_power_iterations = 3})",
        lambda: parametrizations.spectral_norm(nn.ConvTranspose2d(4, 3, 2), n_power_iterations=3),
        [X2],
    ),
    built(
        "orthogonal",
        "nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))",
        lambda: parametrizations.orthogonal(nn.Linear(4, 4)),
        [ROWS],
        init=False,
    ),
    built(
        "orthogonal_cayley",
        "nn.utils.parametrizations.orthogonal(nn.Linear(4, 4), {orthogonal_map = 'cayley'})",
        lambda: parametrizations.orthogonal(nn.Linear(4, 4), orthogonal_map="cayley"),
        [ROWS],
        init=False,
    ),
    built(
        "orthogonal_matrix_exp_wide",
        "nn.utils.parametrizations.orthogonal(nn.Linear(4, 3), {orthogonal_map = 'matrix_exp', use_trivialization = false})",
        lambda: parametrizations.orthogonal(nn.Linear(4, 3), orthogonal_map="matrix_exp", use_trivialization=False),
        [ROWS],
    ),
    built(
        "orthogonal_householder",
        "nn.utils.parametrizations.orthogonal(nn.Linear(4, 3), {use_trivialization = false})",
        lambda: parametrizations.orthogonal(nn.Linear(4, 3), use_trivialization=False),
        [ROWS],
        init=False,
    ),
    *[
        built(
            f"prune_{name}",
            f"(function() local prune, m = nn.utils.prune, nn.Linear(4, 6) {lua} return m end)()",
            python,
            [ROWS],
        )
        for name, lua, python in PRUNED
    ],
    built(
        "fuse_conv_bn_eval",
        "nn.utils.fuse_conv_bn_eval(nn.Conv2d(4, 3, 2, {bias = false}):eval(), nn.BatchNorm2d(3):eval())",
        lambda: nn.utils.fuse_conv_bn_eval(nn.Conv2d(4, 3, 2, bias=False).eval(), nn.BatchNorm2d(3).eval()),
        [X2],
    ),
    built(
        "fuse_linear_bn_eval",
        "nn.utils.fuse_linear_bn_eval(nn.Linear(4, 3):eval(), nn.BatchNorm1d(3):eval())",
        lambda: nn.utils.fuse_linear_bn_eval(nn.Linear(4, 3).eval(), nn.BatchNorm1d(3).eval()),
        [ROWS],
    ),
    built(
        "deepcopy",
        "nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)):deepcopy()",
        lambda: __import__("copy").deepcopy(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2))),
        [ROWS],
    ),
    built(
        "double",
        "nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)):double()",
        lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)).double(),
        [T(3, 4, dtype="float64")],
    ),
]

CASES = [
    *LINEAR,
    *CONVOLUTIONS,
    *POOLING,
    *PADDING,
    *ACTIVATIONS,
    *DROPOUTS,
    *NORMALIZATION,
    *EMBEDDINGS,
    *VISION,
    *LOSSES,
    *RECURRENT,
    *ATTENTION,
    *CONTAINERS,
    *UTILITIES,
]
