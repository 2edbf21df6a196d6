"""horovod.torch over torch.distributed.

Ranks call the same collectives in the same order: names are accepted and not needed. Gradients travel at step(), in the
order of the parameters.
"""

from torch.nn import SyncBatchNorm

from horovod.torch import elastic
from horovod.torch.collectives import (
    Average,
    Max,
    Min,
    Product,
    Sum,
    allgather,
    allgather_async,
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    alltoall,
    barrier,
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    grouped_allreduce,
    grouped_allreduce_,
    poll,
    reducescatter,
    synchronize,
)
from horovod.torch.compression import Compression
from horovod.torch.objects import allgather_object, broadcast_object, broadcast_optimizer_state, broadcast_parameters
from horovod.torch.optimizer import DistributedOptimizer
from horovod.torch.ranks import (
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    init,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
)

__all__ = [name for name in globals() if not name.startswith("_")]

_ABSENT = {
    "Adasum": "use hvd.Average or hvd.Sum",
    "join": "give each rank as many steps, such as with a DistributedSampler",
    "ProcessSet": "use torch.distributed.new_group",
    "add_process_set": "use torch.distributed.new_group",
    "start_timeline": "use rtrain profile",
}


def __getattr__(name):
    if name in _ABSENT:
        raise AttributeError(f"horovod.torch.{name} is not in rtrain's package: {_ABSENT[name]}")
    raise AttributeError(f"module 'horovod.torch' has no attribute '{name}'")
