-- rtrain/data/operators/preprocess.lua: Preprocess: applies a preprocessor to blocks.

local column = require 'rtrain.data.columns.column'
local Block = require 'rtrain.data.blocks.block'
local Operator = require 'rtrain.data.operators.operator'
local torch = require 'torch'

---Applies a preprocessor, which has the fields `_keeps_rows`, `_calls_user` and the methods `_transform_block`,
---`_needs_values`.
---@class data.Preprocess: data.Operator
---@overload fun(preprocessor: rtrain.data.preprocessors.Preprocessor, name: string): data.Preprocess
local Preprocess = Operator:extend('Preprocess')

function Preprocess:init(preprocessor, name)
  self._preprocessor, self.name = preprocessor, name
  self.preserves_rows, self.row_wise = preprocessor._keeps_rows, preprocessor._keeps_rows
  self.calls_user = preprocessor:_calls_user()
end

function Preprocess:apply(block) return self._preprocessor:_transform_block(block) end

-- Returns a column without rows, of Lua values for lists and the like.
local function empty_column(type)
  local dtype, shape = type:match '^tensor<([%w_]+)>%[([%d,]+)%]$'
  if dtype then
    local size = {0}
    for extent in shape:gmatch '%d+' do size[#size + 1] = tonumber(extent) end
    return torch.empty(size, {dtype = dtype})
  end
  return column.nulls(type, 0)
end

-- Returns the schema after each part of a Chain.
local function schema_of_parts(parts, schema)
  for _, part in ipairs(parts) do
    schema = schema and Preprocess(part, ''):schema_of(schema)
  end
  return schema
end

-- Transforms no rows, which also checks names and types at the line of the script that calls `transform`.
function Preprocess:schema_of(schema)
  if self._preprocessor.preprocessors then return schema_of_parts(self._preprocessor.preprocessors, schema) end
  local names, columns, types, kinds = {}, {}, {}, {}
  for i, entry in ipairs(schema) do
    names[i], columns[i], types[entry.name] = entry.name, empty_column(entry.type), entry.type
    kinds[entry.name] = column.type_of(columns[i])
  end
  if self._preprocessor:_needs_values(kinds) then return nil end
  local out = self._preprocessor:_transform_block(Block(names, columns, 0)):schema()
  -- Times and the like are int64 in a block: the columns that stay keep the names of their types.
  local made = self._preprocessor:_made_columns()
  for _, entry in ipairs(out) do
    if not made[entry.name] then entry.type = types[entry.name] or entry.type end
  end
  return out
end

return Preprocess
