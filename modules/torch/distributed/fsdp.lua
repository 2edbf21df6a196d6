-- torch/distributed/fsdp.lua: torch.distributed.fsdp: models whose parameters are divided among the ranks.

local WRAPPER = 'torch.distributed.fsdp.fully_shard(module) shards the module itself, as PyTorch 2 recommends'

return require 'base.namespace'('torch.distributed.fsdp', {
  files = {
    {'torch.distributed.fsdp.fully_shard', 'fully_shard', 'FSDPModule'},
    {'torch.distributed.fsdp.policies', 'MixedPrecisionPolicy', 'OffloadPolicy', 'CPUOffloadPolicy'},
  },
  absent = {
    FullyShardedDataParallel = WRAPPER, ShardingStrategy = WRAPPER, BackwardPrefetch = WRAPPER, MixedPrecision = WRAPPER,
    CPUOffload = WRAPPER, StateDictType = WRAPPER,
  },
})
