-- torch/distributed/algorithms/ddp_comm_hooks/default_hooks.lua: gradients unchanged, or in 16 bits.

local class = require 'base.class'
local collectives = require 'torch.distributed.collectives'
local errors = require 'base.errors'
local Future = require('torch.futures').Future
local groups = require 'torch.distributed.groups'
local show = require 'base.shown'
local torch = require 'torch'

local default_hooks = {}

local function sum(tensor, group) return collectives.all_reduce(tensor, {group = group, async_op = true}):get_future() end

-- Returns a Future of the mean over the ranks, in place. Divides first, so that the sum of many ranks stays in range.
function default_hooks._allreduce_fut(process_group, tensor)
  tensor:div_(groups.get_world_size(process_group))
  return sum(tensor, process_group):then_(function(fut) return fut:value()[1] end)
end

---Averages the bucket over the ranks, as DistributedDataParallel does without a hook. PyTorch equivalent:
---default_hooks.allreduce_hook.
---@param process_group? ProcessGroup default: all ranks
---@param bucket GradBucket
---@return Future
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local layer = torch.nn.Linear(2, 1)
---local model = torch.nn.parallel.DistributedDataParallel(layer)
---model:register_comm_hook(nil, dist.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook)
---model(torch.ones(1, 2)):sum():backward()
---assert(layer.weight.grad:sum():item() == 2)
---dist.destroy_process_group()
---```
function default_hooks.allreduce_hook(process_group, bucket)
  return default_hooks._allreduce_fut(process_group, bucket:buffer())
end

local function compress_hook(dtype, process_group, bucket)
  local buffer = bucket:buffer()
  local compressed = buffer:to(dtype):div_(groups.get_world_size(process_group))
  return sum(compressed, process_group):then_(function(fut) return buffer:copy_(fut:value()[1]) end)
end

---Sends gradients as float16: divided by the number of ranks, then summed. PyTorch equivalent:
---default_hooks.fp16_compress_hook.
---@param process_group? ProcessGroup default: all ranks
---@param bucket GradBucket
---@return Future
function default_hooks.fp16_compress_hook(process_group, bucket) return compress_hook(torch.float16, process_group, bucket) end

---Sends gradients as bfloat16: divided by the number of ranks, then summed. PyTorch equivalent:
---default_hooks.bf16_compress_hook.
---@param process_group? ProcessGroup default: all ranks
---@param bucket GradBucket
---@return Future
function default_hooks.bf16_compress_hook(process_group, bucket) return compress_hook(torch.bfloat16, process_group, bucket) end

local function compress_wrapper(name, dtype, hook)
  if type(hook) ~= 'function' then errors.raise('argument', ('%s: expected a hook, got %s'):format(name, show(hook))) end
  return function(state, bucket)
    local buffer = bucket:buffer()
    bucket:set_buffer(buffer:to(dtype))
    local result = hook(state, bucket)
    if not class.is(result, Future) then return buffer:copy_(result) end
    return result:then_(function(fut) return buffer:copy_(fut:value()) end)
  end
end

---Returns the hook with buckets in float16; its result is converted back to the dtype of the gradients. PyTorch
---equivalent: default_hooks.fp16_compress_wrapper.
---@param hook fun(state: any, bucket: GradBucket): Future
---@return fun(state: any, bucket: GradBucket): Future
function default_hooks.fp16_compress_wrapper(hook) return compress_wrapper('fp16_compress_wrapper', torch.float16, hook) end

---Returns the hook with buckets in bfloat16; its result is converted back to the dtype of the gradients. PyTorch
---equivalent: default_hooks.bf16_compress_wrapper.
---@param hook fun(state: any, bucket: GradBucket): Future
---@return fun(state: any, bucket: GradBucket): Future
function default_hooks.bf16_compress_wrapper(hook) return compress_wrapper('bf16_compress_wrapper', torch.bfloat16, hook) end

return require 'base.namespace'('torch.distributed.algorithms.ddp_comm_hooks.default_hooks', nil, default_hooks)
