-- rtrain/data/exchange/key_cursor.lua: KeyCursor: iterates over sorted rows, one group of equal keys at a time.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local groups = require 'rtrain.data.blocks.groups'

---A position in a stream of blocks whose rows are sorted by the keys. All rows of the current group are in `block`,
---from row `first` to row `stop` - 1. Arguments: next_block, keys, before_change: called before `block` is replaced.
---@class data.KeyCursor
---@field block? data.Block nil until the first rows are read
---@field first integer
---@field stop integer
---@field key? table the keys of the group, with nil for null; nil after the last group
---@overload fun(next_block: fun(), keys: string[], before_change: fun()): data.KeyCursor
local KeyCursor = class('KeyCursor')

function KeyCursor:init(next_block, keys, before_change)
  self._next_block, self._keys, self._before_change = next_block, keys, before_change
  self._group, self._starts, self._is_last = 0, {}, false
end

local function next_rows(self)
  for block in self._next_block do
    if block:num_rows() > 0 then return block end
  end
  self._is_last = true
end

-- Returns the rows from `start` on, and reads blocks until the first group is complete.
local function more(self, start)
  local rest = self.block and start < self.block:num_rows() and self.block:narrow(start, self.block:num_rows() - start) or nil
  local parts, count = {rest}, #self._keys
  local key = rest and groups.key_of(rest, self._keys, 0)
  repeat
    local block = next_rows(self)
    parts[#parts + 1] = block
    key = key or block and groups.key_of(block, self._keys, 0)
  until block == nil or not groups.is_same(key, groups.key_of(block, self._keys, block:num_rows() - 1), count)
  return #parts > 0 and Block.concat(parts) or nil
end

local function comparable(value)
  if type(value) == 'boolean' then return value and 1 or 0 end
  return value == value and value or nil
end

local function take_over(self, block)
  self.block, self._group, self._values = block, 1, {}
  self._starts = groups.of(block, self._keys).starts:tolist()
  for k, key in ipairs(self._keys) do self._values[k] = column.values(block:column(key)) end
end

local function set_group(self)
  self.first, self.stop = self._starts[self._group], self._starts[self._group + 1] or self.block:num_rows()
  self.key = {}
  for k, values in ipairs(self._values) do self.key[k] = comparable(values[self.first + 1]) end
end

---Moves to the next group; the first call moves to the first group.
function KeyCursor:next()
  local following = self._group + 1
  -- The last group of a block may continue in the next block.
  if following < #self._starts or following == #self._starts and self._is_last then
    self._group = following
    return set_group(self)
  end
  if self._is_last then
    self.key = nil
    return nil
  end
  self._before_change()
  local block = more(self, self._starts[following] or self.block and self.block:num_rows() or 0)
  if block == nil then
    self.key = nil
    return nil
  end
  take_over(self, block)
  return set_group(self)
end

return KeyCursor
