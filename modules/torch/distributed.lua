-- torch/distributed.lua: collectives and messages over the ranks of a run, as torch.distributed.
--
-- Tensors of the CPU travel over shared memory, and between hosts over Gloo; those of CUDA over NCCL where each rank has a
-- device to itself: as in PyTorch the call then returns when the device has been given the collective, and what uses the tensor
-- next waits for it there.
--
-- Inside a train function the process group forms itself. Every rank must call the same collectives in the same order.
-- Errors: 'peer_lost' when another rank is gone, 'timeout' when it did not come in time; both name the operation and
-- the rank, and every later collective raises again.
--
-- With async_op a collective returns a Work, as isend and irecv do: `work:wait()` until it has ended (its errors are raised
-- there), `work:is_completed()`, `work:is_success()`, `work:result()` (the list of what it fills), and of a message
-- `work:source_rank()`.

return require 'base.namespace'('torch.distributed', {
  files = {
    {'torch.distributed.groups', 'init_process_group', 'destroy_process_group', 'is_initialized', 'is_available',
     'is_gloo_available', 'is_nccl_available', 'get_backend', 'get_rank', 'get_world_size', 'get_global_rank', 'get_group_rank',
     'get_process_group_ranks', 'new_group', 'new_subgroups', 'new_subgroups_by_enumeration', 'group', 'GroupMember'},
    {'torch.distributed.collectives', 'ReduceOp', 'all_reduce', 'reduce', 'broadcast', 'all_gather', 'all_gather_into_tensor',
     'gather', 'scatter', 'reduce_scatter', 'reduce_scatter_tensor', 'all_to_all', 'all_to_all_single', 'barrier'},
    {'torch.distributed.messages', 'send', 'recv', 'isend', 'irecv', 'P2POp', 'batch_isend_irecv'},
  },
})
