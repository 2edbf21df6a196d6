-- rtrain/data/executor/count.lua: counts rows, blocks, bytes and time at one place of a pipeline.

local monotonic = require('base._system').monotonic

local count = {}

local FIELDS = {'rows', 'blocks', 'bytes', 'total_s'}

---@class data.Count
---@field rows integer
---@field blocks integer
---@field bytes integer
---@field total_s number seconds until the blocks arrived, including all operators before

---@return data.Count zero
function count.new() return {rows = 0, blocks = 0, bytes = 0, total_s = 0} end

---@param to data.Count
---@param more data.Count
function count.add(to, more)
  for _, name in ipairs(FIELDS) do to[name] = to[name] + more[name] end
end

---Returns a stream that counts the blocks that pass through.
---@param to data.Count
---@param next_block fun(): data.Block|nil
---@return fun(): data.Block|nil
function count.stream(to, next_block)
  return function()
    local start = monotonic()
    local block = next_block()
    to.total_s = to.total_s + monotonic() - start
    if block then
      to.rows, to.blocks = to.rows + block:num_rows(), to.blocks + 1
      to.bytes = to.bytes + block:size_bytes()
    end
    return block
  end
end

return count
