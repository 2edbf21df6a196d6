-- rtrain/data/blocks/block.lua: Block: rows of a dataset, stored by column.
--
-- A block is immutable: each method returns a new block, which shares the columns if possible.

local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local dtype_names = require 'torch.tensor.dtypes'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local origins = require 'rtrain.data.blocks.origins'
local values = require 'rtrain.data.columns.values'
local torch = require 'torch'

---Rows in columns. Arguments: names, a list; columns, a list of the same length, each a tensor whose first dimension is
---the rows, Masked, Strings or Objects; num_rows (default: the length of the first column).
---
---```lua
---local Block = require 'rtrain.data.blocks.block'
---local torch = require 'torch'
---local block = Block({'id', 'square'}, {torch.arange(4), torch.arange(4):pow(2)})
---assert(block:num_rows() == 4 and block:row(3).square == 9)
---assert(block:narrow(1, 2):column('id'):tolist()[1] == 1)
---```
---@class data.Block
---@overload fun(names: string[], columns: data.Column[], num_rows?: integer): data.Block
local Block = class('Block')

local function check_kind(name, of)
  if not column.is(of) then
    errors.raise('argument', ("column '%s' is a %s: expected a Tensor, Masked, Strings or Objects"):format(name, type(of)))
  end
  if column.is_tensor(of) and of:dim() == 0 then
    errors.raise('argument', ("column '%s' is a Tensor without dimensions: the first one is the rows"):format(name))
  end
end

local function check_length(name, of, num_rows)
  if column.len(of) ~= num_rows then
    errors.raise('argument', ("column '%s' has %d rows, others have %d"):format(name, column.len(of), num_rows))
  end
end

function Block:init(names, columns, num_rows)
  self._names, self._columns, self._place = names, columns, {}
  for i, name in ipairs(names) do check_kind(name, columns[i]) end
  self._num_rows = num_rows or (columns[1] and column.len(columns[1])) or 0
  for i, name in ipairs(names) do
    if self._place[name] then errors.raise('argument', ("two columns are named '%s'"):format(name)) end
    self._place[name] = i
    check_length(name, columns[i], self._num_rows)
  end
end

---@return integer
function Block:num_rows() return self._num_rows end

---@return string[] names of the columns, in order; a new list
function Block:names()
  local out = {}
  for i, name in ipairs(self._names) do out[i] = name end
  return out
end

---Returns whether the block has such a column.
---@param name string
---@return boolean
function Block:has(name) return self._place[name] ~= nil end

local function place_of(self, name)
  local place = self._place[name]
  if place then return place end
  local hint = errors.suggestion(tostring(name), self._names)
  errors.raise('argument', ("no column '%s'%s; there are: %s"):format(tostring(name), hint,
    table.concat(self._names, ', ')))
end

---Returns the column of that name.
---@param name string
---@return data.Column
function Block:column(name) return self._columns[place_of(self, name)] end

-- Columns of the same kinds need no check, which costs as much as narrowing them.
local function map_columns(self, num_rows, fn, ...)
  local out, columns = Block.__new(Block), {}
  for i, of in ipairs(self._columns) do columns[i] = fn(of, ...) end
  out._names, out._place, out._columns, out._num_rows = self._names, self._place, columns, num_rows
  return out
end

---Returns the same rows with their origin, see `origin`.
---@param label string the file, or its row group
---@param first integer the first row's number there, from 0
---@return data.Block
function Block:from(label, first)
  local out = self:select(self._names)
  out._origins = {{n = self._num_rows, label = label, first = first}}
  return out
end

---Returns the origin of a row, for messages: 'row 3 of /data/a.csv'; nil if it is not known, for example after a
---shuffle.
---@param row integer from 0
---@return string?
function Block:origin(row) return origins.of_row(self._origins, row) end

---Returns a function that maps a row to its origin and does not keep the block alive.
---@return fun(row: integer): string?
function Block:origin_of_rows()
  local list = self._origins
  return function(row) return origins.of_row(list, row) end
end

-- Passes the origins of the rows on to a block with other columns of the same rows.
local function of_same_rows(block, like)
  if like and like._num_rows == block._num_rows then block._origins = like._origins end
  return block
end

