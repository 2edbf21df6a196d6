-- horovod/init.lua: Horovod's API for PyTorch (horovod.torch), over the process group of a trainer.
--
-- Collectives return new tensors; those with an underscore change their argument. Ranks must call the same collectives
-- in the same order: names are accepted but not needed.

return require 'base.namespace'('horovod', {
  files = {
    {'horovod.ranks', 'init', 'shutdown', 'is_initialized', 'rank', 'size', 'local_rank', 'local_size', 'cross_rank',
     'cross_size', 'is_homogeneous', 'mpi_threads_supported', 'mpi_enabled', 'mpi_built', 'gloo_enabled', 'gloo_built',
     'nccl_built', 'cuda_built', 'ddl_built', 'ccl_built', 'rocm_built'},
    {'horovod.collectives', 'Average', 'Sum', 'Min', 'Max', 'Product', 'allreduce', 'allreduce_', 'allreduce_async',
     'allreduce_async_', 'grouped_allreduce', 'grouped_allreduce_', 'allgather', 'allgather_async', 'broadcast', 'broadcast_',
     'broadcast_async', 'broadcast_async_', 'alltoall', 'reducescatter', 'poll', 'synchronize', 'barrier'},
    {'horovod.objects', 'broadcast_parameters', 'broadcast_optimizer_state', 'broadcast_object', 'allgather_object'},
    {'horovod.optimizer', 'DistributedOptimizer'},
  },
  modules = {Compression = 'horovod.compression', elastic = 'horovod.elastic'},
  absent = {
    Adasum = 'use Average or Sum',
    join = 'every rank makes the same number of steps: the loaders of train.torch.prepare_data_loader do',
    ProcessSet = 'use torch.distributed.new_group', add_process_set = 'use torch.distributed.new_group',
    global_process_set = 'use torch.distributed.new_group', remove_process_set = 'use torch.distributed.new_group',
    SyncBatchNorm = 'use torch.nn.SyncBatchNorm',
    start_timeline = 'use rtrain profile', stop_timeline = 'use rtrain profile',
    run = 'rtrain run, or rtrain launch --backend horovod for a script in Python',
  },
})
