-- torch/distributed/algorithms/ddp_comm_hooks/debugging_hooks.lua: hooks that show the cost of communication.

local debugging_hooks = {}

---Returns the bucket unchanged: no gradients are exchanged. It shows how long a step takes without communication; a
---model is not trained correctly with it. PyTorch equivalent: debugging_hooks.noop_hook.
---@param _ any
---@param bucket GradBucket
---@return Future
function debugging_hooks.noop_hook(_, bucket)
  local future = require('torch.futures').Future()
  future:set_result(bucket:buffer())
  return future
end

return require 'base.namespace'('torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks', nil, debugging_hooks)
