"""The rank of this process, from torchrun's variables, which rtrain sets."""

import atexit
import math
import os

import torch
import torch.distributed as dist
import torch.distributed.nn.functional

_is_begun = False


def _variable(name, alone):
    check()
    return int(os.environ.get(name, alone))


def _has_a_device_each():
    return torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def init(comm=None, process_sets=None):
    """Forms the process group: NCCL for tensors of CUDA where each rank has a device, Gloo for all others. It is ended before
    the interpreter, as by Horovod: a thread of Gloo that drops a tensor later aborts the process."""
    global _is_begun
    if process_sets:
        raise ValueError("hvd.init: process_sets are not in rtrain's package: use torch.distributed.new_group")
    if not dist.is_initialized():
        if "MASTER_ADDR" in os.environ:
            dist.init_process_group("cpu:gloo,cuda:nccl" if _has_a_device_each() else "gloo")
        else:
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    if not _is_begun:
        atexit.register(shutdown)
    _is_begun = True


def shutdown():
    """Ends the process group."""
    global _is_begun
    if _is_begun and dist.is_initialized():
        dist.destroy_process_group()
    _is_begun = False


def is_initialized():
    return _is_begun


def check():
    """Raises an error before init(), as Horovod does."""
    if not _is_begun:
        raise ValueError("Horovod has not been initialized; use hvd.init().")


def rank():
    check()
    return dist.get_rank()


def size():
    check()
    return dist.get_world_size()


def local_rank():
    return _variable("LOCAL_RANK", 0)


def local_size():
    return _variable("LOCAL_WORLD_SIZE", 1)


def cross_rank():
    return _variable("GROUP_RANK", 0)


def cross_size():
    return math.ceil(size() / local_size())


def is_homogeneous():
    return size() % local_size() == 0


def mpi_threads_supported():
    check()
    return False


def mpi_enabled():
    return False


def mpi_built():
    return False


def gloo_enabled():
    return True


def gloo_built():
    return True


def nccl_built():
    return int(dist.is_nccl_available())


def cuda_built():
    return torch.cuda.is_available()


def ddl_built():
    return False


def ccl_built():
    return False


def rocm_built():
    return False
