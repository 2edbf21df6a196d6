-- rtrain/data/aggregate/counted.lua: ValueCounter: how often each value is there.

local AggregateFn = require 'rtrain.data.aggregate.base'
local column = require 'rtrain.data.columns.column'
local lists = require 'rtrain.data.columns.lists'
local Objects = require 'rtrain.data.columns.objects'
local torch = require 'torch'

---How often each value is there: {values = list, counts = list}, in order of appearance; null is left out, or is
---torch.none with ignore_nulls = false. With encode_lists = true the items of lists count, otherwise a list is a value.
---Arguments: on, {encode_lists = false, ignore_nulls = true, alias_name}. Ray equivalent: ray.data.aggregate.ValueCounter.
---
---```lua
---local data = require 'rtrain.data'
---local found = data.from_items{{y = 'b'}, {y = 'a'}, {y = 'b'}}:aggregate(data.aggregate.ValueCounter('y'))
---local counter = found['value_counter(y)']
---assert(counter.values[1] == 'b' and counter.counts[1] == 2 and #counter.values == 2)
---```
---@class data.ValueCounter: data.AggregateFn
---@overload fun(on: string, options?: table): data.ValueCounter
local ValueCounter = AggregateFn:extend('ValueCounter')

local counter_signature = AggregateFn.signature('ValueCounter', {'encode_lists', false})

function ValueCounter:init(...)
  local a = counter_signature:bind(...)
  self:_take('value_counter', a)
  self._encode_lists = a.encode_lists
end

local function add(self, into, value, count)
  if value == nil or value ~= value then value = torch.none end
  if value == torch.none and self._ignores_nulls then return end
  local key = lists.key(value)
  local place = into.place[key]
  if place == nil then
    place = #into.values + 1
    into.place[key], into.values[place], into.counts[place] = place, value, 0
  end
  into.counts[place] = into.counts[place] + count
end

function ValueCounter:partial(groups)
  local of, found = groups.block:column(self.on), {}
  local rows = lists.rows(of)
  local values, ids = rows or column.values(of), groups.ids:tolist()
  for g = 1, groups.count do found[g] = {values = {}, counts = {}, place = {}} end
  for i = 1, groups.rows do
    local value, into = values[i], found[ids[i] + 1]
    if rows and self._encode_lists and value ~= nil then
      for _, item in ipairs(value) do add(self, into, item, 1) end
    else
      add(self, into, value, 1)
    end
  end
  return self._state({'found'}, Objects(found, groups.count))
end

function ValueCounter:merge(a, b)
  local into, more = a:column('found'):value(0), b:column('found'):value(0)
  for i, value in ipairs(more.values) do add(self, into, value, more.counts[i]) end
  return a
end

function ValueCounter:finalize(state)
  local out = {}
  for i, found in ipairs(state:column('found'):values()) do out[i] = {values = found.values, counts = found.counts} end
  return Objects(out, #out)
end

function ValueCounter:type_of() return 'object' end

return {ValueCounter = ValueCounter}
