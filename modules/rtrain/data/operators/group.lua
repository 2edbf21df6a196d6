-- rtrain/data/operators/group.lua: aggregates of groups of rows, and a user function for each group.
--
-- The rows are sorted by the keys (rtrain.data.exchange), so a group is a run of rows, and at most one group is held in
-- addition to a block.

local AggregateFn = require 'rtrain.data.aggregate.base'
local Block = require 'rtrain.data.blocks.block'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local exchange = require 'rtrain.data.exchange'
local groups = require 'rtrain.data.blocks.groups'
local MapBatches = require('rtrain.data.operators.batches').MapBatches
local Operator = require 'rtrain.data.operators.operator'

local function in_order(upstream, keys, execution)
  if #keys == 0 then return upstream end
  return exchange.sort(upstream, keys, false, {memory_bytes = execution.memory_bytes})
end

-- Yields the groups that are complete: add(block) returns those completed by another block, finish() the last group.
local function completed(next_block, add, finish)
  return function()
    for block in next_block do
      local out = block:num_rows() > 0 and add(block)
      if out then return out end
    end
    return finish()
  end
end

---Computes a row for each group: its keys and the results.
---@class data.Aggregate: data.Operator
---@overload fun(keys: string[], aggregates: data.AggregateFn[]): data.Aggregate
local Aggregate = Operator:extend('Aggregate')
Aggregate.name = 'Aggregate'
Aggregate.is_global = true

function Aggregate:init(keys, aggregates) self._keys, self._aggregates = keys, aggregates end

-- Returns the groups of a block as rows of keys and, for each aggregate, states.
local function rows_of(self, block)
  local found = groups.of(block, self._keys)
  local states = {}
  for i, aggregate in ipairs(self._aggregates) do states[i] = aggregate:partial(found) end
  return {keys = block:select(self._keys):take(found.starts), states = states, count = found.count}
end

local function narrow(rows, start, count)
  local states = {}
  for i, state in ipairs(rows.states) do states[i] = state:narrow(start, count) end
  return {keys = rows.keys:narrow(start, count), states = states, count = count}
end

-- Appends rows to the last earlier row; with `is_same` the first of them continues the group of that row.
local function joined(self, last, rows, is_same)
  local states, skip = {}, is_same and 1 or 0
  for i, state in ipairs(rows.states) do
    local before = last.states[i]
    if is_same then before = self._aggregates[i]:merge(before, state:narrow(0, 1)) end
    states[i] = rows.count > skip and Block.concat{before, state:narrow(skip, rows.count - skip)} or before
  end
  local keys = last.keys
  if rows.count > skip then keys = Block.concat{keys, rows.keys:narrow(skip, rows.count - skip)} end
  return {keys = keys, states = states, count = rows.count + 1 - skip}
end

