-- rtrain/data/operators/mix.lua: mix: interleaves the rows of several plans by their weights.
--
-- If the numbers of rows are known, a part of the mix corresponds to a part of each input, and only these parts run.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local errors = require 'base.errors'
local intervals = require 'rtrain.data.rows.intervals'
local Operator = require 'rtrain.data.operators.operator'
local parts = require 'rtrain.data.rows.parts'
local RowQueue = require 'rtrain.data.blocks.row_queue'
local Selection = require 'rtrain.data.rows.selection'
local torch = require 'torch'
local Turns = require 'rtrain.data.rows.turns'

-- Most rows of a resulting block.
local MOST_ROWS = 4096

local function describe(schema)
  local words = {}
  for i, entry in ipairs(schema) do words[i] = entry.name .. ': ' .. entry.type end
  return table.concat(words, ', ')
end

-- Ignores the shape of the rows: images of several sizes may be mixed.
local function dtype_of(type) return type:match '^tensor<([^>]+)>' or type end

local function same_columns(schema, like)
  local types = {}
  for _, entry in ipairs(like) do types[entry.name] = dtype_of(entry.type) end
  for _, entry in ipairs(schema) do
    local own, other = dtype_of(entry.type), types[entry.name]
    if other == nil or (own ~= other and own ~= 'object' and other ~= 'object') then return false end
  end
  return #schema == #like
end

-- Raises an error for different columns or dtypes, which would be converted to those of the neighbouring rows.
local function check_columns(first, i, schema)
  if same_columns(schema, first.schema) then return end
  errors.raise('argument', ('mix: dataset %d has the columns %s and dataset %d has %s: make them equal before, with '
    .. 'select_columns, rename_columns or map {dtypes = …}'):format(first.i, describe(first.schema), i, describe(schema)))
end

-- Interleaves the rows of the inputs. Arguments: streams, one for each input; left: how many rows each input has left, nil if
-- that is not known.
local Weaver = class('Weaver')

-- Reserves another row of an input; returns false if it has no more rows.
local function reserve(self, i)
  local queue = self._queues[i]
  if queue:num_rows() == self._reserved[i] then
    local block = queue:pull()
    if block == nil then return false end
    self._first = self._first or {i = i, schema = block:schema()}
    check_columns(self._first, i, block:schema())
    -- A result ends at the end of an input's block, so that few rows are held.
    self._is_full = #self._order > 0
  end
  self._reserved[i] = self._reserved[i] + 1
  return true
end

local function has_row(self, i)
  local left = self._left
  if left == nil then return reserve(self, i) end
  if left[i] == 0 then return false end
  if not reserve(self, i) then
    errors.raise('user', ('mix: dataset %d has fewer rows now than when they were counted'):format(i))
  end
  left[i] = left[i] - 1
  return true
end

function Weaver:init(streams, left)
  self._left = left
  self._queues, self._reserved, self._order = {}, {}, {}
  self._has_row = function(i) return has_row(self, i) end
  for i, stream in ipairs(streams) do self._queues[i], self._reserved[i] = RowQueue(stream), 0 end
end

