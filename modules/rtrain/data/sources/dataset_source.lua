-- rtrain/data/sources/dataset_source.lua: the samples of a torch.utils.data.Dataset as rows: data.from_torch.

local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local ffi = require 'ffi'
local Source = require 'rtrain.data.sources.source'
local torch = require 'torch'
local worker = require 'torch.utils.data.worker'

local ROWS = 256

---Samples of a map-style dataset in the column `item`.
---@class data.DatasetSource: data.Source
---@overload fun(dataset: data.Dataset): data.DatasetSource
local DatasetSource = Source:extend('DatasetSource')
DatasetSource.name = 'FromTorch'
DatasetSource.random_access = true

function DatasetSource:init(dataset) self._dataset = dataset end

function DatasetSource:num_rows() return self._dataset:len() end

function DatasetSource:fragments()
  local out, total = {}, self:num_rows()
  for start = 0, total - 1, ROWS do out[#out + 1] = {start = start, rows = math.min(ROWS, total - start)} end
  return out
end

function DatasetSource:cut(fragment, skip, count) return {start = fragment.start + skip, rows = count} end

local function packed(...) return select('#', ...), {...} end

-- Keeps the type of a label that the dataset declares as int64 when it becomes a separate column.
local function typed(value, dtype)
  if dtype == 'int64' and type(value) == 'number' then return ffi.new('int64_t', value) end
  return value
end

local function item_of(dataset, i)
  local count, values = packed(dataset:get(i))
  local dtypes = dataset.dtypes or {}
  for k = 1, count do values[k] = typed(values[k], dtypes[k]) end
  if count == 1 then return values[1] end
  return values
end

local function samples(self, indices, seed)
  local rows, making = {}, {seed = seed}
  for k, i in ipairs(indices) do
    worker.begin(making, i)
    local ok, item = xpcall(item_of, errors.wrap, self._dataset, i)
    worker.finish()
    if not ok then
      item.message = ('sample %d: %s'):format(i, item.message)
      error(item, 0)
    end
    rows[k] = {item = item}
  end
  return rows
end

---Returns the samples at the given places. Numbers from data.sample_generator() depend only on the seed and the sample.
---@param indices torch.Tensor int64
---@param options? table as of read
---@return data.Block
function DatasetSource:take(indices, options)
  return Block.from_rows(samples(self, indices:tolist(), options and options.seed or 0))
end

function DatasetSource:read(fragment, options)
  local indices, at = fragment.indices or torch.arange(fragment.start, fragment.start + fragment.rows), 0
  local step = math.min(options.max_rows or 32, 32)
  return function()
    if at >= fragment.rows then return nil end
    local first = at
    at = math.min(at + step, fragment.rows)
    return self:take(indices:narrow(0, first, at - first), options)
  end
end

return DatasetSource
