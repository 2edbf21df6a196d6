-- rtrain/data/blocks/once.lua: a stream that consists of a single block.

---@param block data.Block|nil
---@return fun(): data.Block|nil next_block releases the block when it returns it
return function(block)
  return function()
    local out = block
    block = nil
    return out
  end
end
