"""Cases of torch.distributions: the objects, and all probes of each kind of object."""

import torch
from torch import distributions

from harness import answer
from harness.case import Case
from harness.fill import T
from harness.lua_text import key, lua


class Made:
    """A call of a class of torch.distributions, or a named object in it, as Lua text and as a Python value."""

    def __init__(self, path, args=None, kwargs=None):
        self.path, self.args, self.kwargs = path, args, kwargs or {}

    def __call__(self, *args, **kwargs):
        return Made(self.path, args, kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Field(self, name) if self.args is not None else Made(f"{self.path}.{name}")

    def lua(self, inputs):
        if self.args is None:
            return "torch." + self.path
        parts = [text(item, inputs) for item in self.args]
        if self.kwargs:
            parts.append("{" + ", ".join(f"{key(n)} = {text(v, inputs)}" for n, v in self.kwargs.items()) + "}")
        return f"torch.{self.path}({', '.join(parts)})"

    def python(self, inputs, found):
        value = torch
        for name in self.path.split("."):
            value = getattr(value, name)
        if self.args is None:
            return value
        return value(
            *[made(item, inputs, found) for item in self.args],
            **{name: made(item, inputs, found) for name, item in self.kwargs.items()},
        )


class Field(Made):
    """A field of an object, such as transform.inv."""

    def __init__(self, owner, name):
        super().__init__(name, ())
        self.owner = owner

    def lua(self, inputs):
        return f"{self.owner.lua(inputs)}.{self.path}"

    def python(self, inputs, found):
        return getattr(self.owner.python(inputs, found), self.path)


def place(value, inputs):
    """Returns the number of an input; adds the input if it is new."""
    for i, other in enumerate(inputs):
        if other is value:
            return i
    inputs.append(value)
    return len(inputs) - 1


def text(value, inputs):
    if isinstance(value, Made):
        return value.lua(inputs)
    if isinstance(value, T):
        return f"x{place(value, inputs) + 1}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(text(item, inputs) for item in value) + "}"
    return lua(value)


def made(value, inputs, found):
    if isinstance(value, Made):
        return value.python(inputs, found)
    if isinstance(value, T):
        return found[place(value, inputs)]
    if isinstance(value, (list, tuple)):
        return type(value)(made(item, inputs, found) for item in value)
    return value


def sizes(shape):
    return ",".join(map(str, shape))


def value_at(probs, d):
    """Returns probabilities for icdf."""
    return T(2, *d.batch_shape, *d.event_shape, fill="unit", seed=700).tensor().to(probs.dtype)


def expanded(d):
    e = d.expand((2, *d.batch_shape))
    return [repr(e), sizes(e.batch_shape), sizes(e.event_shape), e.sample(), e.log_prob(e.sample((2,)))]


# harness/distribution.lua has the same table.
DISTRIBUTION = {
    "print": repr,
    "fields": lambda d: [sizes(d.batch_shape), sizes(d.event_shape), d.has_rsample, d.has_enumerate_support],
    "support": lambda d: repr(d.support),
    "mean": lambda d: d.mean,
    "mode": lambda d: d.mode,
    "variance": lambda d: d.variance,
    "stddev": lambda d: d.stddev,
    "entropy": lambda d: d.entropy(),
    "perplexity": lambda d: d.perplexity(),
    "sample": lambda d: [d.sample(), d.sample((2, 3)), torch.rand(2)],
    "rsample": lambda d: d.rsample((2,)),
    "log_prob": lambda d: d.log_prob(d.sample((2,))),
    "cdf": lambda d: d.cdf(d.sample((2,))),
    "icdf": lambda d: d.icdf(value_at(d.sample(), d)),
    "enumerate_support": lambda d: [d.enumerate_support(), d.enumerate_support(False)],
    "expand": expanded,
}


def transformed(pair):
    t, x = pair
    y = t(x)
    return [y, t.inv(y), t.log_abs_det_jacobian(x, y)]


def cached(pair):
    t, x = pair
    t = t.with_cache(1)
    y = t(x)
    return [t(x) is y, t.inv(y) is x, t.with_cache(1) is t, t.inv.inv is t]


TRANSFORM = {
    "print": lambda pair: repr(pair[0]),
    "inverse_print": lambda pair: repr(pair[0].inv),
    "domain": lambda pair: [repr(pair[0].domain), repr(pair[0].codomain)],
    "bijective": lambda pair: pair[0].bijective,
    "event_dim": lambda pair: pair[0].event_dim,
    "sign": lambda pair: pair[0].sign,
    "inverse_sign": lambda pair: pair[0].inv.sign,
    "shapes": lambda pair: [
        sizes(pair[0].forward_shape(pair[1].shape)),
        sizes(pair[0].inverse_shape(pair[0](pair[1]).shape)),
    ],
    "call": lambda pair: pair[0](pair[1]),
    "inverse": lambda pair: pair[0].inv(pair[0](pair[1])),
    "transformed": transformed,
    "cached": cached,
}
CONSTRAINT = {
    "print": lambda pair: repr(pair[0]),
    "fields": lambda pair: [pair[0].is_discrete, pair[0].event_dim],
    "check": lambda pair: pair[0].check(pair[1]),
}
DIVERGENCE = {"divergence": lambda pair: distributions.kl_divergence(*pair)}
KINDS = {"distribution": DISTRIBUTION, "transform": TRANSFORM, "constraint": CONSTRAINT, "divergence": DIVERGENCE}


