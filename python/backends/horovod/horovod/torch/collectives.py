"""Horovod's collectives, over those of torch.distributed."""

import torch
import torch.distributed as dist

from horovod.torch.compression import Compression
from horovod.torch.ranks import check, rank, size


class ReduceOp:
    def __init__(self, name, op):
        self.name, self.op = name, op

    def __repr__(self):
        return self.name


Average = ReduceOp("Average", dist.ReduceOp.SUM)
Sum = ReduceOp("Sum", dist.ReduceOp.SUM)
Min = ReduceOp("Min", dist.ReduceOp.MIN)
Max = ReduceOp("Max", dist.ReduceOp.MAX)
Product = ReduceOp("Product", dist.ReduceOp.PRODUCT)


class _Handle:
    """The result of an _async call."""

    def __init__(self, work, finish):
        self.work, self._finish, self._result = work, finish, None

    def result(self):
        if self._finish is not None:
            self.work.wait()
            self._result, self._finish = self._finish(), None
        return self._result


def _op_of(op, average):
    if op is not None and average is not None:
        raise ValueError("The op parameter supersedes average. Please provide only one of them.")
    if op is not None:
        return op
    return Sum if average is False else Average


def _scale(tensor, factor, divisor=1):
    if factor != 1:
        tensor.mul_(factor)
    if divisor == 1:
        return tensor
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.div_(divisor)
    return tensor.div_(divisor, rounding_mode="floor")


def _begin_allreduce(tensor, op, compression, prescale_factor, postscale_factor, put):
    check()
    travelling, context = compression.compress(tensor.detach())
    if context is None:
        travelling = travelling.clone()
    _scale(travelling, prescale_factor)
    work = dist.all_reduce(travelling, op.op, async_op=True)

    def finish():
        _scale(travelling, postscale_factor, size() if op is Average else 1)
        return put(compression.decompress(travelling, context))

    return _Handle(work, finish)


def _same(tensor):
    return tensor


def _into(tensor):
    def put(result):
        with torch.no_grad():
            tensor.copy_(result)
        return tensor

    return put


def allreduce_async(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=None
):
    return _begin_allreduce(tensor, _op_of(op, average), Compression.none, prescale_factor, postscale_factor, _same)


def allreduce_async_(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=None
):
    return _begin_allreduce(
        tensor, _op_of(op, average), Compression.none, prescale_factor, postscale_factor, _into(tensor)
    )


class _AllReduce(torch.autograd.Function):
    """The gradient of a mean is the mean of the gradients."""

    @staticmethod
    def forward(ctx, tensor, op, compression, prescale_factor, postscale_factor):
        ctx.arguments = (op, compression, prescale_factor, postscale_factor)
        return _begin_allreduce(tensor, *ctx.arguments, _same).result()

    @staticmethod
    def backward(ctx, grad):
        return _begin_allreduce(grad, *ctx.arguments, _same).result(), None, None, None, None


def allreduce(
    tensor,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=None,
):
    return _AllReduce.apply(tensor, _op_of(op, average), compression, prescale_factor, postscale_factor)


def allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=None):
    return allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor).result()


def grouped_allreduce(
    tensors,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=None,
):
    op = _op_of(op, average)
    handles = [
        _begin_allreduce(tensor, op, compression, prescale_factor, postscale_factor, _same) for tensor in tensors
    ]
    return [handle.result() for handle in handles]


def grouped_allreduce_(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=None
):
    handles = [allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor) for tensor in tensors]
    return [handle.result() for handle in handles]


def _padded(tensor, rows):
    out = tensor.new_zeros((rows, *tensor.shape[1:]))
    out[: tensor.shape[0]] = tensor
    return out


def allgather_async(tensor, name=None, process_set=None):
    check()
    tensor = tensor.detach()
    if tensor.dim() == 0:
        tensor = tensor.reshape(1)
    own = torch.tensor([tensor.shape[0]], device=tensor.device)
    counts = [torch.empty_like(own) for _ in range(size())]
    dist.all_gather(counts, own)
    rows = [int(count) for count in counts]
    gathered = [_padded(tensor[:0], max(rows)) for _ in rows]
    work = dist.all_gather(gathered, _padded(tensor, max(rows)), async_op=True)
    return _Handle(work, lambda: torch.cat([part[:count] for part, count in zip(gathered, rows)]))


def allgather(tensor, name=None, process_set=None):
    return allgather_async(tensor).result()


def _begin_broadcast(tensor, root_rank, put):
    check()
    travelling = tensor.detach().clone()
    return _Handle(dist.broadcast(travelling, root_rank, async_op=True), lambda: put(travelling))


def broadcast_async(tensor, root_rank, name=None, process_set=None):
    return _begin_broadcast(tensor, root_rank, _same)


def broadcast_async_(tensor, root_rank, name=None, process_set=None):
    return _begin_broadcast(tensor, root_rank, _into(tensor))


def broadcast(tensor, root_rank, name=None, process_set=None):
    return broadcast_async(tensor, root_rank).result()


def broadcast_(tensor, root_rank, name=None, process_set=None):
    return broadcast_async_(tensor, root_rank).result()


def alltoall(tensor, splits=None, name=None, process_set=None):
    """Sends rows to each rank; with splits also returns how many came from each. Uses allgather for all backends."""
    check()
    if splits is None and tensor.shape[0] % size() != 0:
        raise ValueError(f"alltoall: {tensor.shape[0]} rows for {size()} ranks: give splits")
    own = torch.full((size(),), tensor.shape[0] // size()) if splits is None else torch.as_tensor(splits).cpu().long()
    all_splits = allgather(own.reshape(1, -1).to(tensor.device)).cpu()
    rows, parts = allgather(tensor), []
    first = 0
    for source in range(size()):
        begin = first + int(all_splits[source, : rank()].sum())
        parts.append(rows[begin : begin + int(all_splits[source, rank()])])
        first += int(all_splits[source].sum())
    out = torch.cat(parts)
    return out if splits is None else (out, all_splits[:, rank()].contiguous())


def reducescatter(tensor, op=Average, name=None, prescale_factor=1.0, postscale_factor=1.0, process_set=None):
    """The first ranks get one row more if the rows cannot be divided evenly."""
    result = _begin_allreduce(tensor, op, Compression.none, prescale_factor, postscale_factor, _same).result()
    each, more = divmod(tensor.shape[0], size())
    first = rank() * each + min(rank(), more)
    return result[first : first + each + (rank() < more)].clone()


def poll(handle):
    return handle.work.is_completed()


def synchronize(handle):
    return handle.result()


def barrier(process_set=None):
    check()
    dist.barrier()
