-- rtrain/data/dataset/transforms.lua: methods of Dataset that transform the rows: map, filter, columns, order, union.

local args = require 'base.args'
local batch_operators = require 'rtrain.data.operators.batches'
local checks = require 'rtrain.data.dataset.checks'
local column_operators = require 'rtrain.data.operators.columns'
local combine = require 'rtrain.data.operators.combine'
local errors = require 'base.errors'
local functions = require 'rtrain.data.operators.function_options'
local Limit = require 'rtrain.data.operators.limit'
local order = require 'rtrain.data.operators.order'
local row_operators = require 'rtrain.data.operators.rows'
local sources = require 'rtrain.data.sources.derived_sources'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

local map_signature = functions.signature('map', {'fn'})
local flat_map_signature = functions.signature('flat_map', {'fn'})
local filter_signature = functions.signature('filter', {'fn'})
local map_batches_signature = functions.signature('map_batches', {'fn', {'batch_size'}, {'batch_format', 'default'},
                                                        {'zero_copy_batch', true}})
local add_column_signature = functions.signature('add_column', {'col', 'fn', {'batch_format', 'default'}})

---Calls a function for each row; its result is the new row. A row is a table column → Lua value or tensor, without
---entries for null (floats: NaN); the function may change and return it. Numbers of a column keep the column's dtype; a
---new column of Lua numbers is float32 (int64 for int64 cdata), unless `dtypes` says otherwise. `fn` may be a class, or
---a table {init = …, call = …}: each thread makes an instance. It runs in threads, on a copy of its upvalues.
---Arguments: fn, {fn_args, fn_kwargs, fn_constructor_args, fn_constructor_kwargs, dtypes}; compute, num_cpus, memory
---and concurrency are accepted and change nothing: all operators share the threads of DataContext. Ray equivalent:
---Dataset.map.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.from_items{{x = 1}, {x = 2}}:map(function(row)
---  row.half = row.x / 2
---  return row
---end)
---assert(ds:take(2)[2].half == 1 and ds:schema().types[2] == 'float32')
---```
---@return rtrain.data.Dataset
function Dataset:map(...)
  local a = map_signature:bind(...)
  return self:_with(row_operators.MapRows(functions.made('map', a), {dtypes = a.dtypes}))
end

---Calls a function for each row; it returns a list of any number of rows. Arguments: fn, options as of `map`. Ray equivalent:
---Dataset.flat_map.
---
---```lua
---local data = require 'rtrain.data'
---local twice = data.range(2):flat_map(function(row) return {row, {id = row.id + 10}} end)
---assert(twice:count() == 4 and twice:take_all()[2].id == 10)
---```
---@return rtrain.data.Dataset
function Dataset:flat_map(...)
  local a = flat_map_signature:bind(...)
  return self:_with(row_operators.FlatMapRows(functions.made('flat_map', a), {dtypes = a.dtypes}))
end

---Returns the rows for which a function returns true. Arguments: fn, options as of `map`. Ray equivalent:
---Dataset.filter.
---
---```lua
---local data = require 'rtrain.data'
---assert(data.range(10):filter(function(row) return row.id % 2 == 0 end):count() == 5)
---```
---@return rtrain.data.Dataset
function Dataset:filter(...)
  local a = filter_signature:bind(...)
  return self:_with(row_operators.FilterRows(functions.made('filter', a)))
end

---Calls a function for each batch: a table column → tensor (its first dimension is the rows), or a list for strings,
---Lua values, and for integers and booleans with null (torch.none for a null). The function returns such a table, or an
---iterator over such tables. Arguments: fn, {batch_size (nil: the blocks as they are read), batch_format = 'default'
---('torch' and 'numpy' are the same), zero_copy_batch}, and those of `map`. The last batch of a file or row group may
---be shorter. Ray equivalent: Dataset.map_batches.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.range(6):map_batches(function(batch)
---  batch.square = batch.id * batch.id
---  return batch
---end, {batch_size = 2})
---assert(ds:take(6)[6].square == 25)
---```
---@return rtrain.data.Dataset
function Dataset:map_batches(...)
  local a = map_batches_signature:bind(...)
  functions.check_format('map_batches', a.batch_format)
  local size = a.batch_size
  if size == 'default' then size = 1024 end
  if size ~= nil then checks.count('map_batches', 'batch_size', size, 1) end
  return self:_with(batch_operators.MapBatches(functions.made('map_batches', a), {batch_size = size, dtypes = a.dtypes}))
