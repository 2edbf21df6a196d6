-- rtrain/data/preprocessors/categories.lua: the distinct values of columns, and the place of a value among them.

local counted = require 'rtrain.data.aggregate.counted'
local errors = require 'base.errors'
local lists = require 'rtrain.data.columns.lists'
local number = require 'base.number'
local ordered = require 'base.ordered'
local torch = require 'torch'

local categories = {}

-- Compares two lists as Python's tuples: by the first items that differ, else the shorter one first.
local function is_before(a, b)
  if type(a) ~= 'table' then
    if type(a) == 'boolean' then return not a and b end
    return a < b
  end
  for i = 1, math.min(#a, #b) do
    if is_before(a[i], b[i]) then return true end
    if is_before(b[i], a[i]) then return false end
  end
  return #a < #b
end

-- Sorts strings byte by byte, which is the order of their code points.
local function sorted(owner, name, values)
  local ok = pcall(table.sort, values, is_before)
  if ok then return values end
  errors.raise('argument', ("%s: fit: column '%s' holds values of several types, which have no order"):format(owner, name))
end

---Returns the places of a counter's values, the most frequent first; among equals the one that came first.
---@param counts integer[]
---@return integer[]
function categories.by_frequency(counts)
  local places = {}
  for i = 1, #counts do places[i] = i end
  table.sort(places, function(a, b) return counts[a] > counts[b] or counts[a] == counts[b] and a < b end)
  return places
end

local function most_frequent(counter, limit)
  local out = {}
  for i, place in ipairs(categories.by_frequency(counter.counts)) do
    if i > limit then break end
    out[i] = counter.values[place]
  end
  return out
end

---Returns the values of several columns with their counts, in one pass.
---@param dataset rtrain.data.Dataset
---@param names string[]
---@param options {encode_lists: boolean?, ignore_nulls: boolean?}
---@return table<string, {values: any[], counts: integer[]}> by column
function categories.counters(dataset, names, options)
  local aggregates, out = {}, {}
  for i, name in ipairs(names) do
    aggregates[i] = counted.ValueCounter(name, {
      encode_lists = options.encode_lists or false, ignore_nulls = options.ignore_nulls ~= false,
    })
  end
  local found = dataset:aggregate(unpack(aggregates))
  for i, name in ipairs(names) do out[name] = found[aggregates[i].name] or {values = {}, counts = {}} end
  return out
end

local function check_complete(owner, name, values)
  for _, value in ipairs(values) do
    if value == torch.none then
      errors.raise('argument', ("%s: fit: column '%s' has null among its values: a SimpleImputer before it gives a value")
        :format(owner, name))
    end
  end
end

---Returns the distinct values of columns: sorted, or the most frequent ones first where their number is limited.
---@param owner string the class, for messages
---@param dataset rtrain.data.Dataset
---@param names string[]
---@param options {encode_lists: boolean?, max_categories: table<string, integer>?}
---@return table<string, any[]> stats 'unique_values(column)' → values; the place of a value, from 0, is its code
function categories.fit(owner, dataset, names, options)
  local stats, limits = ordered.new(), options.max_categories or {}
  local counters = categories.counters(dataset, names, {encode_lists = options.encode_lists, ignore_nulls = false})
  for _, name in ipairs(names) do
    local counter = counters[name]
    check_complete(owner, name, counter.values)
    local values = limits[name] and most_frequent(counter, limits[name]) or sorted(owner, name, counter.values)
    stats[('unique_values(%s)'):format(name)] = torch.list(values)
  end
  return stats
end

---Returns a function from a value to its code.
---@param stats table<string, any[]>
---@param name string of the column
---@return fun(value: any): integer? code from 0; nil for a value that is not among them
function categories.coder(stats, name)
  local codes = {}
  for i, value in ipairs(stats[('unique_values(%s)'):format(name)]) do codes[lists.key(value)] = i - 1 end
  return function(value) return codes[lists.key(value)] end
end

---Checks a table of the most categories of columns.
---@param owner string the class, for messages
---@param max_categories? table<string, integer>
---@param names string[] the columns
---@return table<string, integer>?
function categories.checked_limits(owner, max_categories, names)
  if max_categories == nil then return nil end
  if type(max_categories) ~= 'table' then
    errors.raise('argument', ('%s: max_categories: expected a table column → number, got a %s'):format(owner,
      type(max_categories)))
  end
  local known = {}
  for _, name in ipairs(names) do known[name] = true end
  for _, name in ipairs(ordered.keys_of(max_categories)) do
    local limit = max_categories[name]
    if not known[name] then
      errors.raise('argument', ("%s: max_categories: '%s' is not one of its columns%s"):format(owner, tostring(name),
        errors.suggestion(tostring(name), names)))
    end
    if type(limit) ~= 'number' or limit < 1 or limit % 1 ~= 0 then
      errors.raise('argument', ('%s: max_categories: %s is a whole number from 1 on, got %s'):format(owner, name,
        tostring(limit)))
    end
  end
  return max_categories
end

---Returns the text of a value as Python's str has it, for comparisons.
---@param value any
---@return string
function categories.text(value)
  if type(value) == 'boolean' then return value and 'True' or 'False' end
  if type(value) == 'string' then return value end
  return number.text(value)
end

return categories
