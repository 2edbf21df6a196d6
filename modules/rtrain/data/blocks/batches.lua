-- rtrain/data/blocks/batches.lua: cuts a stream of blocks into batches of one size.

local RowQueue = require 'rtrain.data.blocks.row_queue'

local batches = {}

-- Returns the blocks unchanged, without empty ones.
local function whole_blocks(next_block)
  return function()
    for block in next_block do
      if block:num_rows() > 0 then return block end
    end
  end
end

---Returns batches of exactly `batch_size` rows, except the last one, independent of the block boundaries.
---@param next_block fun(): data.Block|nil
---@param batch_size? integer nil: the blocks unchanged
---@param drop_last? boolean leave out a last batch that is shorter
---@param copies? boolean the tensors of batches of that size are of no other block
---@return fun(): data.Block|nil next_batch
function batches.of(next_block, batch_size, drop_last, copies)
  if batch_size == nil then return whole_blocks(next_block) end
  local queue = RowQueue(next_block, copies)
  return function()
    while queue:num_rows() < batch_size and queue:pull() do end
    local count = math.min(batch_size, queue:num_rows())
    if count == 0 or (drop_last and count < batch_size) then return nil end
    return queue:take(count)
  end
end

return batches
