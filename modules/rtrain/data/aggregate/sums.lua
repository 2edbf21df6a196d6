-- rtrain/data/aggregate/sums.lua: Count, Sum, Mean, Std.

local AggregateFn = require 'rtrain.data.aggregate.base'
local args = require 'base.args'
local Block = require 'rtrain.data.blocks.block'
local torch = require 'torch'

-- Returns the sum of the values in each group.
local function total(groups, values)
  if groups.count == 1 then return values:sum {dtype = values.dtype}:view(1) end
  return torch.zeros({groups.count}, {dtype = values.dtype}):index_add_(0, groups.ids, values)
end

local function ones(groups) return torch.ones({groups.rows}, {dtype = 'int64'}) end

-- Returns the values with 0 for null, and for each group the number of values and the number of nulls.
local function valid_values(groups, values, valid)
  if not valid then
    local count = total(groups, ones(groups))
    return values, count, torch.zeros_like(count)
  end
  return values:masked_fill(valid:logical_not(), 0), total(groups, valid:to('int64')),
    total(groups, valid:logical_not():to('int64'))
end

-- Returns the results, with null for groups that have fewer than `least` values.
local function known(values, state, least, ignores_nulls)
  local is_known = state:column('count'):ge(least)
  if not ignores_nulls then is_known = is_known:logical_and(state:column('nulls'):eq(0)) end
  return AggregateFn._known(values, is_known)
end

---The number of rows; with a column, the number of rows whose value is not null, unless ignore_nulls = false.
---Arguments: {on, ignore_nulls, alias_name}. Ray equivalent: ray.data.aggregate.Count.
---
---```lua
---local data = require 'rtrain.data'
---assert(data.range(4):aggregate(data.aggregate.Count())['count()'] == 4)
---```
---@class data.Count: data.AggregateFn
---@overload fun(on?: string, options?: table): data.Count
local Count = AggregateFn:extend('Count')

local count_signature = args.signature('Count', {{'on'}, {'ignore_nulls'}, {'alias_name'}})

function Count:init(...)
  local a = count_signature:bind(...)
  self:_take('count', a)
  self._ignores_nulls = a.ignore_nulls ~= false and a.on ~= nil
end

function Count:partial(groups)
  local valid = self._ignores_nulls and self._valid(groups.block:column(self.on))
  return self._state({'count'}, total(groups, valid and valid:to('int64') or ones(groups)))
end

function Count:type_of() return 'int64' end

---The sum: int64 for whole numbers, else float64. Arguments: on, {ignore_nulls = true, alias_name}. Ray equivalent:
---ray.data.aggregate.Sum.
---@class data.Sum: data.AggregateFn
---@overload fun(on: string, options?: table): data.Sum
local Sum = AggregateFn:extend('Sum')

local sum_signature = AggregateFn.signature 'Sum'

function Sum:init(...) self:_take('sum', sum_signature:bind(...)) end

function Sum:partial(groups)
  local all, own, valid = self:_numbers(groups)
  local values, count, nulls = valid_values(own, all, valid)
  return self._state({'sum', 'count', 'nulls'}, total(own, values), count, nulls)
end

function Sum:finalize(state)
  return known(state:column 'sum', state, 1, self._ignores_nulls)
end

function Sum:type_of(type) return type:match '^[bf]?float' and 'float64' or 'int64' end

---The mean, float64. Arguments: on, {ignore_nulls = true, alias_name}. Ray equivalent: ray.data.aggregate.Mean.
---@class data.Mean: data.Sum
---@overload fun(on: string, options?: table): data.Mean
local Mean = Sum:extend('Mean')

local mean_signature = AggregateFn.signature 'Mean'

function Mean:init(...) self:_take('mean', mean_signature:bind(...)) end

function Mean:finalize(state)
  return known(state:column('sum'):to('float64') / state:column('count'), state, 1, self._ignores_nulls)
end

function Mean:type_of() return 'float64' end

---The standard deviation, float64, by the stable algorithm of Chan, Golub and LeVeque; NaN if a group has ddof values
---or fewer. Arguments: on, {ddof = 1, ignore_nulls = true, alias_name}. Ray equivalent: ray.data.aggregate.Std.
---@class data.Std: data.AggregateFn
---@overload fun(on: string, options?: table): data.Std
local Std = AggregateFn:extend('Std')

local std_signature = AggregateFn.signature('Std', {'ddof', 1})

function Std:init(...)
  local a = std_signature:bind(...)
  self:_take('std', a)
  self._ddof = a.ddof
end

function Std:partial(groups)
  local all, own, valid = self:_numbers(groups)
  all = all:to('float64')
  local values, count, nulls = valid_values(own, all, valid)
  local mean = total(own, values) / count:clamp{min = 1}
  local squares = (values - mean:index_select(0, own.ids)):square()
  if valid then squares = squares:masked_fill(valid:logical_not(), 0) end
  return self._state({'mean', 'squares', 'count', 'nulls'}, mean, total(own, squares), count, nulls)
end

function Std:merge(a, b)
  local n, m = a:column 'count', b:column 'count'
  local count, difference = n + m, b:column 'mean' - a:column 'mean'
  local part = m:to('float64') / count:clamp{min = 1}
  return Block({'mean', 'squares', 'count', 'nulls'}, {
    a:column 'mean' + difference * part,
    a:column 'squares' + b:column 'squares' + difference * difference * n * part,
    count, a:column 'nulls' + b:column 'nulls'})
end

function Std:finalize(state)
  local divisor = (state:column 'count' - self._ddof):clamp{min = 1}
  return known((state:column 'squares' / divisor):sqrt(), state, self._ddof + 1, self._ignores_nulls)
end

function Std:type_of() return 'float64' end

return {Count = Count, Sum = Sum, Mean = Mean, Std = Std}
