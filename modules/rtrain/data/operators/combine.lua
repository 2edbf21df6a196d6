-- rtrain/data/operators/combine.lua: union and zip with other plans, repartition.

local batches = require 'rtrain.data.blocks.batches'
local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local Operator = require 'rtrain.data.operators.operator'

---Appends the rows of other plans to the stream.
---@class data.Union: data.Operator
local Union = Operator:extend('Union')
Union.name = 'Union'
Union.is_global = true

function Union:init(plans) self._plans = plans end

function Union:stream(upstream, execution)
  local current, i = upstream, 0
  return function()
    while current do
      local block = current()
      if block then return block end
      i = i + 1
      current = self._plans[i] and execution:run(self._plans[i])
    end
  end
end

function Union:is_random()
  for _, plan in ipairs(self._plans) do
    if plan:is_random() then return true end
  end
  return false
end

function Union:schema_of(schema) return schema end

function Union:rows_of(num_rows, count)
  for _, plan in ipairs(self._plans) do
    local rows = count(plan)
    if rows == nil then return nil end
    num_rows = num_rows + rows
  end
  return num_rows
end

---Adds the columns of another plan to those of the stream, which must have the same number of rows. A duplicate name
---gets the suffix '_1'.
---@class data.Zip: data.Operator
local Zip = Operator:extend('Zip')
Zip.name = 'Zip'
Zip.is_global = true

function Zip:init(plan) self._plan = plan end

local function free_name(taken, name)
  if not taken[name] then return name end
  local i = 1
  while taken[name .. '_' .. i] do i = i + 1 end
  return name .. '_' .. i
end

local function joined(left, right)
  local names, columns, taken = left:names(), {}, {}
  for i, name in ipairs(names) do columns[i], taken[name] = left:column(name), true end
  for _, name in ipairs(right:names()) do
    local free = free_name(taken, name)
    names[#names + 1], columns[#columns + 1], taken[free] = free, right:column(name), true
  end
  return Block(names, columns, left:num_rows())
end

local function refuse_lengths()
  errors.raise('argument', 'zip: the two datasets have different numbers of rows')
end

function Zip:stream(upstream, execution)
  local other = execution:run(self._plan)
  local left, right
  local function rest(block, count) return count < block:num_rows() and block:narrow(count, block:num_rows() - count) or nil end
  return function()
    left, right = left or upstream(), right or other()
    if left == nil and right == nil then return nil end
    if left == nil or right == nil then refuse_lengths() end
    local count = math.min(left:num_rows(), right:num_rows())
    local out = joined(left:narrow(0, count), right:narrow(0, count))
    left, right = rest(left, count), rest(right, count)
    return out
  end
end

function Zip:is_random() return self._plan:is_random() end

function Zip:schema_of(schema, schema_of_plan)
  local other = schema_of_plan(self._plan)
  if other == nil then return nil end
  local out, taken = {}, {}
  for i, entry in ipairs(schema) do out[i], taken[entry.name] = entry, true end
  for _, entry in ipairs(other) do
    local free = free_name(taken, entry.name)
    out[#out + 1], taken[free] = {name = free, type = entry.type}, true
  end
  return out
end

function Zip:rows_of(num_rows, count)
  local other = count(self._plan)
  if other ~= nil and other ~= num_rows then refuse_lengths() end
  return num_rows
end

---Regroups the rows into a given number of blocks of equal size, or into blocks of a given number of rows.
---@class data.Repartition: data.Operator
local Repartition = Operator:extend('Repartition')
Repartition.is_global = true

function Repartition:init(num_blocks, rows_per_block)
  self.num_blocks, self._rows_per_block = num_blocks, rows_per_block
  self.name = num_blocks and ('Repartition(%d)'):format(num_blocks) or 'Repartition'
end

-- Splits into n blocks; the first total % n blocks have one row more than the others.
local function equal_blocks(next_block, total, num_blocks)
  local number, held = 0, nil
  local small, larger = math.floor(total / num_blocks), total % num_blocks
  local function cut(size)
    local parts, missing = {}, size
    while missing > 0 do
      held = held or next_block()
      if held == nil then break end
      local count = math.min(missing, held:num_rows())
      parts[#parts + 1] = held:narrow(0, count)
      held = count < held:num_rows() and held:narrow(count, held:num_rows() - count) or nil
      missing = missing - count
    end
    return Block.concat(parts)
  end
  return function()
    if number == num_blocks then return nil end
    number = number + 1
    local size = small + (number <= larger and 1 or 0)
    return size > 0 and cut(size) or nil
  end
end

-- Holds all blocks to count their rows, if the number is not known.
local function held(upstream)
  local list, rows, i = {}, 0, 0
  for block in upstream do list[#list + 1], rows = block, rows + block:num_rows() end
  return rows, function()
    i = i + 1
    return list[i]
  end
end

function Repartition:stream(upstream, _, options)
  if self._rows_per_block then return batches.of(upstream, self._rows_per_block) end
  local next_block
  return function()
    if not next_block then
      local total = options.num_rows
      if total == nil then total, upstream = held(upstream) end
      next_block = equal_blocks(upstream, total, self.num_blocks)
    end
    return next_block()
  end
end

function Repartition:schema_of(schema) return schema end

function Repartition:rows_of(num_rows) return num_rows end

return {Union = Union, Zip = Zip, Repartition = Repartition}
