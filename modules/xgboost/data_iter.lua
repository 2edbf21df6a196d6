-- xgboost/data_iter.lua: DataIter: batches for a QuantileDMatrix, from a user's class or a dataset.

local array = require 'xgboost.array'
local class = require 'base.class'
local columns = require 'xgboost.columns'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

---@class xgboost.Batch
---@field data torch.Tensor|table<string, torch.Tensor|any[]> (n, features), or columns by name
---@field label? torch.Tensor|any[]|string values, or the name of the column with the values; likewise for the fields
---  below
---@field weight? torch.Tensor|any[]|string
---@field base_margin? torch.Tensor|any[]|string
---@field qid? torch.Tensor|any[]|string
---@field label_lower_bound? torch.Tensor|any[]|string
---@field label_upper_bound? torch.Tensor|any[]|string
---@field feature_names? string[]
---@field feature_types? string[]

---Batches for a QuantileDMatrix. A subclass defines `next` and `reset`. XGBoost iterates over the batches several
---times, and they must be the same each time. Python equivalent: xgboost.DataIter.
---
---```lua
---local torch, xgboost = require 'torch', require 'xgboost'
---local Halves = xgboost.DataIter:extend('Halves')
---function Halves:reset() self.i = 0 end
---function Halves:next(input_data)
---  if self.i == 2 then return false end
---  self.i = self.i + 1
---  local x = torch.arange(4):view(4, 1) + self.i * 4
---  input_data {data = x, label = x:view(-1):remainder(2)}
---  return true
---end
---assert(xgboost.QuantileDMatrix(Halves()):num_row() == 8)
---```
---@class xgboost.DataIter
---@overload fun(): xgboost.DataIter
local DataIter = class('DataIter')

---Passes the next batch to `input_data`.
---@param input_data fun(batch: xgboost.Batch)
---@return boolean more false if there was no further batch
function DataIter:next(input_data)  -- luacheck: no unused args
  errors.raise('argument', ('%s has no method next(input_data)'):format(self.__name))
end

---Returns to the first batch.
function DataIter:reset()
  errors.raise('argument', ('%s has no method reset()'):format(self.__name))
end

-- A single batch: a QuantileDMatrix of tensors.
local Once = DataIter:extend('Once')

function Once:init(batch) self._batch = batch end

function Once:reset() self._is_over = false end

function Once:next(input_data)
  if self._is_over then return false end
  self._is_over = true
  input_data(self._batch)
  return true
end

-- The blocks of a dataset of rtrain.data, or of a rank's part of one: each pass yields the same epoch.
local Blocks = DataIter:extend('Blocks')

function Blocks:init(iterator, meta) self._iterator, self._meta, self._start = iterator, meta, iterator:state() end

function Blocks:reset()
  self._iterator:load_state(self._start)
  self._next = nil
end

function Blocks:next(input_data)
  self._next = self._next or self._iterator:_blocks():iter()
  local block = self._next()
  while block and block:num_rows() == 0 do block = self._next() end
  if block == nil then return false end
  local batch = {data = block:to_batch {nan = true}}
  for name, value in next, self._meta do batch[name] = value end
  input_data(batch)
  return true
end

local data_iter = {DataIter = DataIter}

---@param data any
---@return boolean whether it is a dataset of rtrain.data, or a rank's part of one
function data_iter.is_dataset(data)
  if type(data) ~= 'table' and type(data) ~= 'userdata' or array.is_tensor(data) then return false end
  local of = class.of(data)
  return of ~= nil and (of.iterator ~= nil or of._blocks ~= nil)
end

---Returns an iterator over the data.
---@param who string for messages
---@param data xgboost.DataIter|torch.Tensor|table|rtrain.data.DataIterator|rtrain.data.Dataset
---@param meta table label and similar fields, by name
---@return xgboost.DataIter
function data_iter.of(who, data, meta)
  if class.is(data, DataIter) then
    local name = next(meta)
    if name then
      errors.raise('argument', ('%s: %s belongs into the batches of the DataIter: input_data {data = …, %s = …}'):format(who,
        name, name))
    end
    return data
  end
  if data_iter.is_dataset(data) then
    return Blocks(class.of(data)._blocks and data or data:iterator(), meta)
  end
  local batch = {data = data}
  for name, value in next, meta do batch[name] = value end
  return Once(batch)
end

-- Fields that may name a column instead of having values.
data_iter.COLUMNS = {'label', 'weight', 'base_margin', 'qid', 'label_lower_bound', 'label_upper_bound'}

---Returns a batch with values in place of the names of columns.
---@param who string
---@param batch xgboost.Batch
---@param fields? string[] fields that may name a column (default COLUMNS)
---@return {matrix?: torch.Tensor, columns?: {names: string[], tensors: torch.Tensor[]}, num_rows: integer,
---  meta: table<string, any>}
function data_iter.resolve(who, batch, fields)
  local data, meta, left_out = batch.data, {}, {}
  for _, field in ipairs(fields or data_iter.COLUMNS) do
    local value = batch[field]
    if type(value) == 'string' then
      if array.is_tensor(data) then
        errors.raise('argument', ("%s: %s = '%s' names a column, and the data are one tensor: pass the values"):format(who,
          field, value))
      end
      left_out[#left_out + 1] = value
      value = columns.take(who, data, field, value)
    end
    meta[field] = value
  end
  if array.is_tensor(data) then
    local matrix = array.tensor(who .. ': data', data)
    if matrix:dim() == 2 then return {matrix = matrix, num_rows = matrix:size(0), meta = meta} end
    errors.raise('argument', ('%s: data has %d dimensions, expected two: rows and features'):format(who, matrix:dim()))
  end
  if type(data) ~= 'table' then
    errors.raise('argument', ('%s: data is a %s, expected a tensor (rows, features), a table column → values, a dataset of '
      .. 'rtrain.data, or a DataIter'):format(who, type(data)))
  end
  -- For a dataset, only the columns for features are named; for a tensor, all columns are named.
  local features = columns.features(who, data, left_out, batch.feature_names)
  return {columns = features, num_rows = features.num_rows, meta = meta}
end

---Returns a whole dataset: the columns of its blocks, concatenated.
---@param who string
---@param data rtrain.data.DataIterator|rtrain.data.Dataset
---@param meta table label and similar fields
---@param fields? string[] fields that may name a column (default COLUMNS)
---@return table<string, torch.Tensor> columns an ordered map
---@return table<string, torch.Tensor> meta
function data_iter.gathered(who, data, meta, fields)
  local torch, names, parts, metas = require 'torch', nil, {}, {}
  fields = fields or data_iter.COLUMNS
  local iter = data_iter.of(who, data, meta)
  iter:reset()
  local function input(batch)
    local part = data_iter.resolve(who, batch, fields)
    names = names or part.columns.names
    for i, tensor in ipairs(part.columns.tensors) do
      parts[i] = parts[i] or {}
      table.insert(parts[i], tensor:clone())
    end
    for field, value in next, part.meta do
      metas[field] = metas[field] or {}
      table.insert(metas[field], array.tensor(field, value):clone())
    end
  end
  repeat until not iter:next(input)
  if names == nil then errors.raise('argument', who .. ': the dataset has no rows') end
  local out, out_meta = ordered.new(), {}
  for i, name in ipairs(names) do out[name] = torch.cat(parts[i]) end
  for _, field in ipairs(fields) do
    if metas[field] then out_meta[field] = torch.cat(metas[field]) end
  end
  return out, out_meta
end

return data_iter
