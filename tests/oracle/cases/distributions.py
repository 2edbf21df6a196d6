"""torch.distributions: every family, transform, constraint and divergence, and their errors."""

import itertools

from torch.distributions import kl

from harness import T
from harness.distribution import c, constraint, d, distribution, divergence, refused, t, transform


def pos(*shape, **options):
    return T(*shape, fill="positive", **options)


def unit(*shape, **options):
    return T(*shape, fill="unit", **options)


def double(*shape, fill="real", **options):
    return T(*shape, fill=fill, dtype="float64", **options)


def above(*shape, **options):
    return T(*shape, fill="above_one", **options)


LOOSE = {"tol": (1e-4, 1e-5)}  # sums of float32 numbers that nearly cancel each other
WIDE = {"tol": (1e-3, 1e-4)}

FAMILIES = [
    distribution(d.Bernoulli(unit(3))),
    distribution(d.Bernoulli(logits=T(2, 3))),
    distribution(d.Bernoulli(0.3)),
    distribution(d.Beta(above(3), pos(2, 1)), LOOSE),
    distribution(d.Beta(2, 3.5), LOOSE),
    distribution(d.Beta(double(2, fill="above_one"), double(2, fill="above_one"))),
    distribution(d.Binomial(10, unit(2, 3)), LOOSE),
    distribution(d.Binomial(4, logits=T(3)), LOOSE),
    distribution(d.Binomial(T(3, fill="natural"), unit(3)), LOOSE),
    distribution(d.Categorical(pos(2, 4))),
    distribution(d.Categorical(logits=T(5))),
    distribution(d.Categorical(logits=double(2, 3, 4))),
    distribution(d.Cauchy(T(3), pos(3)), WIDE),
    distribution(d.Cauchy(0, 2), LOOSE),
    distribution(d.Chi2(above(3)), LOOSE),
    distribution(d.Chi2(4), LOOSE),
    distribution(d.ContinuousBernoulli(unit(4)), WIDE),
    distribution(d.ContinuousBernoulli(0.5), LOOSE),
    distribution(d.ContinuousBernoulli(logits=double(3)), LOOSE),
    distribution(d.Dirichlet(above(2, 3)), LOOSE),
    distribution(d.Dirichlet(double(4, fill="positive"))),
    distribution(d.Exponential(pos(2, 3))),
    distribution(d.Exponential(2)),
    distribution(d.FisherSnedecor(above(3), above(2, 3)), WIDE),
    distribution(d.FisherSnedecor(3, 5), LOOSE),
    distribution(d.Gamma(pos(3), pos(2, 3)), WIDE),
    distribution(d.Gamma(2, 0.5), LOOSE),
    distribution(d.Gamma(double(3, fill="above_one"), 2)),
    distribution(d.GeneralizedPareto(T(3), pos(3), unit(3)), WIDE),
    distribution(d.GeneralizedPareto(0, 1, 0), LOOSE),
    distribution(d.GeneralizedPareto(T(2), pos(2), T(2, fill="signed_unit")), WIDE),
    distribution(d.Geometric(unit(3)), LOOSE),
    distribution(d.Geometric(logits=T(2, 2)), LOOSE),
    distribution(d.Gumbel(T(3), pos(3)), WIDE),
    distribution(d.Gumbel(1, 2), LOOSE),
    distribution(d.HalfCauchy(pos(3)), WIDE),
    distribution(d.HalfCauchy(1), LOOSE),
    distribution(d.HalfNormal(pos(2, 3)), LOOSE),
    distribution(d.HalfNormal(2), LOOSE),
    distribution(d.Independent(d.Normal(T(2, 3), pos(2, 3)), 1), LOOSE),
    distribution(d.Independent(d.Bernoulli(unit(2, 3)), 2)),
    distribution(d.Independent(d.Bernoulli(unit(3)), 0)),
    distribution(d.InverseGamma(above(3), pos(3)), WIDE),
    distribution(d.InverseGamma(3, 2), LOOSE),
    distribution(d.Kumaraswamy(above(3), above(3)), WIDE),
    distribution(d.Kumaraswamy(double(2, fill="above_one"), double(2, fill="above_one")), LOOSE),
    distribution(d.Laplace(T(3), pos(3)), LOOSE),
    distribution(d.Laplace(0, 1), LOOSE),
    distribution(d.LKJCholesky(3, 0.5), LOOSE),
    distribution(d.LKJCholesky(2, pos(2)), WIDE),
    distribution(d.LogNormal(T(3), unit(3)), WIDE),
    distribution(d.LogNormal(0, 1), LOOSE),
    distribution(d.LogisticNormal(T(3), pos(3)), WIDE),
    distribution(d.LogisticNormal(double(2, 2), double(2, 2, fill="positive")), LOOSE),
    distribution(d.LowRankMultivariateNormal(T(3), T(3, 2), pos(3)), WIDE),
    distribution(d.LowRankMultivariateNormal(double(2, 3), double(3, 1), double(3, fill="positive"))),
    distribution(d.MixtureSameFamily(d.Categorical(pos(3)), d.Normal(T(3), pos(3))), LOOSE),
    distribution(d.MixtureSameFamily(d.Categorical(pos(2, 3)), d.Exponential(pos(2, 3))), LOOSE),
    distribution(d.MixtureSameFamily(d.Categorical(pos(3)), d.Independent(d.Normal(T(3, 2), pos(3, 2)), 1)), LOOSE),
    distribution(d.Multinomial(5, pos(2, 3)), LOOSE),
    distribution(d.Multinomial(3, logits=T(4)), LOOSE),
    distribution(d.MultivariateNormal(T(3), T(3, 3, fill="spd")), LOOSE),
    distribution(d.MultivariateNormal(T(2, 3), precision_matrix=T(3, 3, fill="spd")), LOOSE),
    distribution(d.MultivariateNormal(double(3), scale_tril=double(2, 3, 3, fill="lower"))),
    distribution(d.NegativeBinomial(5, unit(3)), WIDE),
    distribution(d.NegativeBinomial(T(2, fill="natural"), logits=T(2)), WIDE),
    distribution(d.Normal(T(3), pos(2, 3)), LOOSE),
    distribution(d.Normal(0, 1), LOOSE),
    distribution(d.Normal(double(2, 3), 0.5)),
    distribution(d.Normal(loc=T(3), scale=pos(3), validate_args=False), LOOSE),
    distribution(d.OneHotCategorical(pos(2, 4))),
    distribution(d.OneHotCategorical(logits=T(3))),
    distribution(d.OneHotCategoricalStraightThrough(pos(2, 4))),
    distribution(d.OneHotCategoricalStraightThrough(logits=T(3))),
    distribution(d.Pareto(pos(3), above(3)), WIDE),
    distribution(d.Pareto(1, 3), LOOSE),
    distribution(d.Poisson(pos(3)), LOOSE),
    distribution(d.Poisson(4), LOOSE),
    distribution(d.RelaxedBernoulli(pos(), unit(3)), WIDE),
    distribution(d.RelaxedBernoulli(pos(3), logits=T(2, 3)), WIDE),
    distribution(d.RelaxedOneHotCategorical(pos(), pos(2, 3)), WIDE),
    distribution(d.RelaxedOneHotCategorical(double(fill="above_one"), logits=double(3)), LOOSE),
    distribution(d.StudentT(above(3)), LOOSE),
    distribution(d.StudentT(5, T(2), pos(2)), LOOSE),
    distribution(d.TransformedDistribution(d.Normal(T(3), pos(3)), [t.ExpTransform(), t.AffineTransform(1, 2)]), WIDE),
    distribution(
        d.TransformedDistribution(d.Uniform(T(2, 2, fill="zeros"), T(2, 2, fill="ones")), t.SigmoidTransform().inv),
        LOOSE,
    ),
    distribution(d.TransformedDistribution(d.Normal(0, 1), t.AffineTransform(T(3), -2.5)), LOOSE),
    distribution(d.TransformedDistribution(d.Normal(T(2, 3), pos(2, 3)), t.StickBreakingTransform()), WIDE),
    distribution(
        d.TransformedDistribution(d.Independent(d.Normal(T(4), pos(4)), 1), t.ReshapeTransform((4,), (2, 2))), LOOSE
    ),
    distribution(
        d.TransformedDistribution(
            d.MultivariateNormal(T(2), T(2, 2, fill="spd")), [t.CumulativeDistributionTransform(d.Normal(0, 3))]
        ),
        WIDE,
    ),
    distribution(d.Uniform(T(3, fill="zeros"), above(3)), LOOSE),
    distribution(d.Uniform(-1, 1)),
    distribution(d.VonMises(T(3), pos(2, 3)), LOOSE),
    distribution(d.VonMises(0, 5), LOOSE),
    distribution(d.Weibull(pos(3), above(3)), WIDE),
    distribution(d.Weibull(1, 2), LOOSE),
    distribution(d.Wishart(T(fill="natural", seed=4), T(2, 2, fill="spd")), WIDE),
    distribution(d.Wishart(double(2, fill="above_one"), scale_tril=double(2, 2, fill="lower")), LOOSE),
    distribution(d.Wishart(5, precision_matrix=double(3, 3, fill="spd")), LOOSE),
]