-- Returns the reserved rows, in the order of the turns.
local function woven(self)
  local taken, first, at, places = {}, {}, 0, {}
  for i, queue in ipairs(self._queues) do
    local count = self._reserved[i]
    if count > 0 then taken[#taken + 1] = queue:take(count) end
    first[i], at, self._reserved[i] = at, at + count, 0
  end
  for k, i in ipairs(self._order) do places[k], first[i] = first[i], first[i] + 1 end
  self._order = {}
  local block = Block.concat(taken)
  return #taken == 1 and block or block:take(torch.tensor(places, {dtype = 'int64'}))
end

---Returns the next rows.
---@param next_turn fun(reserves: fun(i: integer): boolean): integer|nil returns the input that gives the next row; nil at the
---  end
---@return data.Block|nil block nil at the end
function Weaver:next(next_turn)
  self._is_full = false
  while #self._order < MOST_ROWS and not self._is_full do
    local i = next_turn(self._has_row)
    if i == nil then break end
    self._order[#self._order + 1] = i
  end
  return #self._order > 0 and woven(self) or nil
end

---Interleaves the rows of this plan and of others by their weights. Arguments: plans, the others; {weights, whole
---numbers, that of this plan first; stops_on_shortest}.
---@class data.Mix: data.Operator
---@overload fun(plans: data.Plan[], options: table): data.Mix
local Mix = Operator:extend('Mix')
Mix.name = 'Mix'
Mix.is_global = true
Mix.runs_inputs = true

function Mix:init(plans, options)
  self._plans, self._weights, self._stops_on_shortest = plans, options.weights, options.stops_on_shortest
end

local function turns_of(self) return Turns(self._weights, self._stops_on_shortest) end

local function counts_of(plans)
  local counts = {}
  for i, plan in ipairs(plans) do
    counts[i] = plan:keeps_slices() and plan:num_rows(true) or nil
    if counts[i] == nil then return nil end
  end
  return counts
end

-- Returns the rows of each input that make up a part of the mix.
local function slices_of_inputs(self, counts, slices)
  local turns, left, at, out = turns_of(self), {unpack(counts)}, 0, {}
  for i in ipairs(counts) do out[i] = {} end
  local function given(i) return counts[i] - left[i] end
  local first = {}
  for slice in intervals.each(slices) do
    turns:skip(slice[1] - at, left)
    for i in ipairs(counts) do first[i] = given(i) end
    turns:skip(slice[2] - slice[1], left)
    for i, list in ipairs(out) do intervals.append(list, first[i], given(i)) end
    at = slice[2]
  end
  return out
end

-- Returns the turns of a part of the mix.
local function turns_of_part(turns, left, slices)
  local next_slice, at, slice = intervals.each(slices), 0, nil
  return function(reserves)
    while slice == nil or at == slice[2] do
      slice = next_slice()
      if slice == nil then return nil end
      at = at + turns:skip(slice[1] - at, left)
      if at < slice[1] then return nil end
    end
    at = at + 1
    return turns:next(reserves)
  end
end

-- Returns a part of the mix; all of it if `slices` is nil.
local function dealt(self, plans, execution, counts, slices)
  local streams, turns, left = {}, turns_of(self), {unpack(counts)}
  local of_inputs = slices and slices_of_inputs(self, counts, slices) or {}
  for i, plan in ipairs(plans) do streams[i] = execution:run(plan, of_inputs[i]) end
  local weaver, next_turn = Weaver(streams, left), turns_of_part(turns, left, slices or {{0, math.huge}})
  return function() return weaver:next(next_turn) end
end

-- Returns the whole mix, or the mix of a rank's part of each input.
local function undealt(self, plans, execution, part)
  local streams = {}
  for i, plan in ipairs(plans) do
    local slices = part and parts.slices(plan, part, {seed = execution.seed, epoch = execution.epoch})
    streams[i] = execution:run(plan, slices, not slices and part or nil)
  end
  local weaver, turns = Weaver(streams), turns_of(self)
  local function next_turn(reserves) return turns:next(reserves) end
  return function() return weaver:next(next_turn) end
end

---Returns the mix, or a part of it.
---@param plan data.Plan the first input
---@param execution data.Execution
---@param options {slices: data.Slices?, part: {rank: integer, world_size: integer}?}
---@return fun(): data.Block|nil
function Mix:stream_of(plan, execution, options)
  local plans = {plan, unpack(self._plans)}
  local counts, slices = counts_of(plans), options.slices
  if counts and not options.part then return dealt(self, plans, execution, counts, slices) end
  local next_block = undealt(self, plans, execution, options.part)
  return slices and Selection(slices):blocks(next_block) or next_block
end

---Returns whether that holds for all inputs, of which a part of the mix needs parts.
---@param plan data.Plan the first input
---@return boolean
function Mix:gives_any_rows(plan)
  if not counts_of {plan, unpack(self._plans)} then return false end
  for _, input in ipairs {plan, unpack(self._plans)} do
    if not input:gives_any_rows() then return false end
  end
  return true
end

function Mix:is_random()
  for _, plan in ipairs(self._plans) do
    if plan:is_random() then return true end
  end
  return false
end

function Mix:schema_of(schema, schema_of_plan)
  for i, plan in ipairs(self._plans) do
    local other = schema_of_plan(plan)
    if other then check_columns({i = 1, schema = schema}, i + 1, other) end
  end
  return schema
end

function Mix:rows_of(num_rows, count)
  local counts, sum = {num_rows}, num_rows
  for i, plan in ipairs(self._plans) do
    counts[i + 1] = count(plan)
    if counts[i + 1] == nil then return nil end
    sum = sum + counts[i + 1]
  end
  return self._stops_on_shortest and turns_of(self):skip(math.huge, counts) or sum
end

return Mix
