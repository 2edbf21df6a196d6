-- rtrain/data/aggregate/collected.lua: Quantile and Unique, which keep the values of a group.

local AggregateFn = require 'rtrain.data.aggregate.base'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local lists = require 'rtrain.data.columns.lists'
local Objects = require 'rtrain.data.columns.objects'
local torch = require 'torch'

-- Returns the first row of each group, followed by the number of rows.
local function bounds(groups)
  local out = groups.starts:tolist()
  out[#out + 1] = groups.rows
  return out
end

---The quantile q of the values, float64, with linear interpolation between two values. Arguments: on, {q = 0.5,
---ignore_nulls = true, alias_name}. Ray equivalent: ray.data.aggregate.Quantile.
---
---```lua
---local data = require 'rtrain.data'
---local median = data.range(10):aggregate(data.aggregate.Quantile('id'))
---assert(median['quantile(id)'] == 4.5)
---```
---@class data.Quantile: data.AggregateFn
---@overload fun(on: string, options?: table): data.Quantile
local Quantile = AggregateFn:extend('Quantile')

local quantile_signature = AggregateFn.signature('Quantile', {'q', 0.5})

function Quantile:init(...)
  local a = quantile_signature:bind(...)
  self:_take('quantile', a)
  if type(a.q) ~= 'number' or a.q < 0 or a.q > 1 then
    errors.raise('argument', ('Quantile: q is a number from 0 to 1, got %s'):format(tostring(a.q)))
  end
  self._q = a.q
end

function Quantile:partial(groups)
  local values, own, valid = self:_numbers(groups)
  local ends, parts = bounds(own), {}
  values = values:to('float64')
  if valid then values = values:masked_fill(valid:logical_not(), 0 / 0) end
  for g = 1, groups.count do parts[g] = {values:narrow(0, ends[g], ends[g + 1] - ends[g])} end
  return self._state({'parts'}, Objects(parts, groups.count))
end

-- Moves the lists of b into a: only the states use them.
function Quantile:merge(a, b)
  local parts = a:column('parts'):value(0)
  for _, part in ipairs(b:column('parts'):value(0)) do parts[#parts + 1] = part end
  return a
end

local function quantile_of(self, values)
  local valid = values:masked_select(values:isnan():logical_not())
  local count = valid:size(0)
  if count == 0 or (not self._ignores_nulls and count < values:size(0)) then return 0 / 0 end
  local place = (count - 1) * self._q
  local below = math.floor(place)
  local ordered = valid:sort()
  local low, high = ordered[below]:item(), ordered[math.min(below + 1, count - 1)]:item()
  if place == below then return low end
  return low * (below + 1 - place) + high * (place - below)
end

function Quantile:finalize(state)
  local out = {}
  for i, parts in ipairs(state:column('parts'):values()) do out[i] = quantile_of(self, torch.cat(parts)) end
  return torch.tensor(out, {dtype = 'float64'})
end

function Quantile:type_of() return 'float64' end

---The distinct values as a list, in order of appearance; null is left out, or is torch.none with ignore_nulls = false.
---Arguments: on, {ignore_nulls = true, alias_name}. Ray equivalent: ray.data.aggregate.Unique.
---@class data.Unique: data.AggregateFn
---@overload fun(on: string, options?: table): data.Unique
local Unique = AggregateFn:extend('Unique')

local unique_signature = AggregateFn.signature 'Unique'

function Unique:init(...) self:_take('unique', unique_signature:bind(...)) end

local function add(into, value)
  local key = lists.key(value)
  if into.seen[key] then return end
  into.seen[key] = true
  into.list[#into.list + 1] = value
end

local function check_values(self, of)
  if column.is_strings(of) or column.is_masked(of) or column.is_null(of) then return end
  if column.is_tensor(of) and of:dim() == 1 then return end
  errors.raise('argument', ("Unique: column '%s' is %s"):format(self.on, column.type_of(of)))
end

function Unique:partial(groups)
  local of = groups.block:column(self.on)
  check_values(self, of)
  local values, ends, found = column.values(of), bounds(groups), {}
  for g = 1, groups.count do
    found[g] = {list = {}, seen = {}}
    for i = ends[g] + 1, ends[g + 1] do
      local value = values[i]
      if value == nil or value ~= value then value = torch.none end
      if value ~= torch.none or not self._ignores_nulls then add(found[g], value) end
    end
  end
  return self._state({'found'}, Objects(found, groups.count))
end

function Unique:merge(a, b)
  local into = a:column('found'):value(0)
  for _, value in ipairs(b:column('found'):value(0).list) do add(into, value) end
  return a
end

function Unique:finalize(state)
  local out = {}
  for i, found in ipairs(state:column('found'):values()) do out[i] = found.list end
  return Objects(out, #out)
end

function Unique:type_of() return 'object' end

return {Quantile = Quantile, Unique = Unique}
