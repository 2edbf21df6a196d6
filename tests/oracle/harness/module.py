"""Cases of modules: their print, their state, and their results in training and in evaluation."""

import copy

import torch

from harness import answer
from harness.case import Case, replaced, tensors_of
from harness.fill import T
from harness.lua_text import lua

TOLERANCE = (1e-4, 2e-5)  # sums over many float32 numbers


def parameter_fill(name, tensor):
    """Returns the fill of a parameter or buffer: formulas replace stored numbers here too, seeded by the place in
    state_dict.
    """
    if not tensor.is_floating_point():
        return "zeros"
    return "positive" if name.endswith("running_var") else "signed_unit"


def state_of(module):
    """Returns the tensors of state_dict, without the results of get_extra_state."""
    return {name: t for name, t in module.state_dict().items() if isinstance(t, torch.Tensor)}


def fill_state(module):
    with torch.no_grad():
        for place, (name, t) in enumerate(state_of(module).items()):
            dtype = str(t.dtype).removeprefix("torch.")
            t.copy_(T(*t.shape, dtype=dtype, fill=parameter_fill(name, t), seed=300 + place).tensor())


def as_tuples(value):
    """Converts lists to tuples, because PyTorch prints tuples."""
    return tuple(as_tuples(item) for item in value) if isinstance(value, (list, tuple)) else value


def flatten(result):
    """Returns the results as a flat list, without None at the end (Lua has no such results)."""
    out = answer.flatten(result)
    while out and out[-1] is None:
        out.pop()
    return out


class Module(Case):
    """A module, created from its class and arguments, or by a Lua text and a Python function."""

    def __init__(self, make, args, kwargs, inputs, options):
        self.make, self.calls = make, options.pop("call", None)
        self.has_init = options.pop("init", True)
        self.call_keywords = inputs.pop() if inputs and isinstance(inputs[-1], dict) else {}
        self.given = inputs
        name = options.pop("name", make if isinstance(make, str) else make[0])
        options.setdefault("tol", TOLERANCE)
        super().__init__(name, args, kwargs, options)
        self.inputs_of_call = tensors_of([inputs, self.call_keywords])
        for t in self.inputs_of_call:
            if all(t is not other for other in self.tensors):
                self.tensors.append(t)
        for place, t in enumerate(self.tensors):
            t.seed = place + 1 if t.seed is None else t.seed

    def new(self, found):
        torch.manual_seed(0)
        if isinstance(self.make, str):
            args, kwargs = replaced(as_tuples(self.args), found), replaced(self.kwargs, found)
            return getattr(torch.nn, self.make)(*args, **{name: as_tuples(value) for name, value in kwargs.items()})
        return self.make[2]()

    def fresh(self):
        """Returns a fresh tensor for each T; those of the call need gradients."""
        found, wanted = {}, []
        for t in self.tensors:
            found[id(t)] = t.tensor()
            is_input = any(t is other for other in self.inputs_of_call)
            if is_input and self.grad is not False and t.grad and t.dtype.startswith("float"):
                wanted.append(found[id(t)].requires_grad_())
        return found, wanted

    def run(self, training):
        found, wanted = self.fresh()
        module = self.new(found)
        fill_state(module)
        module.train(training)
        torch.manual_seed(0)
        function = self.calls[1] if self.calls else lambda m, *args, **kwargs: m(*args, **kwargs)
        results = flatten(function(module, *replaced(self.given, found), **replaced(self.call_keywords, found)))
        return module, wanted, results

    def gradients(self, module, wanted, results):
        outputs = [(k, r) for k, r in enumerate(results, 1) if isinstance(r, torch.Tensor) and r.requires_grad]
        wanted = wanted + [p for p in module.parameters() if p.requires_grad]
        if self.grad is False or not wanted or not outputs:
            return None
        cotangents = [
            T(*r.shape, dtype=str(r.dtype).removeprefix("torch."), fill="real", seed=900 + k).tensor()
            for k, r in outputs
        ]
        grads = torch.autograd.grad([r for _, r in outputs], wanted, cotangents, allow_unused=True)
        return [g.to_dense() if g is not None and g.is_sparse else g for g in grads]

    def texts(self, values):
        return "{" + ",".join(map(answer.text, values)) + "}"

    def line(self):
        found, _ = self.fresh()
        module = self.new(found)
        state = state_of(module)
        fields = {"name": self.name, "tol": list(self.tolerance), "print": repr(module)}
        if isinstance(self.make, str):
            fields["module"] = self.make
        else:
            fields["make"] = self.make[1]
        if self.calls:
            fields["call"] = self.calls[0]
        fields["state"] = " ".join(
            f"{name}[{','.join(map(str, t.shape))}]{str(t.dtype).removeprefix('torch.')}" for name, t in state.items()
        )
        parts = [f"{name}={lua(value)}" for name, value in fields.items()]
        if self.has_init and any(t.is_floating_point() and t.numel() for t in state.values()):
            flat = torch.cat([t.reshape(-1).float() for t in state.values() if t.is_floating_point()])
            parts.append(f"init={answer.text(flat)}")
        parts.append("args={" + ",".join([f"n={len(self.args)}"] + [lua(item) for item in self.args]) + "}")
        if self.kwargs:
            parts.append(f"kw={lua(self.kwargs)}")
        parts.append("inputs={" + ",".join([f"n={len(self.given)}"] + [lua(item) for item in self.given]) + "}")
        if self.call_keywords:
            parts.append(f"call_kw={lua(self.call_keywords)}")
        return "{" + ",".join(parts + self.answers_text()) + "}"

    def answers_text(self):
        module, wanted, results = self.run(True)
        want = self.texts(results)
        out = [f"want={want}"]
        grads = self.gradients(module, wanted, results)
        if grads is not None:
            out.append(f"grads={self.texts(grads)}")
        buffers = list(module.buffers())
        if buffers:
            out.append(f"buffers={self.texts(buffers)}")
        evaluated = self.texts(self.run(False)[2])
        if evaluated != want:
            out.append(f"eval={evaluated}")
        return out


def module(make, *args, x=(), _=None, **kwargs):
    """Returns the case of the module torch.nn.<make>(*args, **kwargs), called with the values of x; a dict at the end
    of x holds keywords.

    `make` may be (name, Lua text of an expression, Python function without arguments). `_` is a table of options: name,
    call=(Lua text with locals m and ..., Python function of module and inputs), grad=False, init=False (no comparison
    of the initial values), tol.
    """
    args, kwargs, inputs = copy.deepcopy((args, kwargs, list(x)))
    return Module(make, args, kwargs, inputs, dict(_ or {}))
