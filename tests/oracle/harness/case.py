"""Cases: the call, its arguments, and how Python's answer is computed."""

import copy

import torch

from harness import answer
from harness.fill import T
from harness.lua_text import lua

SPACES = (("linalg_", torch.linalg), ("fft_", torch.fft), ("special_", torch.special))


def python_function(name):
    """Returns Python's function for an ATen operator, such as torch.linalg.inv for linalg_inv, or None."""
    for prefix, space in SPACES:
        if name.startswith(prefix) and hasattr(space, name[len(prefix) :]):
            return getattr(space, name[len(prefix) :])
    for space in (torch, torch._C._nn, torch.nn.functional):
        if hasattr(space, name):
            return getattr(space, name)
    return None


def tensors_of(value):
    """Returns the T of an argument, also those in lists."""
    if isinstance(value, T):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors_of(item)]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors_of(item)]
    return []


def replaced(value, found):
    if isinstance(value, T):
        return found[id(value)]
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(item, found) for item in value)
    if isinstance(value, dict):
        return {name: replaced(item, found) for name, item in value.items()}
    return value


def is_differentiable(t):
    return t.grad and t.dtype.startswith(("float", "complex", "bfloat"))


class Case:
    """One line of a golden file. `fields` are written to it unchanged."""

    def __init__(self, name, args, kwargs, options):
        self.name, self.args, self.kwargs = name, args, kwargs
        self.grad = options.pop("grad", None)  # None: if autograd gives gradients
        self.tolerance = options.pop("tol", None)  # (relative, absolute), replaces the tolerance of the dtype
        self.says = options.pop("says", None)  # the call must fail; parts of rtrain's message
        # Answers differ between builds: only shape and dtype are compared.
        self.shape_only = options.pop("shape_only", False)
        self.may_be_same = options.pop("same", True)
        # Python's answer takes long: generate.py --check recomputes it only in nightly tests.
        self.is_long = options.pop("is_long", False)
        self.fields = options
        self.tensors = []
        for t in tensors_of(list(args) + [kwargs]):
            if all(t is not other for other in self.tensors):
                self.tensors.append(t)
        for place, t in enumerate(self.tensors):
            t.seed = place + 1 if t.seed is None else t.seed

    def inputs(self):
        """Returns fresh tensors: (args, kwargs, the tensors that need a gradient)."""
        found, wanted = {}, []
        for t in self.tensors:
            found[id(t)] = t.tensor()
            if self.grad is not False and is_differentiable(t):
                wanted.append(found[id(t)].requires_grad_())
        return replaced(list(self.args), found), replaced(self.kwargs, found), wanted

    def functions(self):
        """Returns (form, function) for each way to make this call; their answers must be equal."""
        raise NotImplementedError

    def answers(self, function):
        torch.manual_seed(0)
        args, kwargs, wanted = self.inputs()
        results = answer.flatten(function(*args, **kwargs))
        out = {"want": results}
        first = args[0] if args else None
        if isinstance(first, torch.Tensor):
            if self.may_be_same and any(r is first for r in results):
                out["same"] = True
            elif (
                isinstance(results[0], torch.Tensor)
                and results[0]._base is not None
                and results[0]._base is (first if first._base is None else first._base)
            ):
                out["view"] = [results[0].storage_offset(), *results[0].stride()]
        outputs = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
        if wanted and outputs:
            seeds = [k for k, r in enumerate(results, 1) if isinstance(r, torch.Tensor) and r.requires_grad]
            cotangents = [
                T(*r.shape, dtype=str(r.dtype).removeprefix("torch."), fill="real", seed=900 + k).tensor()
                for k, r in zip(seeds, outputs)
            ]
            try:
                out["grads"] = list(torch.autograd.grad(outputs, wanted, cotangents, allow_unused=True))
            except RuntimeError as e:
                if "derivative for" not in str(e) or self.grad:
                    raise
        return out

    def answer_text(self, form, function):
        if self.says is not None:
            return self.failure_text(form, function)
        out = self.answers(function)
        parts = [f"want={{{','.join(answer.text(r, self.shape_only) for r in out['want'])}}}"]
        if "grads" in out:
            parts.append(f"grads={{{','.join(map(answer.text, out['grads']))}}}")
        parts += [f"{key}={lua(out[key])}" for key in ("same", "view") if key in out]
        return ",".join(parts)

    def failure_text(self, form, function):
        args, kwargs, _ = self.inputs()
        try:
            function(*args, **kwargs)
        except Exception:
            return f"says={lua(list(self.says))}"
        raise AssertionError(f"{self.name}: Python does not fail")

    def line(self):
        texts = {}
        for form, function in self.functions():
            try:
                texts[form] = self.answer_text(form, function)
            except AssertionError:
                raise
            except Exception as e:
                raise RuntimeError(f"{self.name} ({form}): {e}") from e
        if len(set(texts.values())) != 1:
            raise AssertionError(f"{self.name}: the forms of the call differ: {texts}")
        fields = {"name": self.name, **self.fields}
        if "m" in texts:
            fields["form"] = "".join(texts)
        if self.tolerance:
            fields["tol"] = list(self.tolerance)
        if self.shape_only:
            fields["shape_only"] = True
        head = ",".join(f"{name}={lua(value)}" for name, value in fields.items())
        args = ",".join([f"n={len(self.args)}"] + [lua(item) for item in self.args])
        keywords = f"kw={lua(self.kwargs)}," if self.kwargs else ""
        return f"{{{head},args={{{args}}},{keywords}{next(iter(texts.values()))}}}"


