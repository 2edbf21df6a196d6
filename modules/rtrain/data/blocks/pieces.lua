-- rtrain/data/blocks/pieces.lua: cuts the blocks of a stream into pieces of at most max_rows rows.

---@param next_block fun(): data.Block|nil
---@param max_rows? integer nil: the blocks as they are
---@return fun(): data.Block|nil
---
---```lua
---local Block, pieces = require 'rtrain.data.blocks.block', require 'rtrain.data.blocks.pieces'
---local once, torch = require 'rtrain.data.blocks.once', require 'torch'
---local next_block = pieces(once(Block({'id'}, {torch.arange(5)})), 2)
---assert(next_block():num_rows() == 2 and next_block():num_rows() == 2 and next_block():num_rows() == 1)
---```
local function pieces(next_block, max_rows)
  local block, start
  return function()
    if block == nil or start == block:num_rows() then
      block, start = next_block(), 0
      if block == nil then return nil end
    end
    local count = math.min(max_rows or math.huge, block:num_rows() - start)
    start = start + count
    return block:narrow(start - count, count)
  end
end

return pieces
