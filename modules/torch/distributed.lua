-- torch/distributed.lua: collectives and messages over the ranks of a run, as torch.distributed.
--
-- CPU tensors use shared memory, and Gloo between nodes; CUDA tensors use NCCL if each rank has its own device. As in
-- PyTorch, an NCCL call returns when the collective is queued on the device, and later work on the tensor waits there.
--
-- Inside a train function the process group is formed automatically. Every rank must call the same collectives in the
-- same order. Errors: 'peer_lost' if another rank is gone, 'timeout' if it did not arrive in time; both name the
-- operation and the rank, and every later collective raises the error again.
--
-- With async_op a collective returns a Work, as isend and irecv do: `work:wait()` waits for its end and raises its
-- errors, `work:is_completed()`, `work:is_success()`, `work:result()` (the list of its outputs), `work:get_future()` (a
-- Future of that list: torch.futures), and for a message `work:source_rank()`.

return require 'base.namespace'('torch.distributed', {
  files = {
    {'torch.distributed.groups', 'init_process_group', 'destroy_process_group', 'is_initialized', 'is_available',
     'is_gloo_available', 'is_nccl_available', 'get_backend', 'get_rank', 'get_world_size', 'get_global_rank', 'get_group_rank',
     'get_process_group_ranks', 'new_group', 'new_subgroups', 'new_subgroups_by_enumeration', 'group', 'GroupMember'},
    {'torch.distributed.collectives', 'ReduceOp', 'all_reduce', 'all_reduce_coalesced', 'reduce', 'broadcast', 'all_gather',
     'all_gather_into_tensor', 'gather', 'scatter', 'reduce_scatter', 'reduce_scatter_tensor', 'all_to_all',
     'all_to_all_single', 'barrier', 'monitored_barrier'},
    {'torch.distributed.objects', 'all_gather_object', 'gather_object', 'broadcast_object_list', 'scatter_object_list',
     'send_object_list', 'recv_object_list'},
    {'torch.distributed.device_mesh', 'init_device_mesh', 'DeviceMesh'},
    {'torch.distributed.messages', 'send', 'recv', 'isend', 'irecv', 'P2POp', 'batch_isend_irecv'},
  },
  modules = {checkpoint = 'torch.distributed.checkpoint', fsdp = 'torch.distributed.fsdp', nn = 'torch.distributed.nn',
             optim = 'torch.distributed.optim', algorithms = 'torch.distributed.algorithms',
             device_mesh = 'torch.distributed.device_mesh'},
  absent = {
    tensor = 'torch.distributed.fsdp divides parameters, torch.distributed.nn has collectives with gradients',
    elastic = "train.elastic, or ScalingConfig's {num_workers = {least, most}}",
    launcher = 'rtrain run, or rtrain launch for a Python program',
    rpc = 'collectives and messages: torch.distributed.send, recv',
    pipelining = 'torch.distributed.send, recv between the stages',
    TCPStore = 'a trainer forms the group: torch.distributed.barrier, train.collective',
    FileStore = 'a trainer forms the group: torch.distributed.barrier, train.collective',
    HashStore = 'a trainer forms the group: torch.distributed.barrier, train.collective',
    all_gather_coalesced = 'deprecated in PyTorch: use all_gather for each tensor, with async_op',
    _all_gather_base = 'use all_gather_into_tensor', _reduce_scatter_base = 'use reduce_scatter_tensor',
  },
})
