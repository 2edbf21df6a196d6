-- torch/distributed/fsdp/batches.lua: divides tensors into batches for collectives, which need memory for what they send and
-- receive.

local MOST_BYTES = 32 * 2 ^ 20

---Returns lists of the tensors' indices, in order: each of at most 32 MiB, or of one tensor.
---@param tensors torch.Tensor[]
---@return integer[][]
---
---```lua
---local torch, batches = require 'torch', require 'torch.distributed.fsdp.batches'
---local large, small = torch.empty(2 ^ 23), torch.empty(2)
---assert(#batches{small, small, large, small} == 3)
---```
return function(tensors)
  local lists, bytes = {}, math.huge
  for i, tensor in ipairs(tensors) do
    local size = tensor:numel() * tensor:element_size()
    if bytes + size > MOST_BYTES then lists[#lists + 1], bytes = {}, 0 end
    table.insert(lists[#lists], i)
    bytes = bytes + size
  end
  return lists
end
