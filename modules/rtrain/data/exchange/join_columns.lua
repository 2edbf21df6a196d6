-- rtrain/data/exchange/join_columns.lua: the types of joins, and the columns of their results.

local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'

local join_columns = {}

---@class data.JoinType
---@field pairs? boolean rows with equal keys become one row
---@field left? boolean rows of the left side without a match are kept
---@field right? boolean rows of the right side without a match are kept
---@field only? string the side whose columns are kept, if only one side's are
---@field matched? boolean rows of that side with a match are kept
---@field keys string the side whose key columns are kept; 'both': the side that has the row

---@type table<string, data.JoinType>
join_columns.TYPES = {
  inner = {pairs = true, keys = 'left'},
  left_outer = {pairs = true, left = true, keys = 'left'},
  right_outer = {pairs = true, right = true, keys = 'right'},
  full_outer = {pairs = true, left = true, right = true, keys = 'both'},
  left_semi = {only = 'left', matched = true, keys = 'left'},
  right_semi = {only = 'right', matched = true, keys = 'right'},
  left_anti = {only = 'left', left = true, keys = 'left'},
  right_anti = {only = 'right', right = true, keys = 'right'},
}

---The names of the types, in Ray's order.
join_columns.NAMES = {'inner', 'left_outer', 'right_outer', 'full_outer', 'left_semi', 'right_semi', 'left_anti',
                      'right_anti'}

---@class data.JoinColumn
---@field name string
---@field side string 'left' or 'right'
---@field source string its name on that side
---@field other_key? string the key's name on the other side, if its value may come from either side
---@field is_optional boolean whether a row may lack the value

local OTHER = {left = 'right', right = 'left'}

-- Returns the columns of one side that are kept.
local function of_side(options, side, names)
  local kind, key_of, out = join_columns.TYPES[options.join_type], {}, {}
  local keys, other_keys = options.on, options.right_on
  if side == 'right' then keys, other_keys = other_keys, keys end
  for i, name in ipairs(keys) do key_of[name] = other_keys[i] end
  for _, name in ipairs((kind.only or side) == side and names or {}) do
    local is_key, is_shared = key_of[name] ~= nil, key_of[name] ~= nil and kind.keys == 'both'
    if not is_key or kind.keys == side or is_shared and side == 'left' then
      out[#out + 1] = {name = name, side = side, source = name, other_key = is_shared and key_of[name] or nil,
                       is_optional = not is_shared and not kind.only and kind[OTHER[side]] == true}
    end
  end
  return out
end

local function add_suffixes(options, left, right)
  local taken = {}
  for _, entry in ipairs(left) do taken[entry.name] = entry end
  for _, entry in ipairs(right) do
    local same = taken[entry.name]
    if same and not (options.left_suffix or options.right_suffix) then
      errors.raise('argument', ("join: both sides have a column '%s': say left_suffix or right_suffix"):format(entry.name))
    end
    if same then
      same.name = same.name .. (options.left_suffix or '')
      entry.name = entry.name .. (options.right_suffix or '')
    end
  end
end

---Returns the columns of a join: those of the left side, then those of the right side.
---@param options table of data.Join
---@param left string[] names of all columns of the left side
---@param right string[]
---@return data.JoinColumn[]
function join_columns.of(options, left, right)
  local out, others = of_side(options, 'left', left), of_side(options, 'right', right)
  add_suffixes(options, out, others)
  for _, entry in ipairs(others) do out[#out + 1] = entry end
  return out
end

---@param schema {name: string, type: string}[]
---@return string[] names
---@return table<string, string> types by name
function join_columns.names_and_types(schema)
  local names, types = {}, {}
  for i, entry in ipairs(schema) do names[i], types[entry.name] = entry.name, entry.type end
  return names, types
end

---Returns the schema of a join.
---@param options table of data.Join
---@param left {name: string, type: string}[]
---@param right {name: string, type: string}[]
---@return {name: string, type: string}[]
function join_columns.schema(options, left, right)
  local names, types, out = {}, {}, {}
  names.left, types.left = join_columns.names_and_types(left)
  names.right, types.right = join_columns.names_and_types(right)
  for i, entry in ipairs(join_columns.of(options, names.left, names.right)) do
    local own = types[entry.side][entry.source]
    out[i] = {name = entry.name, type = entry.is_optional and column.optional_type(own) or own}
  end
  return out
end

return join_columns
