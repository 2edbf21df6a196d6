-- rtrain/data/executor/chain.lua: Chain: applies the fused operators of a plan to one fragment, in a thread of the
-- pool.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local count = require 'rtrain.data.executor.count'
local intervals = require 'rtrain.data.rows.intervals'
local once = require 'rtrain.data.blocks.once'
local Selection = require 'rtrain.data.rows.selection'

---A request: {fragment, number, name} of the chain's source, or {block, first_row, numbers, number, name}.
---@class data.Request
---@field fragment? table
---@field block? table a result of Block:pack()
---@field first_row? integer number of the block's first row
---@field numbers? torch.Tensor int64: numbers of its rows, counted from the first; nil: neighbouring rows
---@field number integer number of the fragment
---@field name string the place of the rows, for messages; '' if unknown

---Reads a fragment and applies fused operators. Arguments: source (nil: requests carry blocks), operators, {seed, max_bytes,
---max_rows}.
---@class data.Chain
---@overload fun(source: data.Source|nil, operators: data.Operator[], options: table): data.Chain
local Chain = class('Chain')

function Chain:init(source, operators, options)
  self.source, self.operators, self._options = source, operators, options
end

---@return string[] names of the entries in the stats, in order
function Chain:names()
  local out = {}
  if self.source then out[1] = self.source.name end
  for _, operator in ipairs(self.operators) do out[#out + 1] = operator.name end
  return out
end

-- Leaves out the rows before `skip` and ends after `wanted` rows.
local function cut(next_block, skip, wanted)
  local missing = wanted
  return function()
    while missing > 0 do
      local block = next_block()
      if block == nil then return nil end
      local rows = block:num_rows()
      local from = math.min(skip, rows)
      local length = math.min(rows - from, missing)
      skip, missing = skip - from, missing - length
      if length > 0 then return block:narrow(from, length) end
    end
  end
end

-- Copies rows in memory, which belong to the source: writes of a user function must not change them.
local function copies(next_block)
  return function()
    local block = next_block()
    return block and block:copy()
  end
end

-- Returns the blocks of a file, with the origin of their rows. `first`: the number of the first one there.
local function with_origins(next_block, name, first)
  return function()
    local block = next_block()
    if block == nil then return nil end
    first = first + block:num_rows()
    return block:from(name, first - block:num_rows())
  end
end

local function input(self, request)
  if request.block then return once(Block.unpack(request.block)) end
  local fragment = request.fragment
  local next_block = self.source:read(fragment, self._options)
  if request.name ~= '' then next_block = with_origins(next_block, request.name, fragment.start or 0) end
  if fragment.count then next_block = cut(next_block, fragment.skip, fragment.count) end
  next_block = Selection.of_fragment(fragment, next_block)
  return self.source.in_memory and copies(next_block) or next_block
end

---Returns the blocks that a request produces.
---@param request data.Request
---@return fun(): data.Block|nil
---@return table[] counts one for each name of `names`, complete at the end: rows, blocks, bytes, total_s (including
---  the operators before)
function Chain:run(request)
  local counts, next_block = {}, input(self, request)
  if self.source then
    counts[1] = count.new()
    next_block = count.stream(counts[1], next_block)
  end
  local fragment = request.fragment or request
  local first_row = (fragment.first_row or fragment.start or 0) + (fragment.skip or 0)
  local numbers = fragment.keep and intervals.places(fragment.keep) or fragment.numbers
  for _, operator in ipairs(self.operators) do
    local entry = count.new()
    counts[#counts + 1] = entry
    next_block = count.stream(entry, operator:stream(next_block, {
      label = request.name, number = request.number, seed = self._options.seed, first_row = first_row, numbers = numbers}))
    -- Rows behind an operator that changes their number are counted.
    numbers = operator.preserves_rows and numbers or nil
  end
  return next_block, counts
end

-- A thread's blocks are garbage once they are handed over. Lua's collector sees only a few bytes of each and would
-- start late, so the thread starts it after this many bytes. A thread's heap is small: a collection takes a
-- millisecond.
local COLLECT_BYTES = 16 * 2 ^ 20

---Returns the chain as a function for torch._C.data.Pool: the results of a request are {block} for each block, and
---{counts} at the end.
---@return fun(request: data.Request): fun(): table|nil
function Chain:worker()
  local made_bytes = 0
  return function(request)
    local next_block, counts = self:run(request)
    local is_done = false
    return function()
      if is_done then return nil end
      if made_bytes >= COLLECT_BYTES then
        made_bytes = 0
        collectgarbage()
      end
      local block = next_block()
      if block then
        made_bytes = made_bytes + block:size_bytes()
        return {block = block:pack()}
      end
      is_done = true
      return {counts = counts}
    end
  end
end

return Chain
