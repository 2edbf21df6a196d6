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

---Returns a batch for each interval of rows, of a stream with all rows between the first and the last.
---@param next_block fun(): data.Block|nil
---@param rows data.StepRows
---@param options data.Batching
---@return fun(): data.Block|nil next_batch
function batches.of_steps(next_block, rows, options)
  local queue, next_interval, at = RowQueue(next_block, options.copies), rows:each(), rows:span()[1]
  return function()
    local interval = next_interval()
    if interval == nil then return nil end
    local skip, count = interval[1] - at, interval[2] - interval[1]
    if options.drop_last and count < options.batch_size then return nil end
    while queue:num_rows() < skip + count and queue:pull() do end
    queue:skip(skip)
    at = interval[2]
    return queue:take(count)
  end
end

return batches