TRANSFORMS = [
    transform(t.AbsTransform(), T(3)),
    transform(t.AffineTransform(1, -2), T(2, 3)),
    transform(t.AffineTransform(T(3), pos(3), event_dim=1), T(2, 3)),
    transform(t.CatTransform([t.ExpTransform(), t.AffineTransform(1, 2)], dim=0, lengths=[2, 3]), T(5)),
    transform(t.CatTransform([t.ExpTransform(), t.TanhTransform()]), T(2, 2)),
    transform(t.ComposeTransform([t.AffineTransform(0, 0.5), t.TanhTransform()]), T(3)),
    transform(t.ComposeTransform([t.ExpTransform(), t.StickBreakingTransform()]), T(2, 3), LOOSE),
    transform(t.ComposeTransform([]), T(3)),
    transform(t.CorrCholeskyTransform(), T(2, 6), WIDE),
    transform(t.CumulativeDistributionTransform(d.Normal(0, 1)), T(3), LOOSE),
    transform(t.ExpTransform(), T(3)),
    transform(t.ExpTransform().inv, pos(3)),
    transform(t.IndependentTransform(t.ExpTransform(), 1), T(2, 3)),
    transform(t.LowerCholeskyTransform(), T(2, 3, 3)),
    transform(t.PositiveDefiniteTransform(), double(2, 3, 3)),
    transform(t.PowerTransform(2), pos(3)),
    transform(t.PowerTransform(pos(2, 1)), pos(3), LOOSE),
    transform(t.ReshapeTransform((2, 3), (6,)), T(4, 2, 3)),
    transform(t.SigmoidTransform(), T(3), LOOSE),
    transform(t.SoftmaxTransform(), T(2, 3)),
    transform(t.SoftplusTransform(), T(3), LOOSE),
    transform(t.StackTransform([t.ExpTransform(), t.AffineTransform(1, 2)], dim=1), T(3, 2)),
    transform(t.StackTransform([t.ExpTransform(), t.SigmoidTransform()]), T(2, 3), LOOSE),
    transform(t.StickBreakingTransform(), T(2, 3), LOOSE),
    transform(t.TanhTransform(), T(3), LOOSE),
    transform(t.identity_transform, T(3)),
]

