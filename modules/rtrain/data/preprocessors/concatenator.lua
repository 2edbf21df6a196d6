-- rtrain/data/preprocessors/concatenator.lua: Concatenator: columns of numbers become one column of vectors.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local column = require 'rtrain.data.columns.column'
local dtype_names = require 'torch.tensor.dtypes'
local inputs = require 'rtrain.data.preprocessors.inputs'
local lists = require 'rtrain.data.columns.lists'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local torch = require 'torch'
local warnings = require 'base.warnings'

---Puts columns of numbers into one column of vectors, in the order of `columns`, and leaves those columns out. The dtype is
---the one that numpy finds for all of them: float64 for whole numbers of 32 or 64 bits together with floats. Null becomes
---NaN. There is nothing to fit. Arguments: columns, {output_column_name = 'concat_out', dtype: of the vectors,
---raise_if_missing = false: a column that is not there is left out, with a warning, flatten = false: vectors and lists of one
---length may be among the columns}. Ray equivalent: ray.data.preprocessors.Concatenator.
---
---```lua
---local data = require 'rtrain.data'
---local concatenator = data.preprocessors.Concatenator {columns = {'b', 'a'}, dtype = 'float32'}
---local batch = concatenator:transform(data.from_items{{a = 1, b = 0.5, y = 7}}):take_batch(1)
---assert(batch.concat_out.dtype == 'float32' and batch.concat_out:tolist()[1][2] == 1 and batch.a == nil)
---```
---@class rtrain.data.preprocessors.Concatenator: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.Concatenator
local Concatenator = Preprocessor:extend('Concatenator')
Concatenator._is_fittable = false
Concatenator._keeps_rows = true
Concatenator._saved = {'columns', 'output_column_name', 'dtype', 'raise_if_missing', 'flatten'}

local signature = args.signature('Concatenator', {'columns', {'output_column_name', 'concat_out'}, {'dtype'},
                                                  {'raise_if_missing', false}, {'flatten', false}})

function Concatenator:init(...)
  local a = signature:bind(...)
  self.columns = checks.names('Concatenator: columns', a.columns)
  if #self.columns == 0 then self:_refuse('columns: expected at least one name') end
  if type(a.output_column_name) ~= 'string' then
    self:_refuse('output_column_name: expected a string, got a %s', type(a.output_column_name))
  end
  self.output_column_name, self.dtype = a.output_column_name, dtype_names.own_name(a.dtype)
  self.raise_if_missing, self.flatten = a.raise_if_missing, a.flatten
  -- An unknown dtype is an error here.
  if self.dtype then torch.zeros({0}, {dtype = self.dtype}) end
end

function Concatenator:get_output_columns() return {self.output_column_name} end

-- The bytes of the float that numpy needs for a dtype of whole numbers.
local FLOAT_BYTES = {bool = 2, uint8 = 2, int8 = 2, uint16 = 4, int16 = 4, uint32 = 8, int32 = 8, uint64 = 8, int64 = 8}
local FLOATS = {[2] = 'float16', [4] = 'float32', [8] = 'float64'}

-- Returns the dtype for tensors of several dtypes; nil if they have the same.
local function joint_dtype(tensors)
  local first, bytes, has_float, has_uint64, has_signed = tensors[1].dtype, 0, false, false, false
  local is_same = true
  for _, of in ipairs(tensors) do
    local is_float = of:is_floating_point()
    has_float, is_same = has_float or is_float, is_same and of.dtype == first
    has_uint64, has_signed = has_uint64 or of.dtype == 'uint64', has_signed or of.dtype:match '^int' ~= nil
    bytes = math.max(bytes, is_float and of:element_size() or FLOAT_BYTES[of.dtype])
  end
  if is_same then return nil end
  if has_float then return FLOATS[bytes] end
  return has_uint64 and has_signed and 'float64' or nil
end

-- Returns lists of one length as a tensor.
local function stacked(self, name, of)
  local rows = lists.rows(of)
  if not rows then return nil end
  for i = 1, of:len() do
    if rows[i] == nil or #rows[i] ~= #rows[1] then
      self:_refuse("column '%s': row %d has %s, the first one a list of %d", name, i - 1,
        rows[i] and 'a list of ' .. #rows[i] or 'no value', #(rows[1] or {}))
    end
  end
  return torch.tensor(rows, {dtype = 'float64'})
end

-- Returns a column as a tensor (rows, numbers).
local function numbers_of(self, block, name)
  local of = inputs.column('Concatenator', block, name)
  if column.is_masked(of) then return of:to_float('float64'):unsqueeze(1) end
  if column.is_tensor(of) and of:dim() == 1 then return of:unsqueeze(1) end
  if not self.flatten and (column.is_tensor(of) or not column.is_strings(of) and lists.rows(of)) then
    self:_refuse("column '%s' has several numbers in each row: say flatten = true", name)
  end
  if column.is_tensor(of) then return of:flatten(1) end
  if not column.is_strings(of) then
    local tensor = stacked(self, name, of)
    if tensor then return tensor end
  end
  self:_refuse("column '%s' is %s: expected numbers", name, column.type_of(of))
end

-- Returns the columns that are there.
local function present(self, block)
  local out, missing = {}, {}
  for _, name in ipairs(self.columns) do
    local list = block:has(name) and out or missing
    list[#list + 1] = name
  end
  if #missing == 0 then return out end
  if self.raise_if_missing or #out == 0 then inputs.column('Concatenator', block, missing[1]) end
  warnings.warn(('Concatenator: left out, since they are not there: %s'):format(table.concat(missing, ', ')))
  return out
end

function Concatenator:_transform_block(block)
  local names, tensors = present(self, block), {}
  for i, name in ipairs(names) do tensors[i] = numbers_of(self, block, name) end
  local dtype = self.dtype or joint_dtype(tensors)
  for i, of in ipairs(tensors) do tensors[i] = dtype and of:to(dtype) or of end
  return block:drop(names):with(self.output_column_name, torch.cat(tensors, 1))
end

-- Lists of Lua values have a length that their type does not say.
function Concatenator:_needs_values(types)
  for _, name in ipairs(self.columns) do
    if types[name] == 'object' then return true end
  end
  return false
end

return Concatenator
