"""An optimizer whose step begins with the mean of all ranks' gradients."""

import contextlib

import torch

from horovod.torch.collectives import Average, _begin_allreduce, _same
from horovod.torch.compression import Compression
from horovod.torch.ranks import check

_MESSAGE_BYTES = 64 << 20


def _messages(params):
    """Lists of gradients that are sent together; a missing gradient is zeros: another rank may have computed it."""
    last, messages = {}, []
    for param in params:
        if param.grad is None:
            param.grad = torch.zeros_like(param)
        grad = param.grad
        key, size = (grad.dtype, grad.device), grad.numel() * grad.element_size()
        if key not in last or last[key][1] + size > _MESSAGE_BYTES:
            last[key] = [[], 0]
            messages.append(last[key])
        last[key][0].append(grad)
        last[key][1] += size
    return [grads for grads, _ in messages]


class _DistributedOptimizer:
    """The methods of this class are put into a subclass of the optimizer's class."""

    def _watch(self):
        for group in self.param_groups:
            for param in group["params"]:
                if param.requires_grad:
                    self._hooks.append(param.register_post_accumulate_grad_hook(self._count))

    def _count(self, param):
        passes = self._options["backward_passes_per_step"]
        self._counts[param] = self._counts.get(param, 0) + 1
        if self._counts[param] > passes:
            raise AssertionError(
                f"Gradients were computed more than backward_passes_per_step = {passes} times before call to step()."
            )

    def synchronize(self):
        """Gives each parameter the mean (or sum) of its gradients over all ranks."""
        options = self._options
        factor = options["gradient_predivide_factor"]
        params = [param for group in self.param_groups for param in group["params"] if param.requires_grad]
        with torch.no_grad():
            messages = _messages(params)
            handles = [
                _begin_allreduce(
                    torch.cat([grad.reshape(-1) for grad in grads]),
                    options["op"],
                    options["compression"],
                    1 / factor,
                    factor,
                    _same,
                )
                for grads in messages
            ]
            for grads, handle in zip(messages, handles):
                rows = handle.result().split([grad.numel() for grad in grads])
                for grad, row in zip(grads, rows):
                    grad.copy_(row.view_as(grad))
        self._counts.clear()
        self._is_synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Inside of this context step() does not synchronize."""
        self._is_skipped = True
        try:
            yield
        finally:
            self._is_skipped = False

    def step(self, closure=None):
        if not self._is_skipped and not self._is_synchronized:
            self.synchronize()
        self._is_synchronized = False
        return self._base.step(self, closure)

    def zero_grad(self, *args, **kwargs):
        if self._counts and not self._is_synchronized and self._options["backward_passes_per_step"] == 1:
            raise AssertionError(
                "optimizer.zero_grad() was called after loss.backward() but before optimizer.step() or "
                "optimizer.synchronize(). This is prohibited as it can cause a race condition."
            )
        return self._base.zero_grad(self, *args, **kwargs)


_METHODS = {
    name: value for name, value in vars(_DistributedOptimizer).items() if name not in ("__dict__", "__weakref__")
}


def DistributedOptimizer(
    optimizer,
    named_parameters=None,
    compression=Compression.none,
    backward_passes_per_step=1,
    op=Average,
    gradient_predivide_factor=1.0,
    num_groups=0,
    groups=None,
    sparse_as_dense=False,
    process_set=None,
):
    check()
    if gradient_predivide_factor != 1.0 and op is not Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    base = optimizer.__class__
    cls = type(base.__name__, (base,), {**_METHODS, "_base": base})
    made = cls.__new__(cls)
    made.__dict__.update(optimizer.__dict__)
    made._options = {
        "compression": compression,
        "backward_passes_per_step": backward_passes_per_step,
        "op": op,
        "gradient_predivide_factor": gradient_predivide_factor,
    }
    made._counts, made._hooks, made._is_skipped, made._is_synchronized = {}, [], False, False
    made._watch()
    return made
