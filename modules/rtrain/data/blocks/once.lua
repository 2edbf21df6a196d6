-- rtrain/data/blocks/once.lua: a stream of one block.

---@param block data.Block|nil
---@return fun(): data.Block|nil next_block which does not hold the block once it has given it
return function(block)
  return function()
    local out = block
    block = nil
    return out
  end
end