end

---Adds a column that a function computes of each batch: a tensor or list with one value for each row, or one value for
---all. Arguments: col, fn, {batch_format}, and those of `map`. Ray equivalent: Dataset.add_column.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.range(3):add_column('next', function(batch) return batch.id + 1 end)
---assert(ds:take(3)[3].next == 3)
---```
---@return rtrain.data.Dataset
function Dataset:add_column(...)
  local a = add_column_signature:bind(...)
  functions.check_format('add_column', a.batch_format)
  if type(a.col) ~= 'string' then
    errors.raise('argument', ('add_column: the name of a column is a string, got a %s'):format(type(a.col)))
  end
  return self:_with(batch_operators.AddColumn(a.col, functions.made('add_column', a), {dtypes = a.dtypes}))
end

-- Adds a column operator. Raises an error at once for wrong names, if the columns are known.
local function with_columns(self, operator)
  local schema = self._plan:schema()
  if schema then operator:schema_of(schema) end
  return self:_with(operator)
end

---Returns the columns of these names, in this order; the other columns are not read if the file format allows it. Ray
---equivalent: Dataset.select_columns.
---@param cols string|string[]
---@return rtrain.data.Dataset
function Dataset:select_columns(cols)
  local names = checks.names('select_columns', cols)
  if #names == 0 then errors.raise('argument', 'select_columns: expected at least one name') end
  local selected = with_columns(self, column_operators.SelectColumns(names))
  local narrower = #self._plan.operators == 0 and self._plan.source:select(names)
  return narrower and selected:_over(narrower) or selected
end

---Returns all columns except these. Ray equivalent: Dataset.drop_columns.
---@param cols string|string[]
---@return rtrain.data.Dataset
function Dataset:drop_columns(cols)
  return with_columns(self, column_operators.DropColumns(checks.names('drop_columns', cols)))
end

---Renames columns. Ray equivalent: Dataset.rename_columns.
---@param names table<string, string>|string[] old name → new name, or new names for all columns
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---assert(data.range(1):rename_columns{id = 'number'}:columns()[1] == 'number')
---```
function Dataset:rename_columns(names)
  if type(names) ~= 'table' then
    errors.raise('argument', ('rename_columns: expected {old = new, …} or a list of names, got a %s'):format(type(names)))
  end
  return with_columns(self, column_operators.RenameColumns(names))
end

---Returns the first rows; later rows are not read. Ray equivalent: Dataset.limit.
---@param limit integer
---@return rtrain.data.Dataset
function Dataset:limit(limit)
  checks.count('limit', 'limit', limit, 0)
  local plan = self._plan
  local rows = plan:preserves_rows() and plan.source:num_rows()
  if rows then return self:_over(sources.SlicedSource(plan.source, 0, math.min(limit, rows))) end
  return self:_with(Limit(limit))
end

-- Numbers the shuffles without a seed, so that two of them, zipped, have different orders. A script makes them in the
-- same sequence each time.
local shuffles = 0

local function next_shuffle()
  shuffles = shuffles + 1
  return shuffles
end

-- Returns whether a shuffle before all operators has the same result.
local function commutes(plan)
  for _, operator in ipairs(plan.operators) do
    if operator.is_global or not operator.row_wise then return false end
  end
  return true
end

local shuffle_signature = args.signature('random_shuffle', {{'seed'}})

