-- rtrain/session/backends.lua: the backends of a process group that a run chooses by itself.

return {
  -- CPU tensors over shared memory, or Gloo between nodes; CUDA tensors over NCCL if no two ranks share a device.
  DEFAULT = 'cpu:shm,cuda:nccl',
  -- Without NCCL.
  WITHOUT_NCCL = 'cpu:shm,cuda:gloo',
}
