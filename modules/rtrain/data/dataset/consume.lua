-- rtrain/data/dataset/consume.lua: the methods of Dataset that execute it: take, count, iterators, materialize, stats.

local args = require 'base.args'
local Block = require 'rtrain.data.blocks.block'
local checks = require 'rtrain.data.dataset.checks'
local errors = require 'base.errors'
local executor = require 'rtrain.data.executor'
local MemorySource = require 'rtrain.data.sources.memory_source'
local Plan = require 'rtrain.data.executor.plan'
local PlanFeed = require 'rtrain.data.executor.feed'
local row_text = require 'rtrain.data.blocks.rows_text'
local sampler = require 'torch.utils.data.sampler'
local schema_of = require 'rtrain.data.executor.schema'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

-- Returns the first rows as one block and computes nothing beyond them; nil if the dataset is empty.
local function first_rows(self, limit)
  local execution = self:_execute{threads = 0, max_rows = limit}
  local list, missing = {}, limit
  while missing > 0 do
    local block = execution:next()
    if block == nil then break end
    list[#list + 1] = block:narrow(0, math.min(missing, block:num_rows()))
    missing = missing - list[#list]:num_rows()
  end
  execution:close()
  return #list > 0 and Block.concat(list) or nil
end

---Returns the first rows as tables. Ray equivalent: Dataset.take.
---@param limit? integer default 20
---@return table<string, any>[]
function Dataset:take(limit)
  limit = checks.count('take', 'limit', limit or 20, 1)
  local block = first_rows(self, limit)
  return block and block:rows() or {}
end

---Returns all rows as tables; raises an error if there are more than `limit`. Ray equivalent: Dataset.take_all.
---@param limit? integer
---@return table<string, any>[]
function Dataset:take_all(limit)
  if limit ~= nil then checks.count('take_all', 'limit', limit, 0) end
  local out = {}
  local execution = self:_execute()
  for block in execution do
    for _, row in ipairs(block:rows()) do out[#out + 1] = row end
    if limit and #out > limit then
      execution:close()
      errors.raise('argument', ('take_all: the dataset has more than %d rows'):format(limit))
    end
  end
  return out
end

local take_batch_signature = args.signature('take_batch', {{'batch_size', 20}, {'batch_format', 'default'}})

---Returns the first rows as one batch: a table column → tensor, or a list for strings and Lua values. Arguments:
---batch_size = 20, {batch_format}. Ray equivalent: Dataset.take_batch.
---
---```lua
---local data = require 'rtrain.data'
---assert(data.range(10):take_batch(3).id:sum():item() == 3)
---```
---@return table<string, torch.Tensor|any[]>
function Dataset:take_batch(...)
  local size = checks.count('take_batch', 'batch_size', take_batch_signature:bind(...).batch_size, 1)
  local block = first_rows(self, size)
  if not block then errors.raise('argument', 'take_batch: the dataset is empty') end
  return block:copy():to_batch()
end

---Prints the first rows. Ray equivalent: Dataset.show.
---@param limit? integer default 20
function Dataset:show(limit)
  local block = first_rows(self, checks.count('show', 'limit', limit or 20, 1))
  local names = block and block:names()
  for _, row in ipairs(block and block:rows() or {}) do print(row_text(row, names)) end
end

-- Counts the resulting rows by executing the whole plan.
local function count_by_running(self)
  local rows = 0
  for block in self:_execute() do rows = rows + block:num_rows() end
  return rows
end

---Returns the number of rows: from the files' footers if no user function changes it, else by counting. Ray equivalent:
---Dataset.count.
---@return integer
function Dataset:count() return self._plan:num_rows(true) or count_by_running(self) end

---Returns names and types of the columns; nil for an empty dataset whose columns are only known from its rows. Computes
---the first rows if user functions make them. Prints as a table. Ray equivalent: Dataset.schema.
---@return data.Schema|nil
---
---```lua
---local data = require 'rtrain.data'
---local schema = data.from_items{{name = 'a', size = 1}}:schema()
---assert(schema.names[1] == 'name' and schema.types[2] == 'int64')
---```
function Dataset:schema()
  self._schema = self._schema or schema_of(self._plan)
  return self._schema
end

---Returns the names of the columns. Ray equivalent: Dataset.columns.
---@return string[]|nil
function Dataset:columns()
  local schema = self:schema()
  return schema and schema.names
end

---Returns the bytes of all rows in memory; executes the dataset if they are not known. Ray equivalent:
---Dataset.size_bytes.
---@return integer
function Dataset:size_bytes()
  local plan = self._plan
  if #plan.operators == 0 and plan.source.size_bytes then return plan.source:size_bytes() end
  local bytes = 0
  for block in self:_execute() do bytes = bytes + block:size_bytes() end
  return bytes
end

---Returns the number of blocks of a dataset in memory, see materialize. Ray equivalent: MaterializedDataset.num_blocks.
---@return integer
function Dataset:num_blocks()
  local plan = self._plan
  if #plan.operators > 0 or not plan.source.blocks then
    errors.raise('argument', 'num_blocks: only a dataset in memory has blocks: call materialize() first')
  end
  return #plan.source:fragments{seed = 0, epoch = 0}
end

---Executes the dataset and keeps all rows in memory: random choices are made once, and later loops only read. Ray
---equivalent: Dataset.materialize.
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---local shuffled = data.range(10):random_shuffle():materialize()
---assert(shuffled:take(1)[1].id == shuffled:take(1)[1].id and shuffled:count() == 10)
---```
function Dataset:materialize()
  local list = {}
  for block in self:_execute() do list[#list + 1] = block end
  return Dataset.from_blocks(list, {is_materialized = true})
end

---Returns a dataset of blocks in memory, which must not be changed afterwards.
---@param list data.Block[]
---@param options? {name: string, num_blocks: integer, is_materialized: boolean}
---@return rtrain.data.Dataset
function Dataset.from_blocks(list, options) return Dataset(Plan(MemorySource(list, options))) end

---Returns an iterator over the rows as train.get_dataset_shard returns it to a train function: it has a state to
---continue in the middle of an epoch. Each loop over it is a new epoch and ends the loop before. Ray equivalent:
---Dataset.iterator.
---@return rtrain.data.DataIterator
function Dataset:iterator()
  local seed = sampler.draw_seed():bitwise_and(0xFFFFFFFF):item()
  local DataIterator = require 'rtrain.data.loop.iterator'
  local feed = PlanFeed(self._plan, {seed = seed})
  return DataIterator{feed = feed, name = 'dataset', seed = seed, from_blocks = Dataset.from_blocks}
end

-- Returns a new iterator, so that loops over the same dataset do not end each other. Each loop is a separate epoch.
local function own_iterator(self)
  local seed = sampler.draw_seed():bitwise_and(0xFFFFFFFF):item()
  local feed = PlanFeed(self._plan, {seed = seed, counter = self._epochs, on_stats = function(stats) self._stats = stats end})
  return require 'rtrain.data.loop.iterator'{feed = feed, name = 'dataset', seed = seed}
end

---Iterates over the rows as tables. Ray equivalent: Dataset.iter_rows.
---@return data.Loop
---
---```lua
---local data = require 'rtrain.data'
---local sum = 0
---for row in data.range(4):iter_rows() do sum = sum + row.id end
---assert(sum == 6)
---```
function Dataset:iter_rows() return own_iterator(self):iter_rows() end

---Iterates over batches: tables column → tensor, or list for strings and Lua values. Ray equivalent: Dataset.iter_batches.
---@param options? table of DataIterator:iter_batches: batch_size = 256, drop_last, local_shuffle_buffer_size, …
---@return data.Loop
function Dataset:iter_batches(options) return own_iterator(self):iter_batches(options) end

---Iterates over batches of tensors. Ray equivalent: Dataset.iter_torch_batches.
---@param options? table of DataIterator:iter_torch_batches: batch_size = 256, dtypes, device, collate_fn, …
---@return data.Loop
function Dataset:iter_torch_batches(options) return own_iterator(self):iter_torch_batches(options) end

---Returns statistics of the operators in the last execution: prints as text, `:to_table()` returns a row for each
---operator. Ray equivalent: Dataset.stats.
---@return data.Stats
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.range(5):filter(function(row) return row.id > 2 end)
---ds:take_all()
---assert(ds:stats():to_table()[2].rows == 2)
---```
function Dataset:stats()
  if not self._stats then errors.raise('argument', 'stats: the dataset did not run yet') end
  return self._stats
end

---Returns the files that the rows come from. Ray equivalent: Dataset.input_files.
---@return string[]
function Dataset:input_files() return self._plan.source:input_files() end

---Executes the dataset and returns an iterator over blocks, for authors of operators.
---@param options? data.ExecutionOptions
---@return data.Execution
function Dataset:execute(options) return executor.execute(self._plan, options) end

return Dataset
