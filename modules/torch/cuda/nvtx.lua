-- torch/cuda/nvtx.lua: torch.cuda.nvtx: marks in the time line of NVIDIA's tools, such as Nsight Systems. Without a
-- tool or a device they do nothing.

local nvtx = {}

local function engine() return require('torch._C').cuda_nvtx end

---Begins a range, nested in the open ranges of this thread. PyTorch equivalent: torch.cuda.nvtx.range_push.
---@param msg string
---@return integer depth from 0; -2 if no tool is attached
function nvtx.range_push(msg) return engine().range_push(msg) end

---Ends the innermost range of this thread. PyTorch equivalent: torch.cuda.nvtx.range_pop.
---@return integer depth of the ended range, from 0
function nvtx.range_pop() return engine().range_pop() end

---Begins a range that range_end ends, in any thread. PyTorch equivalent: torch.cuda.nvtx.range_start.
---@param msg string
---@return userdata handle for range_end
function nvtx.range_start(msg) return engine().range_start(msg) end

---Ends a range of range_start. PyTorch equivalent: torch.cuda.nvtx.range_end.
---@param handle userdata a result of range_start
function nvtx.range_end(handle) engine().range_end(handle) end

---Marks a moment. PyTorch equivalent: torch.cuda.nvtx.mark.
---@param msg string
function nvtx.mark(msg) engine().mark(msg) end

---Calls fn in a range, which ends when fn returns or raises an error. PyTorch equivalent: torch.cuda.nvtx.range.
---@param msg string
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local sum = torch.cuda.nvtx.range('forward', function(x) return x:sum() end, torch.ones(3))
---assert(sum:item() == 3)
---```
function nvtx.range(msg, fn, ...) return engine().range(msg, fn, ...) end

return require 'base.namespace'('torch.cuda.nvtx', nil, nvtx)
