-- rtrain/data/from.lua: datasets of values in memory: from_items, from_torch, from_tensors, range.

local args = require 'base.args'
local Block = require 'rtrain.data.blocks.block'
local checks = require 'rtrain.data.dataset.checks'
local class = require 'base.class'
local Dataset = require 'rtrain.data.dataset'
local DatasetSource = require 'rtrain.data.sources.dataset_source'
local errors = require 'base.errors'
local list_length = require 'base.list_length'
local MemorySource = require 'rtrain.data.sources.memory_source'
local ordered = require 'base.ordered'
local Plan = require 'rtrain.data.executor.plan'
local RangeSource = require 'rtrain.data.sources.range_source'
local torch = require 'torch'

local from = {}

local function num_blocks(owner, a)
  return a.override_num_blocks and checks.count(owner, 'override_num_blocks', a.override_num_blocks, 1)
end

local function is_row(item)
  if type(item) ~= 'table' or item == torch.none then return false end
  return ordered.is(item) or (getmetatable(item) == nil and (next(item) == nil or type(next(item)) == 'string'))
end

-- Returns the items as rows: a table with names is a row, any other value goes into the column `item`.
local function rows_of(items)
  local rows = {}
  local has_names = is_row(items[1])
  for i = 1, list_length('from_items', items) do
    local item = items[i]
    if is_row(item) ~= has_names then
      errors.raise('argument', ('from_items: item %d is %s, the first one is %s'):format(i,
        is_row(item) and 'a row' or 'not a row', has_names and 'a row {column = value}' or 'none'))
    end
    rows[i] = has_names and item or {item = item}
  end
  return rows
end

local items_signature = args.signature('from_items', {'items', {'parallelism'}, {'override_num_blocks'}})

---Returns a dataset of a list: tables with names are rows, other values go into the column `item`. A column of numbers
---becomes int64 if all are whole, else float64. Arguments: items, {override_num_blocks}. Ray equivalent:
---ray.data.from_items.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.from_items{{x = 1, name = 'one'}, {x = 2, name = 'two'}}
---assert(ds:count() == 2 and data.from_items{10, 20}:take(1)[1].item == 10)
---```
---@return rtrain.data.Dataset
function from.from_items(...)
  local a = items_signature:bind(...)
  if type(a.items) ~= 'table' then
    errors.raise('argument', ('from_items: expected a list of items, got a %s'):format(type(a.items)))
  end
  local block = Block.from_rows(rows_of(a.items), nil, {default_dtype = 'number'})
  local source = MemorySource({block}, {name = 'FromItems', num_blocks = num_blocks('from_items', a)})
  return Dataset(Plan(source))
end

local range_signature = args.signature('range', {'n', {'parallelism'}, {'concurrency'}, {'override_num_blocks'}})

---Returns the numbers 0 … n - 1 in the int64 column `id`. Arguments: n, {override_num_blocks}. Ray equivalent:
---ray.data.range.
---@return rtrain.data.Dataset
function from.range(...)
  local a = range_signature:bind(...)
  local n = checks.count('range', 'n', a.n, 0)
  return Dataset(Plan(RangeSource(n, {num_blocks = num_blocks('range', a)})))
end

local range_tensor_signature = args.signature('range_tensor', {'n', {'shape', {1}}, {'override_num_blocks'}})

---Returns tensors of int64 in the column `data`, the i-th one filled with i. Arguments: n, {shape = {1},
---override_num_blocks}. Ray equivalent: ray.data.range_tensor.
---
---```lua
---local data = require 'rtrain.data'
---local row = data.range_tensor(5, {shape = {2, 2}}):take(4)[4]
---assert(row.data:sum():item() == 12)
---```
---@return rtrain.data.Dataset
function from.range_tensor(...)
  local a = range_tensor_signature:bind(...)
  local n = checks.count('range_tensor', 'n', a.n, 0)
  if type(a.shape) ~= 'table' or #a.shape == 0 then
    errors.raise('argument', 'range_tensor: shape is a list of sizes: {2, 2}')
  end
  for i, size in ipairs(a.shape) do checks.count('range_tensor', ('size %d of shape'):format(i), size, 1) end
  return Dataset(Plan(RangeSource(n, {shape = a.shape, num_blocks = num_blocks('range_tensor', a)})))
end

---Returns the samples of a torch.utils.data.Dataset in the column `item`: the value that get(i) returns, or a list if
---it returns several. Labels that the dataset declares as int64 become int64 cdata, so that they keep their type in a
---separate column. Samples are made in threads. Ray equivalent: ray.data.from_torch.
---@param dataset data.Dataset
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---local torch = require 'torch'
---local pairs_of = torch.utils.data.TensorDataset(torch.rand(4, 3), torch.arange(4))
---local ds = data.from_torch(pairs_of):map(function(row) return {x = row.item[1], y = row.item[2]} end)
---assert(ds:take(3)[3].y == 2)
---```
function from.from_torch(dataset)
  if not class.is(dataset, torch.utils.data.Dataset) then
    errors.raise('argument', ('from_torch: expected a torch.utils.data.Dataset, got a %s'):format(type(dataset)))
  end
  return Dataset(Plan(DatasetSource(dataset)))
end

---Returns a dataset of tensors by name; the first dimension is the rows. They are not copied. In place of Ray's
---from_numpy.
---@param columns table<string, torch.Tensor>|torch.Tensor a single tensor becomes the column `data`
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---local torch = require 'torch'
---local ds = data.from_tensors{x = torch.rand(4, 3), y = torch.arange(4)}
---assert(ds:count() == 4 and ds:schema().types[1] == 'tensor<float32>[3]')
---```
function from.from_tensors(columns)
  if torch.is_tensor(columns) then columns = {data = columns} end
  return Dataset.from_blocks({Block.from_batch(columns)}, {name = 'FromTensors'})
end

---Returns a dataset of blocks, for callers that make blocks themselves.
---@param blocks data.Block[]
---@return rtrain.data.Dataset
function from.from_blocks(blocks) return Dataset.from_blocks(blocks) end

return from