---Returns all rows in a random order, a new order in each epoch. Arguments: {seed}: with a seed the order depends on
---the seed and the epoch, without a seed also on the execution's seed. Rows in memory are not moved: only their numbers
---are permuted. Other rows are gathered, beyond DataContext's memory_bytes in temporary files. Ray equivalent:
---Dataset.random_shuffle.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.range(100):random_shuffle{seed = 1}
---assert(ds:count() == 100 and ds:take(1)[1].id == data.range(100):random_shuffle{seed = 1}:take(1)[1].id)
---```
---@return rtrain.data.Dataset
function Dataset:random_shuffle(...)
  local seed = shuffle_signature:bind(...).seed
  if seed ~= nil then checks.count('random_shuffle', 'seed', seed, 0) end
  local plan = self._plan
  if plan.source.random_access and commutes(plan) then
    return self:_over(sources.PermutedSource(plan.source, {seed = seed, index = next_shuffle()}))
  end
  return self:_with(order.RandomShuffle(seed, next_shuffle()))
end

local block_order_signature = args.signature('randomize_block_order', {{'seed'}})

---Returns the same rows with files, row groups or other pieces in a random order, a new order in each epoch: cheaper
---than random_shuffle. Arguments: {seed}. Ray equivalent: Dataset.randomize_block_order.
---@return rtrain.data.Dataset
function Dataset:randomize_block_order(...)
  local seed = block_order_signature:bind(...).seed
  if seed ~= nil then checks.count('randomize_block_order', 'seed', seed, 0) end
  local plan = self._plan
  if plan:last_global() == 0 then
    return self:_over(sources.ReorderedSource(plan.source, {seed = seed, index = next_shuffle()}))
  end
  return self:_with(order.RandomizeBlocks(seed, next_shuffle()))
end

local sort_signature = args.signature('sort', {'key', {'descending', false}})

---Returns all rows in the order of one or more columns. Rows with equal keys keep their order; nulls and NaN come last.
---Arguments: key (a name or a list of names), {descending = false} (a boolean, or a list with a boolean for each name).
---Ray equivalent: Dataset.sort.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.from_items{{x = 2, y = 'b'}, {x = 3, y = 'a'}}:sort('y')
---assert(ds:take(1)[1].x == 3)
---```
---@return rtrain.data.Dataset
function Dataset:sort(...)
  local a = sort_signature:bind(...)
  local keys = checks.names('sort', a.key)
  local schema = self._plan:schema()
  if schema then column_operators.SelectColumns(keys, 'sort'):schema_of(schema) end
  return self:_with(order.Sort(keys, a.descending))
end

-- Returns the dataset as a source if all its operators are fused, so that the fragments of several sources run on the
-- threads together.
local function as_source(dataset)
  local plan = dataset._plan
  if plan:last_global() > 0 then return nil end
  return #plan.operators == 0 and plan.source or sources.PlanSource(plan)
end

---Returns the rows of this dataset, followed by those of other datasets. Ray equivalent: Dataset.union.
---@param ... rtrain.data.Dataset
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---assert(data.range(2):union(data.range(3)):count() == 5)
---```
function Dataset:union(...)
  local list, plans = {as_source(self)}, {}
  for i = 1, select('#', ...) do
    local other = checks.dataset('union', (select(i, ...)))
    plans[i] = other._plan
    list[#list + 1] = as_source(other)
  end
  if #plans == 0 then return self end
  if #list == #plans + 1 then return Dataset(require 'rtrain.data.executor.plan'(sources.UnionSource(list))) end
  return self:_with(combine.Union(plans))
end

---Returns the columns of this dataset and of others, joined row by row; all must have the same number of rows. A
---duplicate name gets the suffix '_1'. Ray equivalent: Dataset.zip.
---@param ... rtrain.data.Dataset
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---local both = data.range(3):zip(data.range(3):rename_columns{id = 'other'})
---assert(both:take(3)[3].other == 2)
---```
function Dataset:zip(...)
  local out = self
  for i = 1, select('#', ...) do
    out = out:_with(combine.Zip(checks.dataset('zip', (select(i, ...)))._plan))
  end
  return out
end

local repartition_signature = args.signature('repartition', {{'num_blocks'}, {'target_num_rows_per_block'},
                                                             {'shuffle', false}})

---Returns the same rows in `num_blocks` blocks of equal size, or in blocks of `target_num_rows_per_block` rows.
---Arguments: num_blocks, {target_num_rows_per_block, shuffle = false}. Ray equivalent: Dataset.repartition.
---@return rtrain.data.Dataset
function Dataset:repartition(...)
  local a = repartition_signature:bind(...)
  if (a.num_blocks == nil) == (a.target_num_rows_per_block == nil) then
    errors.raise('argument', 'repartition: expected one of num_blocks and target_num_rows_per_block')
  end
  for _, name in ipairs{'num_blocks', 'target_num_rows_per_block'} do
    if a[name] ~= nil then checks.count('repartition', name, a[name], 1) end
  end
  local dataset = a.shuffle and self:random_shuffle() or self
  return dataset:_with(combine.Repartition(a.num_blocks, a.target_num_rows_per_block))
end

return Dataset
