-- rtrain/data/sources/range_source.lua: RangeSource: the rows of data.range and data.range_tensor, computed when they
-- are read.

local Block = require 'rtrain.data.blocks.block'
local fragments = require 'rtrain.data.rows.fragments'
local Source = require 'rtrain.data.sources.source'
local once = require 'rtrain.data.blocks.once'
local torch = require 'torch'

local ROWS = 2 ^ 16

---The numbers 0 … n - 1. Arguments: n; {shape}: the column `data` holds tensors of this shape; without it the column
---`id` holds numbers; {num_blocks}.
---@class data.RangeSource: data.Source
---@overload fun(n: integer, options?: table): data.RangeSource
local RangeSource = Source:extend('RangeSource')
RangeSource.name = 'ReadRange'
RangeSource.in_memory = true
RangeSource.random_access = true
RangeSource.gives_views = true

function RangeSource:init(n, options)
  self._n, self._shape = n, options and options.shape
  self._step = ROWS
  if options and options.num_blocks then self._step = math.max(1, math.ceil(n / options.num_blocks)) end
end

function RangeSource:num_rows() return self._n end

function RangeSource:schema() return self:take(torch.empty({0}, {dtype = 'int64'})):schema() end

function RangeSource:fragments()
  local out = {}
  for start = 0, self._n - 1, self._step do
    out[#out + 1] = {start = start, rows = math.min(self._step, self._n - start)}
  end
  return out
end

function RangeSource:cut(fragment, skip, count) return {start = fragment.start + skip, rows = count} end

function RangeSource:gather(fragment, places, run)
  local bytes = 8 * run
  for _, size in ipairs(self._shape or {}) do bytes = bytes * size end
  return fragments.gathered(fragment, places, bytes)
end

---Returns the rows at the given places.
---@param indices torch.Tensor int64
---@return data.Block
function RangeSource:take(indices)
  if not self._shape then return Block({'id'}, {indices:clone()}) end
  local sizes, ones = {indices:size(0)}, {indices:size(0)}
  for i, size in ipairs(self._shape) do sizes[i + 1], ones[i + 1] = size, 1 end
  return Block({'data'}, {indices:view(ones):expand(sizes):contiguous()})
end

function RangeSource:read(fragment)
  return once(self:take(torch.arange(fragment.start, fragment.start + (fragment.span or fragment.rows))))
end

return RangeSource
