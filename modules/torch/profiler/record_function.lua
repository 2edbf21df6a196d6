-- torch/profiler/record_function.lua: ranges that a program marks itself.

---Calls fn and marks its time as a range of that name in the present recording. Without a recording it costs almost
---nothing. PyTorch equivalent: torch.profiler.record_function.
---@param name string
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local prof = torch.profiler.profile{activities = {torch.profiler.ProfilerActivity.CPU}}
---prof:start()
---local sum = torch.profiler.record_function('my part', function(x) return x:sum() end, torch.ones(3))
---prof:stop()
---assert(sum:item() == 3 and prof:key_averages():find('my part').count == 1)
---```
local function record_function(name, fn, ...) return require('torch._C').profiler.record_function(name, fn, ...) end

return {record_function = record_function}