local function results(self, rows)
  local names, columns = rows.keys:names(), {}
  for i, name in ipairs(names) do columns[i] = rows.keys:column(name) end
  for i, aggregate in ipairs(self._aggregates) do
    names[#names + 1], columns[#columns + 1] = aggregate.name, aggregate:finalize(rows.states[i])
  end
  return Block(names, columns, rows.count)
end

function Aggregate:stream(upstream, execution)
  local next_block = in_order(upstream, self._keys, execution)
  -- The last group so far, which may continue, and its keys.
  local last, last_key
  local function add(block)
    local rows = rows_of(self, block)
    if last then
      local first = groups.key_of(block, self._keys, 0)
      rows = joined(self, last, rows, groups.is_same(first, last_key, #self._keys))
    end
    last, last_key = narrow(rows, rows.count - 1, 1), groups.key_of(block, self._keys, block:num_rows() - 1)
    return rows.count > 1 and results(self, narrow(rows, 0, rows.count - 1)) or nil
  end
  return completed(next_block, add, function()
    local rest = last
    last = nil
    return rest and results(self, rest)
  end)
end

function Aggregate:schema_of(schema)
  local types, out = {}, {}
  for _, entry in ipairs(schema) do types[entry.name] = entry.type end
  for i, key in ipairs(self._keys) do out[i] = {name = key, type = types[key]} end
  for _, aggregate in ipairs(self._aggregates) do
    local of = types[aggregate.on] or 'int64'
    out[#out + 1] = {name = aggregate.name, type = aggregate:type_of(of:match '^tensor<(%w+)>' or column.plain_type(of))}
  end
  return out
end

---Returns the columns of the aggregates and the keys: all columns that must be read.
---@return string[] names without duplicates
function Aggregate:columns()
  local names, seen = {}, {}
  local function add(name)
    if name and not seen[name] then names[#names + 1], seen[name] = name, true end
  end
  for _, key in ipairs(self._keys) do add(key) end
  for _, aggregate in ipairs(self._aggregates) do add(aggregate.on) end
  return names
end

---Checks that the values are aggregates whose results have different names.
---@param owner string
---@param keys string[]
---@param ... data.AggregateFn
---@return data.AggregateFn[]
function Aggregate.checked(owner, keys, ...)
  local class, out, taken = require 'base.class', {...}, {}
  if #out == 0 then errors.raise('argument', owner .. ': expected at least one of rtrain.data.aggregate') end
  for _, key in ipairs(keys) do taken[key] = true end
  for i = 1, select('#', ...) do
    local given = out[i]
    if not class.is(given, AggregateFn) then
      errors.raise('argument', ("%s: argument %d is a %s: expected one of rtrain.data.aggregate, as Sum('x')"):format(owner, i,
        class.is_class(given) and 'class' or type(given)))
    end
    if taken[given.name] then
      errors.raise('argument', ("%s: two columns are named '%s': use alias_name"):format(owner, given.name))
    end
    taken[given.name] = true
  end
  return out
end

-- The column with the number of a row's group in its block. No user column has this name.
local GROUP = '\1rtrain.group'

---Yields the rows in blocks of whole groups, with an additional column: the group's number in its block.
---@class data.WholeGroups: data.Operator
---@overload fun(keys: string[]): data.WholeGroups
local WholeGroups = Operator:extend('WholeGroups')
WholeGroups.name = 'GroupBy'
WholeGroups.is_global = true

function WholeGroups:init(keys) self._keys = keys end

function WholeGroups:stream(upstream, execution)
  local keys, held, last_key = self._keys, {}, nil
  local next_block = in_order(upstream, keys, execution)
  -- Rows without keys belong to the source; a user function must not write to them.
  local function whole(blocks)
    local block = Block.concat(blocks)
    if #keys == 0 then block = block:copy() end
    return block:with(GROUP, groups.of(block, keys).ids)
  end
  -- Returns the groups that this block completes, and keeps its last group.
  local function add(block)
    local starts = groups.of(block, keys).starts
    local is_same = last_key and groups.is_same(groups.key_of(block, keys, 0), last_key, #keys)
    local last_start = starts[starts:size(0) - 1]:item()
    local complete = held
    if last_start == 0 and is_same then
      held[#held + 1] = block
      return nil
    end
    if last_start > 0 then complete[#complete + 1] = block:narrow(0, last_start) end
    held = {block:narrow(last_start, block:num_rows() - last_start)}
    last_key = groups.key_of(block, keys, last_start)
    return #complete > 0 and whole(complete) or nil
  end
  return completed(next_block, add, function()
    local rest = held
    held = {}
    return #rest > 0 and whole(rest) or nil
  end)
end

function WholeGroups:schema_of(schema) return schema end

function WholeGroups:rows_of(num_rows) return num_rows end

---Calls a user function for the rows of each group, as a batch.
---@class data.MapGroups: data.MapBatches
---@overload fun(fn: data.UserFunction, options: table): data.MapGroups
local MapGroups = MapBatches:extend('MapGroups')

---Yields the groups of the blocks from WholeGroups, one at a time.
---@param upstream fun(): data.Block|nil
---@return fun(): data.Block|nil
function MapGroups:batches_of(upstream)
  local block, starts, i
  return function()
    if block == nil or i == #starts then
      local with_groups = upstream()
      if with_groups == nil then return nil end
      starts = groups.of(with_groups, {GROUP}).starts:tolist()
      block, i = with_groups:drop{GROUP}, 0
    end
    i = i + 1
    return block:narrow(starts[i], (starts[i + 1] or block:num_rows()) - starts[i])
  end
end

return {Aggregate = Aggregate, WholeGroups = WholeGroups, MapGroups = MapGroups}
