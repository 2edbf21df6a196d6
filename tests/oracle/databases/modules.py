"""Modules of PyTorch's ModuleInfo database: their print, first parameters, results, gradients and buffers."""

import inspect

import torch
from torch.testing._internal.common_modules import module_db
from values import NoForm, encoded, flat, gradients, keywords, plain, tensors

SEED = 42
DTYPES = (torch.float32, torch.float64)

NAMES = [info.name for info in module_db]


def fresh(args, kwargs):
    def copied(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone().requires_grad_(value.requires_grad)
        if isinstance(value, (list, tuple)):
            return type(value)(copied(item) for item in value)
        return value

    return [copied(arg) for arg in args], {name: copied(arg) for name, arg in kwargs.items()}


def names_of(module, args):
    """Returns the names of the parameters of forward that are passed by position, or None if they cannot be passed by
    name.
    """
    parameters = list(inspect.signature(module.forward).parameters.values())
    if len(parameters) < len(args) or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return [p.name for p in parameters[: len(args)]]


def case_of(info, sample, training):
    made, given = sample.constructor_input, sample.forward_input
    args, kwargs = fresh([plain(a) for a in given.args], {k: plain(a) for k, a in given.kwargs.items()})
    torch.manual_seed(SEED)
    module = info.module_cls(*made.args, **made.kwargs).train(training)
    case = {
        "args": [encoded(plain(a)) for a in made.args],
        "kwargs": keywords({k: plain(a) for k, a in made.kwargs.items()}),
        "inputs": [encoded(a) for a in args],
        "named": keywords(kwargs),
        "training": training,
        "text": repr(module),
        "names": list(module.state_dict()),
        "state": [encoded(t.clone()) for t in module.state_dict().values()],
    }
    names = names_of(module, args)
    if names is not None:
        case["input_names"] = names
    torch.manual_seed(SEED)
    try:
        results = flat(module(*args, **kwargs))
    except Exception as e:  # rtrain must refuse the call, too
        return {**case, "fails": f"{type(e).__name__}: {e}"[:200]}
    case["want"] = [encoded(r.detach().clone() if isinstance(r, torch.Tensor) else r) for r in results]
    grads = gradients(results, tensors(args) + tensors(kwargs) + list(module.parameters()))
    if grads is not None:
        case["grads"] = grads
    case["buffers"] = [encoded(b.clone()) for b in module.buffers()]
    return case


def calls_of(index, whole):
    info, calls, left_out = module_db[index], [], 0
    for dtype in DTYPES if whole else DTYPES[:1]:
        if dtype not in info.dtypes:
            continue
        for training in (True, False):
            torch.manual_seed(1)
            samples = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
            for number, sample in enumerate(samples):
                if not whole and number % 5 > 0:
                    continue
                try:
                    calls.append(
                        {
                            "id": f"{str(dtype)[6:]} {'train' if training else 'eval'} {number}",
                            **case_of(info, sample, training),
                        }
                    )
                except NoForm:
                    left_out += 1
    return {"name": info.name, "entry": info.name, "calls": calls, "left_out": left_out}