MATRICES = [T(2, 3, 3, fill="spd"), T(2, 3, 3, fill="lower"), T(2, 3, 3, fill="symmetric"), T(2, 3, 3), T(2, 2, 3)]
VECTORS = [T(4, fill="ties"), T(2, 3, fill="ties"), T(10, fill="special"), T(2, 3, fill="int")]
CONSTRAINTS = [
    constraint(make, x)
    for make, x in itertools.chain(
        itertools.product(
            [
                c.boolean,
                c.nonnegative,
                c.nonnegative_integer,
                c.positive,
                c.positive_integer,
                c.real,
                c.one_hot,
                c.unit_interval,
                c.real_vector,
                c.simplex,
                c.greater_than(0.5),
                c.greater_than_eq(0.5),
                c.less_than(0.5),
                c.interval(-0.5, 0.5),
                c.half_open_interval(-0.5, 0.5),
                c.integer_interval(0, 1),
                c.multinomial(2),
                c.independent(c.positive, 1),
                c.MixtureSameFamilyConstraint(c.positive),
                c.cat([c.positive, c.boolean], lengths=[1, 1]),
                c.stack([c.positive, c.boolean]),
            ],
            VECTORS[:3],
        ),
        itertools.product(
            [
                c.square,
                c.symmetric,
                c.positive_definite,
                c.positive_semidefinite,
                c.lower_triangular,
                c.lower_cholesky,
                c.corr_cholesky,
            ],
            MATRICES,
        ),
        [
            (c.simplex, T(2, 4, fill="special")),
            (c.less_than(T(3)), T(2, 3)),
            (c.dependent, T(2)),
            (c.dependent(event_dim=1), T(2)),
            (c.integer_interval(0, T(3, fill="natural")), T(2, 3, fill="int")),
        ],
    )
]

