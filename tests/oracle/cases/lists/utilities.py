"""torch.nn.utils on modules: pruning, parametrizations, fusion."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from cases.lists.inputs import ROWS, X1, X2
from cases.lists.tables import built
from harness import T


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
