"""Compares train.tune's TPE sampler with Optuna's: the densities that it fits, and how well it finds minima."""

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from harness.tpe import density, search


# numpy's sort decides the order of equal values. With more than 25 values, whose weights differ, the order matters.
def spread(count, low, high):
    """Returns values in a fixed mixed order, some of them equal."""
    return [low + (high - low) * (i * 37 % 101 // 3) / 34 for i in range(count)]


def whole(values):
    return [round(value) for value in values]


AT = [-2, -1.99, -0.5, 0.3, 1, 2.9, 3]
RATES = [1e-5, 3e-4, 2e-3, 0.1, 1]

CASES = [
    *[
        density(f"uniform_{n}", "uniform(-2,3)", FloatDistribution(-2, 3), spread(n, -2, 3), AT)
        for n in (0, 1, 2, 7, 25, 26, 27, 60)
    ],
    density("uniform_equal", "uniform(-2,3)", FloatDistribution(-2, 3), [0.3] * 5, AT),
    *[
        density(
            f"loguniform_{n}",
            "loguniform(1e-5,1)",
            FloatDistribution(1e-5, 1, log=True),
            [10**x for x in spread(n, -5, 0)],
            RATES,
        )
        for n in (0, 1, 12, 40)
    ],
    *[
        density(
            f"quniform_{n}",
            "quniform(0,0.8,0.1)",
            FloatDistribution(0, 0.8, step=0.1),
            [i / 10 for i in whole(spread(n, 0, 8))],
            [0, 0.1, 0.5, 0.8],
        )
        for n in (0, 3, 20)
    ],
    *[
        density(f"randint_{n}", "randint(1,9)", IntDistribution(1, 8), whole(spread(n, 1, 8)), [1, 2, 5, 8])
        for n in (0, 1, 20)
    ],
    density(
        "qrandint",
        "qrandint(16,512,16)",
        IntDistribution(16, 512, step=16),
        [16 * i for i in whole(spread(20, 1, 32))],
        [16, 64, 256, 512],
    ),
    *[
        density(
            f"lograndint_{n}",
            "lograndint(8,513)",
            IntDistribution(8, 512, log=True),
            whole(spread(n, 8, 512)),
            [8, 9, 100, 512],
        )
        for n in (0, 20)
    ],
    *[
        density(
            f"choice_{n}",
            "choice{'a','b','c'}",
            CategoricalDistribution(["a", "b", "c"]),
            [i * i % 3 for i in range(n)],
            [0, 1, 2],
        )
        for n in (0, 1, 9, 40)
    ],
    search("branin", is_long=False),
    *[search(name) for name in ("hartmann6", "noisy", "mixed")],
]