REGISTRIES = [
    transform(registry(of), x, {"name": f"{registry.path.split('.')[-1]}_{of.path.split('.')[-1]}", **LOOSE})
    for of, x in [
        (c.real, T(3)),
        (c.positive, T(3)),
        (c.nonnegative, T(3)),
        (c.greater_than(2.5), T(3)),
        (c.greater_than_eq(-1.5), T(3)),
        (c.less_than(0.5), T(3)),
        (c.unit_interval, T(3)),
        (c.interval(-2.5, 0.5), T(3)),
        (c.half_open_interval(0.5, 2.5), T(3)),
        (c.simplex, T(2, 3)),
        (c.corr_cholesky, T(3)),
        (c.real_vector, T(2, 3)),
        (c.cat([c.positive, c.unit_interval], dim=0, lengths=[2, 1]), T(3)),
        (c.stack([c.positive, c.real]), T(2, 3)),
        (c.independent(c.positive, 1), T(2, 3)),
    ]
    for registry in (d.biject_to, d.transform_to)
] + [
    transform(d.transform_to(of), double(3, 3), {"name": f"transform_to_{of.path.split('.')[-1]}"})
    for of in (c.lower_cholesky, c.positive_definite, c.positive_semidefinite)
]

# Two distributions of each family for which some divergence is defined; the second one has other parameters.
PAIRS = {
    "Bernoulli": lambda: d.Bernoulli(double(4, fill="unit")),
    "Beta": lambda: d.Beta(double(4, fill="above_one"), double(4, fill="positive")),
    "Binomial": lambda: d.Binomial(30, double(4, fill="unit")),
    "Categorical": lambda: d.Categorical(double(2, 4, fill="positive")),
    "Cauchy": lambda: d.Cauchy(double(4), double(4, fill="positive")),
    "ContinuousBernoulli": lambda: d.ContinuousBernoulli(double(4, fill="unit")),
    "Dirichlet": lambda: d.Dirichlet(double(2, 4, fill="positive")),
    "Exponential": lambda: d.Exponential(double(4, fill="positive")),
    "ExponentialFamily": lambda: d.Chi2(double(4, fill="positive")),
    "Gamma": lambda: d.Gamma(double(4, fill="positive"), double(4, fill="positive")),
    "Geometric": lambda: d.Geometric(double(4, fill="unit")),
    "Gumbel": lambda: d.Gumbel(double(4), double(4, fill="above_one")),
    "HalfNormal": lambda: d.HalfNormal(double(4, fill="positive")),
    "Independent": lambda: d.Independent(d.Normal(double(2, 3), double(2, 3, fill="positive")), 1),
    "Laplace": lambda: d.Laplace(double(4), double(4, fill="positive")),
    "LowRankMultivariateNormal": lambda: d.LowRankMultivariateNormal(
        double(2, 3), double(3, 2), double(3, fill="positive")
    ),
    "MultivariateNormal": lambda: d.MultivariateNormal(double(3), double(2, 3, 3, fill="spd")),
    "Normal": lambda: d.Normal(double(4), double(4, fill="positive")),
    "OneHotCategorical": lambda: d.OneHotCategorical(double(2, 4, fill="positive")),
    "Pareto": lambda: d.Pareto(double(4, fill="positive"), double(4, fill="above_one")),
    "Poisson": lambda: d.Poisson(double(4, fill="positive")),
    "TransformedDistribution": lambda: d.TransformedDistribution(
        d.Normal(double(4), double(4, fill="positive")), [t.ExpTransform(), t.AffineTransform(1, 2)]
    ),
    "Uniform": lambda: d.Uniform(double(4, fill="unit"), double(4, fill="above_one")),
}
DIVERGENCES = [
    divergence(PAIRS[p.__name__](), PAIRS[q.__name__]())
    for p, q in sorted(kl._KL_REGISTRY, key=lambda pair: (pair[0].__name__, pair[1].__name__))
] + [
    divergence(d.Normal(0, 1), d.Bernoulli(0.5)),
    divergence(d.LogNormal(T(3), pos(3)), d.LogNormal(T(3), pos(3)), LOOSE),
    divergence(d.LogNormal(T(3), pos(3)), d.Weibull(pos(3), pos(3))),
    divergence(d.Poisson(double(2, fill="positive")), d.Normal(0, 1)),
    divergence(d.Bernoulli(T(2, fill="zeros")), d.Bernoulli(T(2, fill="ones"))),
    divergence(d.Binomial(3, unit(2)), d.Binomial(5, unit(2))),
    divergence(d.MultivariateNormal(T(2), T(2, 2, fill="spd")), d.MultivariateNormal(T(3), T(3, 3, fill="spd"))),
    divergence(d.Uniform(0, 1), d.Uniform(0.25, 2)),
]

