-- torch/utils/data/strings.lua: Strings: a column of strings, or of bytes, in Arrow's layout: the bytes of all rows and
-- the offset of each row.
--
-- The offsets need not begin at 0, so that a slice of rows shares the bytes. The bytes of a row become a Lua string
-- only on access.

local class = require 'base.class'
local errors = require 'base.errors'
local ffi = require 'ffi'
local torch = require 'torch'

---A column of strings of a Block. Arguments: offsets, int64 tensor (rows + 1); bytes, uint8 tensor; {binary = false,
---valid}: `binary` means that the rows are bytes instead of text; `valid`, a bool tensor (rows), is false where a row
---is null.
---
---```lua
---local Strings = require 'torch.utils.data.strings'
---local words = Strings.from_list({'to', 'be', nil, 'not'}, 4)
---assert(words:len() == 4 and words:value(3) == 'not' and words:value(2) == nil)
---assert(words:narrow(1, 3):value(0) == 'be')
---```
---@class data.Strings
---@field offsets torch.Tensor int64 (rows + 1)
---@field bytes torch.Tensor uint8
---@field binary boolean
---@field valid? torch.Tensor bool (rows)
---@overload fun(offsets: torch.Tensor, bytes: torch.Tensor, options?: table): data.Strings
local Strings = class('Strings')

function Strings:init(offsets, bytes, options)
  options = options or {}
  self.offsets, self.bytes = offsets:contiguous(), bytes:contiguous()
  self.binary, self.valid = options.binary or false, options.valid
end

local function offsets_of(self) return ffi.cast('const int64_t *', self.offsets:data_ptr()) end

local function characters_of(self) return ffi.cast('const char *', self.bytes:data_ptr()) end

---Converts the rows of a Lua list; nil and torch.none are null.
---@param list (string|nil)[]
---@param count? integer number of rows (default #list)
---@param binary? boolean
---@return data.Strings
function Strings.from_list(list, count, binary)
  count = count or #list
  local texts, ends, valid, at = {}, {0}, nil, 0
  for i = 1, count do
    local text = list[i]
    if text == nil or text == torch.none then
      valid = valid or torch.ones({count}, {dtype = 'bool'})
      valid[i - 1] = false
      text = ''
    end
    at = at + #text
    texts[i], ends[i + 1] = text, at
  end
  local joined = table.concat(texts)
  local bytes = at > 0 and torch.frombuffer(joined, {dtype = 'uint8'}) or torch.empty({0}, {dtype = 'uint8'})
  return Strings(torch.tensor(ends, {dtype = 'int64'}), bytes, {binary = binary, valid = valid})
end

---@return integer rows
function Strings:len() return self.offsets:size(0) - 1 end

local function options_of(self, valid) return {binary = self.binary, valid = valid} end

---Returns rows start … start + length - 1; shares the bytes.
---@param start integer from 0
---@param length integer
---@return data.Strings
function Strings:narrow(start, length)
  local valid = self.valid and self.valid:narrow(0, start, length)
  return Strings(self.offsets:narrow(0, start, length + 1), self.bytes, options_of(self, valid))
end

-- Returns the lengths of the given rows as the offsets of a new column.
local function offsets_of_rows(self, indices)
  local ends = self.offsets:narrow(0, 1, self:len()):index_select(0, indices)
  local lengths = ends - self.offsets:narrow(0, 0, self:len()):index_select(0, indices)
  return torch.cat{torch.zeros({1}, {dtype = 'int64'}), lengths:cumsum(0)}
end

---Returns the rows at the given places, in that order.
---@param indices torch.Tensor int64 (n), from 0
---@return data.Strings
function Strings:take(indices)
  indices = indices:contiguous()
  local offsets = offsets_of_rows(self, indices)
  local count = indices:size(0)
  local bytes = torch.empty({offsets:narrow(0, count, 1):item()}, {dtype = 'uint8'})
  local from, to = characters_of(self), ffi.cast('char *', bytes:data_ptr())
  local row, first = ffi.cast('const int64_t *', indices:data_ptr()), offsets_of(self)
  local place = ffi.cast('const int64_t *', offsets:data_ptr())
  for i = 0, count - 1 do ffi.copy(to + place[i], from + first[row[i]], place[i + 1] - place[i]) end
  return Strings(offsets, bytes, options_of(self, self.valid and self.valid:index_select(0, indices)))
end

local function used_bytes(self)
  local offsets, count = offsets_of(self), self:len()
  local first = tonumber(offsets[0])
  return first, tonumber(offsets[count]) - first
end

---Returns the column with offsets that begin at 0 and without unused bytes.
---@return data.Strings
function Strings:compact()
  local first, length = used_bytes(self)
  if first == 0 and length == self.bytes:size(0) then return self end
  return Strings(self.offsets - first, self.bytes:narrow(0, first, length), options_of(self, self.valid))
end

---Returns the rows of several columns, concatenated.
---@param list data.Strings[]
---@return data.Strings
function Strings.concat(list)
  local offsets, bytes, valid, at, has_null = {torch.zeros({1}, {dtype = 'int64'})}, {}, {}, 0, false
  for i, part in ipairs(list) do
    local compact = part:compact()
    offsets[i + 1] = compact.offsets:narrow(0, 1, compact:len()) + at
    bytes[i] = compact.bytes
    at = at + compact.bytes:size(0)
    valid[i] = part.valid or torch.ones({part:len()}, {dtype = 'bool'})
    has_null = has_null or part.valid ~= nil
  end
  return Strings(torch.cat(offsets), torch.cat(bytes), options_of(list[1], has_null and torch.cat(valid) or nil))
end

---Returns one row.
---@param i integer from 0
---@return string|nil text nil if it is null
function Strings:value(i)
  if i < 0 or i >= self:len() then
    errors.raise('argument', ('row %d is not one of 0 … %d'):format(i, self:len() - 1))
  end
  if self.valid and not self.valid:select(0, i):item() then return nil end
  local offsets = offsets_of(self)
  return ffi.string(characters_of(self) + offsets[i], tonumber(offsets[i + 1] - offsets[i]))
end

---Returns all rows.
---@return (string|nil)[] list with holes where rows are null
function Strings:values()
  local offsets, from, out = offsets_of(self), characters_of(self), {}
  local valid = self.valid and self.valid:tolist()
  for i = 0, self:len() - 1 do
    if not valid or valid[i + 1] then out[i + 1] = ffi.string(from + offsets[i], tonumber(offsets[i + 1] - offsets[i])) end
  end
  return out
end

---@return integer bytes of the rows and their offsets
function Strings:size_bytes()
  local _, length = used_bytes(self)
  return length + 8 * self.offsets:size(0) + (self.valid and self:len() or 0)
end

return Strings
