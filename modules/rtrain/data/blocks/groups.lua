-- rtrain/data/blocks/groups.lua: groups of neighbouring rows of a block that have equal keys.

local column = require 'rtrain.data.columns.column'
local torch = require 'torch'

local groups = {}

---@class data.Groups
---@field block data.Block
---@field count integer of groups
---@field rows integer
---@field starts torch.Tensor int64 (count): the first row of each
---@field ids torch.Tensor int64 (rows): the group of each row

-- Returns where a list of values changes: place i is 1 if row i differs from the row before it.
local function changes_of_values(values, rows)
  local out = {}
  for i = 2, rows do out[i - 1] = values[i] ~= values[i - 1] end
  return torch.tensor(out, {dtype = 'bool'})
end

-- Returns where a column changes. NaN is null, and all nulls are equal.
local changes_of
function changes_of(of, rows)
  if column.is_masked(of) then return changes_of(of.data, rows):logical_or(changes_of(of.valid, rows)) end
  if not column.is_tensor(of) then return changes_of_values(column.values(of), rows) end
  local now, before = of:narrow(0, 1, rows - 1), of:narrow(0, 0, rows - 1)
  local changed = now:ne(before)
  if of:is_floating_point() then changed = changed:logical_and(now:isnan():logical_and(before:isnan()):logical_not()) end
  return changed
end

-- Returns whether each row begins a group.
local function firsts(block, keys)
  local rows = block:num_rows()
  local first = torch.zeros({rows}, {dtype = 'bool'})
  if rows == 0 then return first end
  first[0] = true
  if rows == 1 then return first end
  local rest = first:narrow(0, 1, rows - 1)
  for _, key in ipairs(keys) do rest:logical_or_(changes_of(block:column(key), rows)) end
  return first
end

---Returns the groups of a block whose rows are sorted by the keys.
---@param block data.Block
---@param keys string[] if empty, all rows are one group
---@return data.Groups
---
---```lua
---local Block, groups = require 'rtrain.data.blocks.block', require 'rtrain.data.blocks.groups'
---local torch = require 'torch'
---local found = groups.of(Block({'x'}, {torch.tensor {1, 1, 4}}), {'x'})
---assert(found.count == 2 and found.starts:tolist()[2] == 2)
---```
function groups.of(block, keys)
  local first = firsts(block, keys)
  local starts = first:nonzero():flatten()
  local ids = first:to('int64'):cumsum(0):sub(1)
  return {block = block, count = starts:size(0), rows = block:num_rows(), starts = starts, ids = ids}
end

---Returns the keys of a row, for `is_same`.
---@param block data.Block
---@param keys string[]
---@param row integer from 0
---@return table values the k-th key at place k; nil for null
function groups.key_of(block, keys, row)
  local out = {}
  for k, key in ipairs(keys) do
    local value = column.value(block:column(key), row)
    if value == value then out[k] = value end
  end
  return out
end

---Returns whether two rows have the same keys.
---@param a table
---@param b table
---@param count integer of keys
---@return boolean
function groups.is_same(a, b, count)
  for k = 1, count do
    if a[k] ~= b[k] then return false end
  end
  return true
end

return groups