REFUSED = [
    refused(d.Normal(T(3), T(3, fill="zeros"))),
    refused(d.Normal(0, -1)),
    refused(d.Normal(T(2), pos(2)), "log_prob", T(3)),
    refused(d.Normal(T(10, fill="special"), 1)),
    refused(d.Bernoulli(T(2, fill="above_one"))),
    refused(d.Bernoulli()),
    refused(d.Bernoulli(0.5), "log_prob", T(2)),
    refused(d.Bernoulli(unit(2), unit(2))),
    refused(d.Beta(T(2, fill="zeros"), 1)),
    refused(d.Binomial(5, unit(2)), "log_prob", T(2, fill="above_one")),
    refused(d.Binomial(T(2, fill="natural"), unit(2)), "entropy"),
    refused(d.Binomial(T(2, fill="natural"), unit(2)), "enumerate_support"),
    refused(d.Categorical(T())),
    refused(d.Categorical(logits=T())),
    refused(d.Categorical(T(2, 3, fill="zeros"))),
    refused(d.Categorical(pos(2, 3)), "log_prob", T(2, fill="natural", seed=3)),
    refused(d.ContinuousBernoulli(T(2, fill="above_one"), validate_args=True)),
    refused(d.Dirichlet(T())),
    refused(d.Dirichlet(pos(3)), "log_prob", T(3, fill="ones")),
    refused(d.Dirichlet(pos(3)), "log_prob", unit(4)),
    refused(d.Exponential(pos(2)), "log_prob", T(2)),
    refused(d.Geometric(T(2, fill="zeros"))),
    refused(d.Independent(d.Normal(T(3), pos(3)), 2)),
    refused(d.LKJCholesky(1)),
    refused(d.LowRankMultivariateNormal(T(3), T(2, 1), pos(3))),
    refused(d.LowRankMultivariateNormal(T(3), T(3, 1), pos(2))),
    refused(d.LowRankMultivariateNormal(T(2, 3), T(4, 3, 1), pos(3))),
    refused(d.Multinomial(2, pos(3)), "log_prob", T(3, fill="above_one")),
    refused(d.MultivariateNormal(T(3))),
    refused(d.MultivariateNormal(T(3), T(3, 3, fill="spd"), T(3, 3, fill="spd"))),
    refused(d.MultivariateNormal(T(3), T(3))),
    refused(d.MultivariateNormal(T(), T(3, 3, fill="spd"))),
    refused(d.MultivariateNormal(T(3), T(3, 3))),
    refused(d.MultivariateNormal(T(3), scale_tril=T(3, 3, fill="spd"))),
    refused(d.OneHotCategorical(pos(3)), "log_prob", T(3, fill="ones")),
    refused(d.Uniform(above(2), T(2, fill="zeros"))),
    refused(d.Uniform(0, 1), "log_prob", above(2)),
    refused(d.Wishart(1, T(3, 3, fill="spd")), says="Value of df=1.0 expected to be greater than ndim - 1 = 2."),
    refused(d.TransformedDistribution(d.Normal(0, 1), t.StickBreakingTransform())),
    refused(d.TransformedDistribution(d.Normal(0, 1), 5)),
    refused(
        d.MixtureSameFamily(d.Categorical(pos(2)), d.Normal(T(3), pos(3))),
        says="`mixture_distribution component` (2) does not equal `component_distribution.batch_shape[-1]` (3)",
    ),
    refused(
        d.MixtureSameFamily(d.Normal(T(3), pos(3)), d.Normal(T(3), pos(3))),
        says="The Mixture distribution needs to be an instance of torch.distributions.Categorical",
    ),
    refused(t.ExpTransform(cache_size=2)),
    refused(t.ReshapeTransform((2,), (3,))),
    refused(
        t.ReshapeTransform((2,), (1, 2)),
        "forward_shape",
        (3,),
        says="Shape mismatch: expected torch.Size([3]) but got torch.Size([2])",
    ),
    refused(t.CorrCholeskyTransform(), "forward_shape", (2,)),
    refused(t.CorrCholeskyTransform(), "inverse_shape", (2, 3)),
    refused(t.CatTransform([t.ExpTransform()], lengths=[1, 2])),
    refused(c.dependent, "check", T(2)),
    refused(c.independent(c.positive, 3), "check", T(2)),
    refused(d.biject_to(c.square), says="Cannot transform Square constraints"),
    refused(d.kl_divergence(d.Normal(0, 1), d.Bernoulli(0.5)), says="The cross KL-divergence between different"),
    refused(d.kl_divergence(d.Normal(0, 1), d.Cauchy(0, 1))),
]

CASES = FAMILIES + TRANSFORMS + CONSTRAINTS + REGISTRIES + DIVERGENCES + REFUSED
