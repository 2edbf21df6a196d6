-- rtrain/data/sources/memory_source.lua: MemorySource: rows in memory: of from_items, from_tensors, materialize().

local Block = require 'rtrain.data.blocks.block'
local fragments = require 'rtrain.data.rows.fragments'
local Source = require 'rtrain.data.sources.source'
local torch = require 'torch'

-- Small, so that a few megabytes keep all threads busy.
local FRAGMENT_BYTES = 2 ^ 20

---Blocks in memory. Arguments: blocks, all with the same columns; {name, num_blocks}: the number of fragments.
---@class data.MemorySource: data.Source
---@overload fun(blocks: data.Block[], options?: table): data.MemorySource
local MemorySource = Source:extend('MemorySource')
MemorySource.in_memory = true
MemorySource.random_access = true
MemorySource.gives_views = true

function MemorySource:init(blocks, options)
  self._blocks, self.name = blocks, options and options.name or 'InMemory'
  self._num_blocks = options and options.num_blocks
end

---@return data.Block[]
function MemorySource:blocks() return self._blocks end

function MemorySource:num_rows()
  local rows = 0
  for _, block in ipairs(self:blocks()) do rows = rows + block:num_rows() end
  return rows
end

---@return integer
function MemorySource:size_bytes()
  local bytes = 0
  for _, block in ipairs(self:blocks()) do bytes = bytes + block:size_bytes() end
  return bytes
end

function MemorySource:schema()
  local first = self:blocks()[1]
  return first and first:schema()
end

local function rows_of_fragment(self, block)
  if self._num_blocks then return math.max(1, math.ceil(self:num_rows() / self._num_blocks)) end
  local rows = block:num_rows()
  return math.max(1, math.floor(rows * FRAGMENT_BYTES / math.max(block:size_bytes(), 1)))
end

function MemorySource:fragments(context)
  local out, first = {}, 0
  for _, block in ipairs(self:blocks()) do
    local rows = block:num_rows()
    local step = context and context.views and math.max(1, rows) or rows_of_fragment(self, block)
    for start = 0, rows - 1, step do
      out[#out + 1] = {start = first + start, rows = math.min(step, rows - start)}
    end
    first = first + rows
  end
  return out
end

function MemorySource:cut(fragment, skip, count) return {start = fragment.start + skip, rows = count} end

function MemorySource:gather(fragment, places, run)
  return fragments.gathered(fragment, places, run * self:size_bytes() / math.max(self:num_rows(), 1))
end

function MemorySource:read(fragment)
  local first, position = fragment.start, 0
  local last = first + (fragment.span or fragment.rows)
  local blocks, i = self:blocks(), 0
  return function()
    while blocks[i + 1] and position < last do
      i = i + 1
      local block, start = blocks[i], position
      position = position + block:num_rows()
      local from, to = math.max(first, start), math.min(last, position)
      if from < to then return block:narrow(from - start, to - from) end
    end
  end
end

-- Takes the rows of each block, then puts all into the requested order.
local function take_of_many(blocks, indices)
  local order, parts, first = {}, {}, 0
  for _, block in ipairs(blocks) do
    local rows = block:num_rows()
    local here = indices:ge(first):logical_and(indices:lt(first + rows)):nonzero():flatten()
    if here:numel() > 0 then
      order[#order + 1] = here
      parts[#parts + 1] = block:take(indices:index_select(0, here) - first)
    end
    first = first + rows
  end
  local places = torch.cat(order)
  local inverse = torch.empty_like(places):scatter_(0, places, torch.arange(places:size(0)))
  return Block.concat(parts):take(inverse)
end

---Returns the rows at the given places.
---@param indices torch.Tensor int64
---@return data.Block
function MemorySource:take(indices)
  local blocks = self:blocks()
  if #blocks == 1 or indices:numel() == 0 then return blocks[1]:take(indices) end
  return take_of_many(blocks, indices)
end

return MemorySource
