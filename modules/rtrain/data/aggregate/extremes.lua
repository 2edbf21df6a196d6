-- rtrain/data/aggregate/extremes.lua: Min, Max, AbsMax.

local AggregateFn = require 'rtrain.data.aggregate.base'
local Block = require 'rtrain.data.blocks.block'
local column = require 'rtrain.data.columns.column'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'
local unsigned = require 'rtrain.data.columns.unsigned'

-- The smallest or largest value of each group and its number of values: the common base of Min, Max and AbsMax.
local Extreme = AggregateFn:extend('Extreme')

-- The name of the reduction for scatter_reduce, and the comparison of two strings.
Extreme._reduce = 'amin'
function Extreme._is_better(a, b) return a < b end

local function text_partial(self, groups, of)
  local values, ids, best = of:values(), groups.ids:tolist(), {}
  local count, nulls = {}, {}
  for g = 1, groups.count do count[g], nulls[g] = 0, 0 end
  for i, g in ipairs(ids) do
    local value = values[i]
    if value == nil then
      nulls[g + 1] = nulls[g + 1] + 1
    else
      count[g + 1] = count[g + 1] + 1
      if best[g + 1] == nil or self._is_better(value, best[g + 1]) then best[g + 1] = value end
    end
  end
  return self._state({'value', 'count', 'nulls'}, Strings.from_list(best, groups.count, of.binary),
    torch.tensor(count, {dtype = 'int64'}), torch.tensor(nulls, {dtype = 'int64'}))
end

local function counted(groups, mask)
  return torch.zeros({groups.count}, {dtype = 'int64'}):index_add_(0, groups.ids, mask:to('int64'))
end

---Returns the numbers that are compared.
---@param groups data.Groups
---@return torch.Tensor values
---@return data.Groups groups
---@return torch.Tensor|nil valid bool
function Extreme:values(groups) return self:_numbers(groups, false) end

-- Returns the extreme of the numbers that are not null in each group, 0 for a group without numbers.
local function extremes(self, groups, values, valid)
  local numbers, ids = unsigned.comparable(values), groups.ids
  local found = torch.zeros({groups.count}, {dtype = numbers.dtype})
  if valid then
    local rows = valid:nonzero():flatten()
    numbers, ids = numbers:index_select(0, rows), ids:index_select(0, rows)
  end
  return unsigned.restored(found:scatter_reduce(0, ids, numbers, self._reduce, {include_self = false}), values.dtype)
end

function Extreme:partial(groups)
  local of = groups.block:column(self.on)
  if column.is_strings(of) then return text_partial(self, groups, of) end
  local values, own, valid = self:values(groups)
  local extreme = extremes(self, own, values, valid)
  valid = valid or torch.ones({values:size(0)}, {dtype = 'bool'})
  return self._state({'value', 'count', 'nulls'}, extreme, counted(own, valid), counted(own, valid:logical_not()))
end

function Extreme:merge(a, b)
  local value = Block.concat{a, b}:column 'value'
  local takes_second = a:column('count'):item() == 0 or b:column('count'):item() > 0
    and self._is_better(column.value(value, 1), column.value(value, 0))
  return self._state({'value', 'count', 'nulls'}, column.narrow(value, takes_second and 1 or 0, 1),
    a:column 'count' + b:column 'count', a:column 'nulls' + b:column 'nulls')
end

function Extreme:finalize(state)
  local value = state:column 'value'
  local is_known = state:column('count'):gt(0)
  if not self._ignores_nulls then is_known = is_known:logical_and(state:column('nulls'):eq(0)) end
  if column.is_strings(value) then
    return Strings(value.offsets, value.bytes, {binary = value.binary, valid = is_known})
  end
  return self._known(value, is_known)
end

function Extreme:type_of(type) return type == 'bool' and 'int64' or type end

---The smallest value, of the column's dtype; of strings the first, byte by byte. Arguments: on, {ignore_nulls = true,
---alias_name}. Ray equivalent: ray.data.aggregate.Min.
---@class data.Min: data.AggregateFn
---@overload fun(on: string, options?: table): data.Min
local Min = Extreme:extend('Min')

local min_signature = AggregateFn.signature 'Min'

function Min:init(...) self:_take('min', min_signature:bind(...)) end

---The largest value. Arguments: on, {ignore_nulls = true, alias_name}. Ray equivalent: ray.data.aggregate.Max.
---@class data.Max: data.AggregateFn
---@overload fun(on: string, options?: table): data.Max
local Max = Extreme:extend('Max')
Max._reduce = 'amax'
function Max._is_better(a, b) return a > b end

local max_signature = AggregateFn.signature 'Max'

function Max:init(...) self:_take('max', max_signature:bind(...)) end

---The largest absolute value. Arguments: on, {ignore_nulls = true, alias_name}. Ray equivalent: ray.data.aggregate.AbsMax.
---@class data.AbsMax: data.Max
---@overload fun(on: string, options?: table): data.AbsMax
local AbsMax = Max:extend('AbsMax')

local abs_max_signature = AggregateFn.signature 'AbsMax'

function AbsMax:init(...) self:_take('abs_max', abs_max_signature:bind(...)) end

function AbsMax:values(groups)
  local values, own, valid = self:_numbers(groups, false)
  -- uint16, uint32 and uint64 have no abs.
  return values.dtype:match '^u' and values or values:abs(), own, valid
end

return {Min = Min, Max = Max, AbsMax = AbsMax}
