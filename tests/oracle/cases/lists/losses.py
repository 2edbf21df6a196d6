"""Losses as modules."""

import torch
from torch import nn

from cases.lists.inputs import ROWS, indices
from cases.lists.tables import built
from harness import T, module

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
