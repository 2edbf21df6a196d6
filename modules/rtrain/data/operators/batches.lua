-- rtrain/data/operators/batches.lua: map_batches and add_column: call a user function for each batch.

local batches = require 'rtrain.data.blocks.batches'
local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local once = require 'rtrain.data.blocks.once'
local Numbering = require 'rtrain.data.rows.numbering'
local Operator = require 'rtrain.data.operators.operator'
local torch = require 'torch'

---Maps batches to batches. The function takes {column = tensor or list} and returns the same, or an iterator over
---several. Batches end where a fragment ends.
---@class data.MapBatches: data.Operator
local MapBatches = Operator:extend('MapBatches')
MapBatches.calls_user = true

function MapBatches:init(fn, options)
  self._fn, self._batch_size, self._dtypes = fn, options.batch_size, options.dtypes
  self.name = ('%s(%s)'):format(fn.operator, fn:name())
end

local function check_result(operator, value)
  if type(value) == 'table' then return value end
  errors.raise('argument', ('%s: expected the function to return a batch {column = tensor or list, …}, got a %s')
    :format(operator, type(value)))
end

-- Yields the blocks of one result. A function as result is called for batches until it returns nil.
local function results_of(self, block, result)
  local function to_block(batch)
    return Block.from_batch(check_result(self._fn.operator, batch), block, {dtypes = self._dtypes})
  end
  if type(result) ~= 'function' then return once(to_block(result)) end
  return function()
    local batch = result()
    return batch ~= nil and to_block(batch) or nil
  end
end

---Yields the arguments of the function.
---@param upstream fun(): data.Block|nil
---@return fun(): data.Block|nil
function MapBatches:batches_of(upstream) return batches.of(upstream, self._batch_size) end

function MapBatches:stream(upstream, position)
  local fn, at = self._fn:callable(), 0
  local next_batch = self:batches_of(upstream)
  local pending, rows
  local function call(what) return self._fn:call_batch(position, rows, what) end
  return function()
    while true do
      local block = pending and call(pending)
      if block == nil then
        local batch = next_batch()
        if batch == nil then return nil end
        rows = Numbering.tensor(position, at, batch:num_rows())
        at = at + batch:num_rows()
        pending = call(function() return results_of(self, batch, fn(batch:to_batch())) end)
      elseif block:num_rows() > 0 then
        return block
      end
    end
  end
end

---Adds a column that the function computes from the others.
---@class data.AddColumn: data.Operator
local AddColumn = Operator:extend('AddColumn')
AddColumn.calls_user = true
AddColumn.preserves_rows = true

function AddColumn:init(column, fn, options)
  self._column, self._fn, self._dtypes = column, fn, options and options.dtypes
  self.name = ('%s(%s)'):format(fn.operator, fn:name())
end

-- Returns the column as a batch; a single number or string is repeated for all rows.
local function column_of(self, block, value)
  local kind = type(value)
  if kind == 'number' or kind == 'boolean' or kind == 'string' or kind == 'cdata' then
    local list = {}
    for i = 1, block:num_rows() do list[i] = value end
    value = list
  end
  if kind == 'userdata' and torch.is_tensor(value) and value:dim() == 0 then value = value:expand{block:num_rows()} end
  return Block.from_batch({[self._column] = value}, block, {dtypes = self._dtypes}):column(self._column)
end

function AddColumn:stream(upstream, position)
  local fn, at = self._fn:callable(), 0
  return function()
    local block = upstream()
    if block == nil then return nil end
    local rows = Numbering.tensor(position, at, block:num_rows())
    at = at + block:num_rows()
    return self._fn:call_batch(position, rows, function()
      return block:with(self._column, column_of(self, block, fn(block:to_batch())))
    end)
  end
end

return {MapBatches = MapBatches, AddColumn = AddColumn}
