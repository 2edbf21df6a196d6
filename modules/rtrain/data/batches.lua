-- rtrain/data/batches.lua: a stream of blocks cut into batches of one size.

local Block = require 'rtrain.data.block'

local batches = {}

-- Takes blocks off the stream until `wanted` rows are there or it ends.
local function gather(state, wanted)
  while state.rows < wanted do
    local block = state.next_block()
    if block == nil then return end
    if block:num_rows() > 0 then
      state.list[#state.list + 1] = block
      state.rows = state.rows + block:num_rows()
    end
  end
end

-- Takes `count` rows off the front.
local function cut(state, count)
  local parts, missing = {}, count
  while missing > 0 do
    local front = state.list[1]
    local here = math.min(missing, front:num_rows() - state.start)
    parts[#parts + 1] = front:narrow(state.start, here)
    state.start, missing = state.start + here, missing - here
    if state.start == front:num_rows() then
      table.remove(state.list, 1)
      state.start = 0
    end
  end
  state.rows = state.rows - count
  return Block.concat(parts)
end

-- Blocks as they come, without empty ones.
local function whole_blocks(next_block)
  return function()
    for block in next_block do
      if block:num_rows() > 0 then return block end
    end
  end
end

---Batches of exactly `batch_size` rows, except the last one, however the rows lie in blocks.
---@param next_block fun(): data.Block|nil
---@param batch_size? integer nil: the blocks as they come
---@param drop_last? boolean leave out a last batch that is shorter
---@return fun(): data.Block|nil next_batch
function batches.of(next_block, batch_size, drop_last)
  if batch_size == nil then return whole_blocks(next_block) end
  local state = {next_block = next_block, list = {}, rows = 0, start = 0}
  return function()
    gather(state, batch_size)
    local count = math.min(batch_size, state.rows)
    if count == 0 or (drop_last and count < batch_size) then return nil end
    return cut(state, count)
  end
end

return batches
