-- rtrain/data/exchange/merge_join.lua: MergeJoin: joins two streams that are sorted by their keys.
--
-- Pairs of row numbers are gathered. They become a block when there are enough of them, or before one of the two blocks
-- that they refer to is replaced.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local join_columns = require 'rtrain.data.exchange.join_columns'
local KeyCursor = require 'rtrain.data.exchange.key_cursor'
local row_order = require 'rtrain.data.exchange.row_order'
local torch = require 'torch'

-- Rows of a resulting block.
local ROWS = 8192

---Arguments: left and right, streams sorted by their keys; options of data.Join.
---@class data.MergeJoin
---@overload fun(left: fun(), right: fun(), options: table): data.MergeJoin
local MergeJoin = class('MergeJoin')

function MergeJoin:init(left, right, options)
  self._options, self._type, self._out = options, join_columns.TYPES[options.join_type], {}
  self._places, self._count = {left = {}, right = {}}, 0
  local function flush() self:_flush() end
  self._sides = {left = KeyCursor(left, options.on, flush), right = KeyCursor(right, options.right_on, flush)}
  self._order = {}
  for i, name in ipairs(options.on) do self._order[i] = {name = name, descending = false} end
end

-- Raises an error if a key is a number on one side and a string on the other.
local function check_keys(self)
  local left, right = self._sides.left.block, self._sides.right.block
  for i, name in ipairs(left and right and self._options.on or {}) do
    local a, b = left:column(name), right:column(self._options.right_on[i])
    if column.is_strings(a) ~= column.is_strings(b) and not column.is_null(a) and not column.is_null(b) then
      errors.raise('argument', ("join: column '%s' is %s on the left, and '%s' is %s on the right"):format(name,
        column.type_of(a), self._options.right_on[i], column.type_of(b)))
    end
  end
end

-- Returns the columns. Those of a side without rows are known from its plan.
local function columns_of(self)
  local names, types = {}, {}
  for side, cursor in next, self._sides do
    names[side], types[side] = join_columns.names_and_types(self._options.schemas[side] or {})
    if cursor.block then names[side] = cursor.block:names() end
  end
  self._types = types
  return join_columns.of(self._options, names.left, names.right)
end

-- Returns a key column of a full outer join: the key of the left row if there is one, else of the right row.
local function key_column(self, entry, places)
  local left, right = self._sides.left.block, self._sides.right.block
  if not left or not right then
    local of = left and left:column(entry.source) or right:column(entry.other_key)
    return column.take(of, left and places.left or places.right)
  end
  local keys = left:column(entry.source)
  local place = torch.where(places.left:ge(0), places.left, places.right + column.len(keys))
  return column.take(column.concat({keys, right:column(entry.other_key)}, entry.name), place)
end

local function column_of(self, entry, places)
  if entry.other_key then return key_column(self, entry, places) end
  local block = self._sides[entry.side].block
  local of = block and block:column(entry.source) or self._types[entry.side][entry.source]
  if entry.is_optional or not block then return column.take_or_null(of, places[entry.side]) end
  return column.take(of, places[entry.side])
end

-- Makes a block of the pairs.
function MergeJoin:_flush()
  if self._count == 0 then return end
  self._columns = self._columns or columns_of(self)
  local places, names, columns = {}, {}, {}
  for side, list in next, self._places do places[side] = torch.tensor(list, {dtype = 'int64'}) end
  for i, entry in ipairs(self._columns) do names[i], columns[i] = entry.name, column_of(self, entry, places) end
  self._out[#self._out + 1] = Block(names, columns, self._count)
  self._places, self._count = {left = {}, right = {}}, 0
end

local function add(self, left, right)
  local n = self._count + 1
  self._count, self._places.left[n], self._places.right[n] = n, left, right
  if n == ROWS then self:_flush() end
end

-- Adds the rows of a side's group, without a match.
local function add_alone(self, side)
  local cursor = self._sides[side]
  for row = cursor.first, cursor.stop - 1 do
    if side == 'left' then add(self, row, -1) else add(self, -1, row) end
  end
end

-- Adds some of the pairs of the two groups at each call, since there may be many. Returns whether these were the last.
local function add_pairs(self)
  local left, right = self._sides.left, self._sides.right
  self._row = self._row or left.first
  while self._row < left.stop and #self._out == 0 do
    for other = right.first, right.stop - 1 do add(self, self._row, other) end
    self._row = self._row + 1
  end
  if self._row < left.stop then return false end
  self._row = nil
  return true
end

local function has_null(self, key)
  for k = 1, #self._order do
    if key[k] == nil then return true end
  end
  return false
end

-- Returns the side whose group comes before the other side's group, nil if both have the same keys. Null equals
-- nothing.
local function earlier_side(self)
  local a, b = self._sides.left.key, self._sides.right.key
  if a == nil or b == nil then return a and 'left' or 'right' end
  if row_order.is_before(self._order, b, a) then return 'right' end
  if row_order.is_before(self._order, a, b) or has_null(self, a) then return 'left' end
  return nil
end

local function step(self)
  local earlier, sides = earlier_side(self), self._sides
  if earlier then
    if self._type[earlier] then add_alone(self, earlier) end
    sides[earlier]:next()
    return
  end
  if self._type.matched then add_alone(self, self._type.only) end
  if self._type.pairs and not add_pairs(self) then return end
  sides.left:next()
  sides.right:next()
end

---Returns the next block of the join.
---@return data.Block|nil
function MergeJoin:next()
  local sides = self._sides
  if not self._has_begun then
    self._has_begun = true
    sides.left:next()
    sides.right:next()
    check_keys(self)
  end
  while #self._out == 0 and (sides.left.key or sides.right.key) do step(self) end
  if #self._out == 0 then self:_flush() end
  return table.remove(self._out, 1)
end

return MergeJoin