local function check_rows(self, start, length)
  if start >= 0 and length >= 0 and start + length <= self._num_rows then return end
  errors.raise('argument', ('rows %d … %d of a block of %d rows'):format(start, start + length - 1, self._num_rows))
end

---Returns the rows start … start + length - 1, without a copy.
---@param start integer from 0
---@param length integer
---@return data.Block
function Block:narrow(start, length)
  if start == 0 and length == self._num_rows then return self end
  check_rows(self, start, length)
  local out = map_columns(self, length, column.narrow, start, length)
  out._origins = origins.narrow(self._origins, start, length)
  return out
end

---Returns copies of the rows start … start + length - 1: the tensors are of no other block, see `owns`.
---@param start integer from 0
---@param length integer
---@return data.Block
function Block:copied_rows(start, length)
  check_rows(self, start, length)
  local tensors, place = {}, 0
  for _, of in ipairs(self._columns) do
    if column.is_tensor(of) then tensors[#tensors + 1] = of end
  end
  local copies = require('torch._C').data.copy_rows(tensors, start, length)
  local out = map_columns(self, length, function(of)
    if not column.is_tensor(of) then return column.narrow(of, start, length) end
    place = place + 1
    return copies[place]
  end)
  out._origins, out._owns_tensors = origins.narrow(self._origins, start, length), true
  return out
end

---Returns whether the column of that name is a tensor that may be modified without changing another block.
---@param name string
---@return boolean
function Block:owns(name) return self._owns_tensors and column.is_tensor(self:column(name)) or false end

---Returns a copy that may be modified without changing this block.
---@return data.Block
function Block:copy() return of_same_rows(map_columns(self, self._num_rows, column.copy), self) end

---Returns the rows at the given places, in that order.
---@param indices torch.Tensor int64 (n), from 0
---@return data.Block
function Block:take(indices)
  local count = indices:size(0)
  if count > 0 and (indices:min():item() < 0 or indices:max():item() >= self._num_rows) then
    errors.raise('argument', ('a row to take is not one of 0 … %d'):format(self._num_rows - 1))
  end
  return map_columns(self, count, column.take, indices)
end

---Returns the columns of these names, in this order.
---@param names string[]
---@return data.Block
function Block:select(names)
  local columns = {}
  for i, name in ipairs(names) do columns[i] = self:column(name) end
  return of_same_rows(Block(names, columns, self._num_rows), self)
end

---Returns the same columns under other names.
---@param names string[] the new names of all columns, in order
---@return data.Block
function Block:renamed(names) return of_same_rows(Block(names, self._columns, self._num_rows), self) end

---Returns a block with an additional column, or with a column of that name replaced.
---@param name string
---@param of data.Column
---@return data.Block
function Block:with(name, of)
  local names, columns = self:names(), {}
  for i, own in ipairs(self._columns) do columns[i] = own end
  local place = self._place[name] or #names + 1
  names[place], columns[place] = name, of
  return of_same_rows(Block(names, columns, #self._names > 0 and self._num_rows or nil), self)
end

---Returns all columns except these.
---@param names string[]
---@return data.Block
function Block:drop(names)
  local dropped, kept = {}, {}
  for _, name in ipairs(names) do dropped[place_of(self, name)] = true end
  for i, name in ipairs(self._names) do
    if not dropped[i] then kept[#kept + 1] = name end
  end
  return self:select(kept)
end

---@return integer bytes of all columns
function Block:size_bytes()
  local bytes = 0
  for _, of in ipairs(self._columns) do bytes = bytes + column.size_bytes(of) end
  return bytes
end

---Returns a row as a table: column → Lua number, boolean, string, table, or tensor; null is absent.
---@param i integer from 0
---@return table<string, any>
function Block:row(i)
  if i < 0 or i >= self._num_rows then
    errors.raise('argument', ('row %d is not one of 0 … %d'):format(i, self._num_rows - 1))
  end
  local out = {}
  for k, name in ipairs(self._names) do out[name] = column.value(self._columns[k], i) end
  return out
end

---Returns all rows, see `row`.
---@return table<string, any>[]
function Block:rows()
  local out = {}
  for i = 1, self._num_rows do out[i] = {} end
  for k, name in ipairs(self._names) do
    local of = column.values(self._columns[k])
    for i = 1, self._num_rows do out[i][name] = of[i] end
  end
  return out
end

---Returns the columns as a table by name: a tensor, or a list for strings, objects, and for integers and booleans with
---null (torch.none for a null).
---@param options? {nan: boolean, copies: boolean} nan: integers and booleans with null become float64 with NaN instead;
---  copies: tensors that the caller may change
---@return table<string, torch.Tensor|any[]>
function Block:to_batch(options)
  local out = ordered.new()
  for k, name in ipairs(self._names) do
    local of = self._columns[k]
    local as_floats = options and options.nan and column.is_masked(of)
    local value = as_floats and of:to_float 'float64' or column.to_batch(of)
    local is_copied = options and options.copies and column.is_tensor(value) and not self:owns(name)
    out[name] = is_copied and value:clone() or value
  end
  return out
end

---Returns the type of each column as text, in order.
---@return {name: string, type: string}[]
function Block:schema()
  local out = {}
  for k, name in ipairs(self._names) do out[k] = {name = name, type = column.type_of(self._columns[k])} end
  return out
end

local function check_same_columns(first, other)
  local same = #first._names == #other._names
  for _, name in ipairs(first._names) do same = same and other._place[name] ~= nil end
  if same then return end
  errors.raise('argument', ('blocks with different columns cannot be joined: %s and %s; where a function leaves a column out '
    .. "since no row of a block has a value, dtypes = {column = 'int64'} or another type keeps it"):format(
    table.concat(first._names, ', '), table.concat(other._names, ', ')))
end

---Concatenates the rows of several blocks, which have the same columns.
---@param list data.Block[]
---@return data.Block
function Block.concat(list)
  if #list == 0 then return Block({}, {}, 0) end
  local first, num_rows = list[1], 0
  if #list == 1 then return first end
  for _, block in ipairs(list) do
    check_same_columns(first, block)
    num_rows = num_rows + block._num_rows
  end
  local columns = {}
  for k, name in ipairs(first._names) do
    local parts = {}
    for i, block in ipairs(list) do parts[i] = block:column(name) end
    columns[k] = column.concat(parts, name)
  end
  local out, lists, rows, owns = Block(first._names, columns, num_rows), {}, {}, true
  for i, block in ipairs(list) do
    lists[i], rows[i], owns = block._origins or false, block._num_rows, owns and block._owns_tensors
  end
  out._origins, out._owns_tensors = origins.concat(lists, rows), owns
  return out
end

-- Returns the used names: first those of `like`, in its order, then the others, in their own order if they have one,
-- else sorted.
local function ordered_names(used, others, like)
  local names = {}
  for _, name in ipairs(like and like._names or {}) do
    if used[name] then names[#names + 1] = name end
  end
  for _, name in ipairs(others) do
    if not (like and like._place[name]) then names[#names + 1] = name end
  end
  return names
end

local function check_name(name)
  if type(name) ~= 'string' then
    errors.raise('argument', ('a column is named by a string, got %s %s'):format(type(name), tostring(name)))
  end
end

local function names_of_rows(rows, like)
  local used, others, is_ordered = {}, {}, false
  for i, row in ipairs(rows) do
    if type(row) ~= 'table' then
      errors.raise('argument', ('row %d is a %s: expected a table {column = value, …}'):format(i - 1, type(row)))
    end
    is_ordered = is_ordered or ordered.is(row)
    for _, name in ipairs(ordered.is(row) and ordered.keys(row) or {}) do
      if not used[name] then others[#others + 1], used[name] = name, true end
    end
    for name in next, row do
      if not used[name] then
        check_name(name)
        others[#others + 1], used[name] = name, true
      end
    end
  end
  if not is_ordered then table.sort(others) end
  return ordered_names(used, others, like)
end

-- Adds columns that had only nulls and still do, which row tables cannot show: if `keeps` is set, and those named in
-- dtypes.
local function add_null_columns(names, like, options)
  local used, out = {}, {}
  for _, name in ipairs(names) do used[name] = true end
  for i, name in ipairs(like._names) do
    local wanted = options.keeps or options.dtypes and options.dtypes[name]
    if used[name] or wanted and column.is_null(like._columns[i]) then out[#out + 1], used[name] = name, false end
  end
  for _, name in ipairs(names) do
    if used[name] then out[#out + 1] = name end
  end
  return out
end

-- Returns the options with which a column of Lua values gets its dtype back.
local function kind_of(name, like, options)
  local before = like and like._place[name] and like._columns[like._place[name]] or nil
  local dtype = dtype_names.own_name(options.dtypes and options.dtypes[name] or nil)
  return {name = name, like = before, dtype = dtype, default = options.default_dtype}
end

---Returns a block of row tables. A column of numbers keeps its dtype in `like`; a new column becomes float32, or int64
---if all numbers are integral and one is int64 cdata. Tensors of one shape are stacked; other values stay Lua values.
---@param rows table<string, any>[]
---@param like? data.Block the block the rows came from
---@param options? {dtypes: table<string, string>, default_dtype: string, keeps: boolean} default_dtype = 'number'
---  chooses int64 if all numbers are integral, else float64; keeps: retains columns of `like` that have no value
---@return data.Block
function Block.from_rows(rows, like, options)
  local names, columns = names_of_rows(rows, like), {}
  if like then names = add_null_columns(names, like, options or {}) end
  for k, name in ipairs(names) do
    local list = {}
    for i, row in ipairs(rows) do list[i] = row[name] end
    columns[k] = values.to_column(list, #rows, kind_of(name, like, options or {}))
  end
  if #rows == 0 and like then return like:narrow(0, 0) end
  return of_same_rows(Block(names, columns, #rows), like)
end

-- A column's list may have holes, but no other keys.
local function check_places(name, list)
  for key in next, list do
    if type(key) ~= 'number' or key < 1 or key > #list or key % 1 ~= 0 then
      errors.raise('argument', ("column '%s': a list of rows has no place %s"):format(name, tostring(key)))
    end
  end
end

local function names_of_batch(batch, like)
  local used, others = {}, {}
  for _, name in ipairs(ordered.keys_of(batch)) do
    check_name(name)
    used[name], others[#others + 1] = true, name
  end
  return ordered_names(used, others, like)
end

---Returns a block of a batch: a table name → tensor (first dimension: rows) | list | column.
---@param batch table<string, torch.Tensor|any[]>
---@param like? data.Block the block the batch came from
---@param options? {dtypes: table<string, string>}
---@return data.Block
function Block.from_batch(batch, like, options)
  if type(batch) ~= 'table' then
    errors.raise('argument', ('a batch is a table {column = tensor or list, …}, got a %s'):format(type(batch)))
  end
  local names, columns = names_of_batch(batch, like), {}
  for k, name in ipairs(names) do
    local given = batch[name]
    if type(given) == 'table' and not column.is(given) then
      check_places(name, given)
      given = values.to_column(given, #given, kind_of(name, like, options or {}))
    end
    columns[k] = given
  end
  return of_same_rows(Block(names, columns), like)
end

---Returns a plain table that can be sent to another thread, for `unpack`.
---@return table
function Block:pack()
  local columns = {}
  for k, of in ipairs(self._columns) do columns[k] = column.pack(of) end
  return {names = torch.list(self:names()), columns = torch.list(columns), num_rows = self._num_rows, origins = self._origins}
end

---Returns the block that `pack` took apart.
---@param packed table
---@return data.Block
function Block.unpack(packed)
  local columns = {}
  for k, of in ipairs(packed.columns) do columns[k] = column.unpack(of) end
  local out = Block(packed.names, columns, packed.num_rows)
  out._origins = packed.origins
  return out
end

---Returns the block of a batch that a reader of base._arrow returned. Columns of images stay encoded.
---@param batch userdata
---@return data.Block
function Block.from_arrow(batch)
  local names, packed = require('torch._C').data.from_arrow(batch)
  local columns = {}
  for k, of in ipairs(packed) do columns[k] = column.unpack(of) end
  return Block(names, columns)
end

---Returns the block as a batch for a writer of base._arrow.
---@return userdata batch
function Block:to_arrow()
  local columns = {}
  for k, of in ipairs(self._columns) do columns[k] = column.to_arrow(of) end
  return require('torch._C').data.to_arrow(self._names, columns)
end

function Block:__tostring()
  local parts = {}
  for k, entry in ipairs(self:schema()) do parts[k] = entry.name .. ': ' .. entry.type end
  return ('Block(num_rows=%d, {%s})'):format(self._num_rows, table.concat(parts, ', '))
end

return Block
