"""Optimizers of PyTorch's OptimizerInfo database: parameters after some steps, and refused arguments."""

import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db
from values import NoForm, encoded, keywords, plain

SEED, STEPS = 42, 8
FUSED = ("Adam", "AdamW", "SGD", "Adagrad")

NAMES = [info.optim_cls.__name__ for info in optim_db]


def starts(name, dtype):
    torch.manual_seed(SEED)
    shapes = [(5, 4), (3, 3)] if name in ("Muon", "SparseAdam") else [(5, 4), (7,), ()]
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


def trained(cls, name, kwargs, dtype, sparse):
    params = [start.clone().requires_grad_() for start in starts(name, dtype)]
    optimizer = cls(params, **kwargs)

    def closure():
        optimizer.zero_grad()
        real = [torch.view_as_real(p) if p.is_complex() else p for p in params]
        loss = sum(((p * p) * 0.35 + p * (0.3 / k)).sum() for k, p in enumerate(real, 1))
        loss.backward()
        if sparse:
            for p in params:
                p.grad = p.grad.to_sparse(1)
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)
    return [p.detach() for p in params]


def cases(info, dtype):
    """Yields (options for rtrain, options for Python, whether all bits must be equal), or None for a sample that cannot
    be run.
    """
    name = info.optim_cls.__name__
    for sample in info.optim_inputs_func(device="cpu"):
        told = {k: plain(v) for k, v in sample.kwargs.items()}
        if (
            sample.params is not None
            or told.get("differentiable")
            or told.get("capturable")
            or any(isinstance(v, torch.Tensor) for k, v in told.items() if k != "lr")
        ):
            yield None
            continue
        if name in FUSED:
            yield {**told, "fused": False}, told, True
        if name not in FUSED or dtype.is_complex:  # Python has no fused step for complex numbers
            yield told, told, False
        else:
            yield told, {**{k: v for k, v in told.items() if k != "foreach"}, "fused": True}, True


def refusals(info):
    for error in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = error.optimizer_error_input
        if error.error_on is OptimizerErrorEnum.CONSTRUCTION_ERROR and not issubclass(error.error_type, Warning):
            yield given.params, {k: plain(v) for k, v in given.kwargs.items()}, error.error_regex


def calls_of(index, whole):
    info, calls, left_out = optim_db[index], [], 0
    name = info.optim_cls.__name__
    for dtype in (torch.float32, torch.float64, torch.complex64):
        if (dtype.is_complex and name in ("Muon", "SparseAdam", "LBFGS", "Adafactor")) or (
            not whole and dtype is not torch.float32
        ):
            continue
        for case in cases(info, dtype):
            if case is None:
                left_out += 1
                continue
            told, python, exact = case
            try:
                want = trained(info.optim_cls, name, python, dtype, info.only_supports_sparse_grads)
                calls.append(
                    {
                        "id": f"{str(dtype)[6:]} {told}",
                        "kwargs": keywords(told),
                        "steps": STEPS,
                        "exact": exact,
                        "sparse": info.only_supports_sparse_grads,
                        "starts": starts(name, dtype),
                        "want": want,
                    }
                )
            except NoForm:
                left_out += 1
    for params, kwargs, says in refusals(info):
        try:
            calls.append({"id": f"refusal: {says}"[:100], "params": encoded(params), "kwargs": keywords(kwargs)})
        except NoForm:
            left_out += 1
    return {"name": name, "entry": name, "calls": calls, "left_out": left_out}