class Probed(Case):
    """One object of torch.distributions, or two, and the answers to all probes of its kind."""

    def __init__(self, name, kind, subject, options):
        self.kind, self.subject, self.inputs_of = kind, subject, []
        text([subject, options.pop("call", ())], self.inputs_of)
        super().__init__(name, self.inputs_of, {}, options)
        self.lua_text = text(subject, self.inputs_of)

    def answer(self, probe):
        torch.manual_seed(0)
        args, _, wanted = self.inputs()
        try:
            results = answer.flatten(probe(made(self.subject, self.inputs_of, args)))
        except NotImplementedError:
            return "'unsupported'"
        except Exception:
            return "'fails'"
        out = f"want={{{','.join(map(answer.text, results))}}}"
        outputs = [(k, r) for k, r in enumerate(results, 1) if isinstance(r, torch.Tensor) and r.requires_grad]
        if outputs and wanted:
            cotangents = [
                T(*r.shape, dtype=str(r.dtype).removeprefix("torch."), fill="real", seed=900 + k).tensor()
                for k, r in outputs
            ]
            try:
                grads = torch.autograd.grad([r for _, r in outputs], wanted, cotangents, allow_unused=True)
                out += f",grads={{{','.join(map(answer.text, grads))}}}"
            except RuntimeError:
                out += ",grads='fails'"
        return "{" + out + "}"

    def line(self):
        fields = {"name": self.name, "kind": self.kind, "code": self.lua_text}
        if self.tolerance:
            fields["tol"] = list(self.tolerance)
        head = ",".join(f"{name}={lua(value)}" for name, value in fields.items())
        args = ",".join([f"n={len(self.args)}"] + [lua(item) for item in self.args])
        answers = ",".join(f"{name}={self.answer(probe)}" for name, probe in KINDS[self.kind].items())
        return f"{{{head},args={{{args}}},answers={{{answers}}}}}"


class Refused(Probed):
    """A call that fails. rtrain's error must contain the first line of Python's message."""

    def __init__(self, name, subject, call, says, options):
        self.call, self.wording = call, says
        super().__init__(name, "refused", subject, {"call": call, **options})

    def line(self):
        args, _, _ = self.inputs()
        try:
            getattr(made(self.subject, self.inputs_of, args), self.call[0])(
                *made(self.call[1:], self.inputs_of, args)
            ) if self.call else made(self.subject, self.inputs_of, args)
        except Exception as e:
            says = self.wording or str(e).split("\n")[0]
        else:
            raise AssertionError(f"{self.name}: Python does not fail")
        args = ",".join([f"n={len(self.args)}"] + [lua(item) for item in self.args])
        return (
            f"{{name={lua(self.name)},kind='refused',code={lua(self.lua_text)},"
            f"call={lua(self.call_text())},args={{{args}}},says={lua(says)}}}"
        )

    def call_text(self):
        if not self.call:
            return ""
        return f":{self.call[0]}({', '.join(text(item, self.inputs_of) for item in self.call[1:])})"


class Space:
    """A namespace: d.Normal(…) is a Made; so are t.ExpTransform() and c.positive."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):
        return Made(f"{self.path}.{name}")


d = Space("distributions")
t = Space("distributions.transforms")
c = Space("distributions.constraints")


def distribution(subject, _=None):
    options = dict(_ or {})
    return Probed(options.pop("name", subject.path.split(".")[-1]), "distribution", subject, options)


def transform(subject, x, _=None):
    options = dict(_ or {})
    name = options.pop("name", subject.path.split(".")[-1])
    return Probed(name, "transform", (subject, x), options)


def constraint(subject, x, _=None):
    options = dict(_ or {})
    name = options.pop("name", subject.path.split(".")[-1])
    return Probed(name, "constraint", (subject, x), {"grad": False, **options})


def divergence(p, q, _=None):
    name = f"{p.path.split('.')[-1]}_{q.path.split('.')[-1]}"
    return Probed(name, "divergence", (p, q), dict(_ or {}))


def refused(subject, *call, says=None, _=None):
    """Returns the case of a failing constructor or method call; `says` is rtrain's text if it differs from Python's."""
    return Refused(subject.path.split(".")[-1], subject, call, says, dict(_ or {}))
