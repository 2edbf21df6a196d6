"""Densities of Optuna's Parzen estimator, and minima that its TPESampler finds; harness/tpe.lua does the same with
train.tune.
"""

import math
import statistics
import warnings

import numpy as np
import optuna
import torch
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters
from optuna.samplers._tpe.sampler import default_weights

from harness.case import code
from harness.lua_text import lua

PARAMETERS = _ParzenEstimatorParameters(
    prior_weight=1.0,
    consider_magic_clip=True,
    consider_endpoints=False,
    weights=default_weights,
    multivariate=False,
    categorical_distance_func={},
)


def densities(distribution, seen, at):
    estimator = _ParzenEstimator({"x": np.array(seen, dtype=float)}, {"x": distribution}, PARAMETERS)
    out = np.exp(estimator.log_pdf({"x": np.array(at, dtype=float)}))
    return torch.from_numpy(out)


def density(name, text, distribution, seen, at):
    """Returns the case of a domain: its Lua text, and Optuna's distribution."""
    lua_code = (
        f"return require('harness.tpe').densities(require('rtrain').tune.{text},{lua(list(seen))},{lua(list(at))})"
    )
    return code(name, lua_code, lambda: densities(distribution, list(seen), list(at)), {"tol": (1e-9, 1e-14)})


def branin(x1, x2):
    inner = x2 - 5.1 / (4 * math.pi**2) * x1**2 + 5 / math.pi * x1 - 6
    return inner**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x1) + 10


ALPHA = [1, 1.2, 3, 3.2]
A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
P = [
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
]


def hartmann6(**x):
    return -sum(
        alpha * math.exp(-sum(a * (x[f"x{j}"] - p * 1e-4) ** 2 for j, (a, p) in enumerate(zip(row, places), 1)))
        for alpha, row, places in zip(ALPHA, A, P)
    )


def mixed(rate, width, depth, batch, optimizer, dropout):
    return (
        1
        + math.log10(rate / 3e-3) ** 2
        + ((width - 256) / 128) ** 2
        + ((depth - 4) / 3) ** 2
        + (math.log(batch / 64) / math.log(4)) ** 2
        + {"sgd": 0, "adam": 0.3, "rmsprop": 1}[optimizer]
        + 4 * (dropout - 0.2) ** 2
    )


PLANE = {"x1": FloatDistribution(-5, 10), "x2": FloatDistribution(0, 15)}
PROBLEMS = {
    "branin": (PLANE, branin, 0),
    "noisy": (PLANE, branin, 1),
    "hartmann6": ({f"x{j}": FloatDistribution(0, 1) for j in range(1, 7)}, hartmann6, 0),
    "mixed": (
        {
            "rate": FloatDistribution(1e-5, 1, log=True),
            "width": IntDistribution(16, 512, step=16),
            "depth": IntDistribution(1, 8),
            "batch": IntDistribution(8, 512, log=True),
            "optimizer": CategoricalDistribution(["sgd", "adam", "rmsprop"]),
            "dropout": FloatDistribution(0, 0.8, step=0.1),
        },
        mixed,
        0,
    ),
}


def best_of(name, seed, num_trials=100):
    """Returns the noise-free value of the trial with the best noisy value."""
    space, function, noise = PROBLEMS[name]
    rng = np.random.RandomState(1000 + seed)
    study, values = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed)), []
    for _ in range(num_trials):
        trial = study.ask(space)
        values.append(function(**trial.params))
        study.tell(trial, values[-1] + noise * rng.randn())
    return values[study.best_trial.number]


def median_best(name, num_seeds=20):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    found = [best_of(name, seed) for seed in range(1, num_seeds + 1)]
    return torch.tensor([statistics.median(found)], dtype=torch.float64)


def search(name, is_long=True):
    """Returns the case of a function: the median over 20 seeds of the best value after 100 trials, within 5 % of
    Optuna's.
    """
    return code(
        f"search_{name}",
        f"return require('harness.tpe').median_best('{name}')",
        lambda: median_best(name),
        {"tol": (0.05, 0), "is_long": is_long},
    )
