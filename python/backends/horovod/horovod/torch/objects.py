"""Broadcasts parameters, an optimizer's state and objects from one rank to all."""

import torch
import torch.distributed as dist

from horovod.torch.collectives import broadcast_async_
from horovod.torch.ranks import check, rank, size


def broadcast_parameters(params, root_rank):
    """params: model.state_dict(), model.named_parameters() or a list of pairs."""
    check()
    items = params.items() if isinstance(params, dict) else list(params)
    handles = [broadcast_async_(value, root_rank) for _, value in items if torch.is_tensor(value)]
    for handle in handles:
        handle.result()


def broadcast_object(obj, root_rank=0, name=None, process_set=None):
    check()
    holder = [obj if rank() == root_rank else None]
    dist.broadcast_object_list(holder, root_rank)
    return holder[0]


def allgather_object(obj, name=None, process_set=None):
    check()
    out = [None] * size()
    dist.all_gather_object(out, obj)
    return out


def broadcast_optimizer_state(optimizer, root_rank, model=None):
    state = broadcast_object(optimizer.state_dict() if rank() == root_rank else None, root_rank)
    if rank() != root_rank:
        optimizer.load_state_dict(state)
