"""Calls of PyTorch's OpInfo database with Python's answers: functions, methods, in place, with `out`."""

import copy
import zlib

import torch
from torch.testing._internal.common_methods_invocations import op_db
from values import NoForm, encoded, flat, gradients, keywords, plain, tensors

# Every sample runs in float32, with gradients; a few samples run in these dtypes.
FEW = (torch.int64, torch.bool, torch.complex64, torch.bfloat16, torch.uint8)
SAMPLES_OF_FEW = 3
# The same seed as in the database's wrapper_set_seed, which some calls use.
SEED = 42
# These return uninitialized memory: only the shape is compared.
SHAPE_ONLY = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
# Without --all: the first FIRST samples of each operator, and one in ONE_IN of the others.
FIRST, ONE_IN = 1, 40

NAMES = [f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name for op in op_db]


def is_chosen(name, index):
    return index < FIRST or zlib.crc32(f"{name} {index}".encode()) % ONE_IN == 0


def fresh(args, kwargs):
    """Returns copies as leaf tensors; their new memory is shared among them as in the originals."""
    memo = {}

    def copied(value):
        if isinstance(value, torch.Tensor):
            is_plain = value.layout is torch.strided
            new = copy.deepcopy(value.detach(), memo) if is_plain else value.detach().clone()
            return new.requires_grad_(value.requires_grad)
        if isinstance(value, (list, tuple)):
            return type(value)(copied(item) for item in value)
        return value

    return [copied(arg) for arg in args], {name: copied(arg) for name, arg in kwargs.items()}


def told(args, kwargs):
    """Returns the arguments as rtrain gets them, in separate memory from all other calls."""
    args, kwargs = fresh(args, kwargs)
    return {"args": [encoded(arg) for arg in args], "kwargs": keywords(kwargs)}


def answer(call, args, kwargs, grad):
    """Returns {"want": results, "grads": …}, or {"fails": message}."""
    args, kwargs = fresh(args, kwargs)
    torch.manual_seed(SEED)
    try:
        value = call(*args, **kwargs)
    except Exception as e:  # rtrain must refuse the call after any exception
        return {"fails": f"{type(e).__name__}: {e}"[:200]}
    results = flat(value)
    first = args[0] if args else None
    # Copies the results, because torch.save would write the whole storage of each.
    out = {
        "want": [encoded(r.detach().clone() if isinstance(r, torch.Tensor) else r) for r in results],
        "same": bool(results) and isinstance(first, torch.Tensor) and results[0] is first,
    }
    if grad:
        grads = gradients(results, tensors(args) + tensors(kwargs))
        if grads is not None:
            out["grads"] = grads
    return out


def with_integers(call, args, kwargs):
    """Replaces whole floats by integers, unless Python then refuses the call."""
    changed = [plain(arg) for arg in args], {name: plain(arg) for name, arg in kwargs.items()}
    try:
        fine_before = "fails" not in answer(call, args, kwargs, False)
        fine_after = "fails" not in answer(call, *changed, False)
    except NoForm:
        return args, kwargs
    return changed if fine_after or not fine_before else (args, kwargs)


def forms(op, sample, index):
    """Returns (form, Python's callable) for each way to make the call."""
    out = [("function", op.op)]
    method, in_place = op.get_method(), op.get_inplace()
    if method is not None:
        out.append(("method", method))
    wants = any(t.requires_grad for t in tensors([sample.input, *sample.args]))
    if in_place is not None and not wants and isinstance(sample.input, torch.Tensor) and not sample.broadcasts_input:
        out.append(("inplace", in_place))
    return out


def with_out(op, args, kwargs, want):
    """Yields the call with different `out`: empty tensors, tensors of another dtype, one tensor too many."""
    results = [item["value"] for item in want if isinstance(item, dict) and item.get("_") == "tensor"]
    if len(results) != len(want) or not results or any(r.layout != torch.strided for r in results):
        return
    kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    args = [
        a.detach()
        if isinstance(a, torch.Tensor)
        else [t.detach() for t in a]
        if isinstance(a, (list, tuple)) and a and isinstance(a[0], torch.Tensor)
        else a
        for a in args
    ]
    kinds = {
        "empty": [torch.empty(0, dtype=r.dtype) for r in results],
        "strided": [
            torch.empty_strided(
                r.shape, r.stride()[::-1] if r.dim() == 2 and r.size(0) == r.size(1) else r.stride(), dtype=r.dtype
            )
            for r in results
        ],
        "float64": [torch.empty(0, dtype=torch.float64) for r in results],
        "int64": [torch.empty(0, dtype=torch.int64) for r in results],
    }
    for kind, outs in kinds.items():
        out = outs[0] if len(outs) == 1 else tuple(outs)
        yield kind, {**kwargs, "out": out}


def calls_of(index, whole):
    """Returns all calls of an entry of the database. Counts the calls that Lua cannot express."""
    op, name = op_db[index], NAMES[index]
    calls, left_out, did_out = [], 0, 0
    for dtype in (torch.float32, *FEW):
        if dtype not in op.supported_dtypes("cpu"):
            continue
        grad = dtype is torch.float32 and op.supports_autograd
        torch.manual_seed(1)
        for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=grad)):
            if dtype is not torch.float32 and number >= (SAMPLES_OF_FEW if whole else 1):
                break
            if not whole and not is_chosen(name, number):
                continue
            if (
                op.name == "__getitem__"
                and type(sample.args[0]) is list
                and all(type(i) is int for i in sample.args[0])
            ):
                sample.args = ([sample.args[0]],)  # a list of integers is a single index
            args, kwargs = with_integers(op.op, [sample.input, *sample.args], sample.kwargs)
            for form, call in forms(op, sample, number):
                try:
                    case = {
                        "form": form,
                        "id": f"{str(dtype)[6:]} {number}",
                        **told(args, kwargs),
                        **answer(call, args, kwargs, grad),
                    }
                except (NoForm, NotImplementedError):
                    left_out += 1
                    continue
                calls.append(case)
                if form == "function" and op.supports_out and "want" in case and did_out < (12 if whole else 1):
                    did_out += 1
                    for kind, named in with_out(op, args, kwargs, case["want"]):
                        plain_args = [a.detach() if isinstance(a, torch.Tensor) else a for a in args]
                        try:
                            calls.append(
                                {
                                    "form": "out",
                                    "id": f"{case['id']} {kind}",
                                    **told(plain_args, named),
                                    **answer(op.op, plain_args, named, False),
                                }
                            )
                        except NoForm:
                            left_out += 1
    return {"name": op.name, "entry": name, "shape_only": op.name in SHAPE_ONLY, "calls": calls, "left_out": left_out}