class Call(Case):
    """A call of an operator as a function, as a method, or both."""

    def __init__(self, op, args, kwargs, options):
        self.op = op
        self.forms = options.pop("forms", None)
        self.python = options.pop("python", None)
        self.self_place = options.get("self", 0)
        super().__init__(options.pop("name", op), args, kwargs, {"call": op, **options})
        if op.endswith("_") and self.grad is None:
            self.grad = False

    def functions(self):
        function = self.python or python_function(self.op)
        out = []
        if function is not None and "f" in (self.forms or "f"):
            out.append(("f", function))
        is_method = (
            len(self.args) > self.self_place
            and isinstance(self.args[self.self_place], T)
            and callable(getattr(torch.Tensor, self.op, None))
        )
        if is_method and not (self.python and self.forms is None) and "m" in (self.forms or "m"):
            out.append(("m", self.call_method))
        if not out:
            out.append(("f", getattr(torch.ops.aten, self.op)))
        return out

    def call_method(self, *args, **kwargs):
        args = list(args)
        object = args.pop(self.self_place)
        return getattr(object, self.op)(*args, **kwargs)


class Code(Case):
    """A piece of Lua and a Python function that do the same with named inputs."""

    def __init__(self, name, text, python, inputs, options):
        self.python = python
        if "return" not in text:
            text = "return " + text
        options = {"code": text, "names": ",".join(inputs), **options}
        options.setdefault("grad", False)
        super().__init__(name, list(inputs.values()), {}, options)

    def functions(self):
        return [("f", self.python)]


def call(op, *args, _=None, **kwargs):
    """Returns the case op(*args, **kwargs), as function and as method if Python has both.

    `_` is a table of options: name, forms ("f", "m"), self (the position of the argument whose method is called),
    python (the function, if its name differs), grad=False, tol=(relative, absolute), shape_only; same=False: it is a
    coincidence that Python returns the argument itself.
    """
    return Call(op, args, kwargs, dict(_ or {}))


def rows(table, make=None):
    """Returns the cases of {operator: [(argument, …), …]}; a dict at the end of a row holds keywords, and its "_" the
    options. Each case gets separate tensors, so a table may use one T in many rows.
    """
    out = []
    for op, calls in table.items():
        for row in calls:
            row = copy.deepcopy(row)
            kwargs = row[-1] if row and isinstance(row[-1], dict) else {}
            out.append((make or call)(op, *row[: len(row) - bool(kwargs)], **kwargs))
    return out


def wrong(op, *args, _=None, **kwargs):
    """Returns the case of a call that fails in Python too. rtrain's message must name the operator, show shape and
    dtype of each tensor, contain the texts of the option `says`, and point at the caller's line.
    """
    options = dict(_ or {})
    out = Call(op, args, kwargs, {**options, "says": [], "grad": False})
    out.says = [op] + [repr(t) for t in out.tensors] + list(options.get("says", []))
    out.fields.pop("says", None)
    return out


def code(name, text, python, _=None, **inputs):
    """Returns the case of Lua text with locals for the inputs, and of the Python function that takes the inputs by
    position; both must return the same values. Without `return` the text is one expression. It can use torch, nn, F,
    optim, none, slice. The options are those of call(); grad=True adds the gradients of the inputs.
    """
    return Code(name, text, python, inputs, dict(_ or {}))
