-- torch/autograd/profiler.lua: torch.autograd.profiler: the parts that torch.profiler lacks.

local args = require 'base.args'

local profiler = {}

---Calls fn and marks each operator of this thread as an NVTX range, for NVIDIA's tools. A range has the operator's name
---and its sequence number, which connects a backward range with its forward range. Raises code 'environment' without a
---device. PyTorch equivalent: torch.autograd.profiler.emit_nvtx.
---@param fn fun(...): ...
---@param ... any arguments of fn, then {enabled, record_shapes}
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local enabled = torch.cuda.is_available()
---local sum = torch.autograd.profiler.emit_nvtx(function(x) return x:sum():item() end, torch.ones(3), {enabled = enabled})
---assert(sum == 3)
---```
function profiler.emit_nvtx(fn, ...)
  local options, count = args.trailing('emit_nvtx', {'enabled', 'record_shapes'}, ...)
  if options.enabled == false then return fn(unpack({...}, 1, count)) end
  return require('torch._C').cuda_nvtx.emit(options.record_shapes == true, fn, unpack({...}, 1, count))
end

return require 'base.namespace'('torch.autograd.profiler', {
  files = {{'torch.profiler.record_function', 'record_function'}},
  absent = {profile = 'use torch.profiler.profile'},
}, profiler)
