-- rtrain/data/columns/masked.lua: Masked: a column of integers or booleans with null.

local class = require 'base.class'
local torch = require 'torch'
local unsigned = require 'rtrain.data.columns.unsigned'

---A column of integers or booleans of a Block, with null. Floats use NaN instead. Arguments: data, a tensor (rows);
---valid, a bool tensor (rows), false for a null row, whose `data` is 0 or false.
---
---```lua
---local Masked = require 'rtrain.data.columns.masked'
---local torch = require 'torch'
---local ids = Masked(torch.tensor({7, 0, 9}, {dtype = 'int64'}), torch.tensor {true, false, true})
---assert(ids:len() == 3 and ids:value(2) == 9 and ids:value(1) == nil)
---```
---@class data.Masked
---@field data torch.Tensor integers or booleans (rows)
---@field valid torch.Tensor bool (rows)
---@overload fun(data: torch.Tensor, valid: torch.Tensor): data.Masked
local Masked = class('Masked')

function Masked:init(data, valid) self.data, self.valid = data, valid end

---Returns a column of a tensor, without null.
---@param data torch.Tensor (rows)
---@return data.Masked
function Masked.of(data) return Masked(data, torch.ones({data:size(0)}, {dtype = 'bool'})) end

---Returns a column of nulls.
---@param count integer
---@param dtype string of integers, or 'bool'
---@return data.Masked
function Masked.nulls(count, dtype)
  return Masked(torch.zeros({count}, {dtype = dtype}), torch.zeros({count}, {dtype = 'bool'}))
end

---@return integer rows
function Masked:len() return self.valid:size(0) end

---Returns whether a row is null.
---@return boolean
function Masked:has_null() return not self.valid:all():item() end

---Returns the column with additional nulls.
---@param missing torch.Tensor bool (rows)
---@return data.Masked
function Masked:without(missing)
  local data = unsigned.moved(self.data, function(of) return of:masked_fill(missing, 0) end)
  return Masked(data, self.valid:logical_and(missing:logical_not()))
end

---Returns the rows start … start + length - 1; shares the memory.
---@param start integer from 0
---@param length integer
---@return data.Masked
function Masked:narrow(start, length)
  return Masked(self.data:narrow(0, start, length), self.valid:narrow(0, start, length))
end

---Returns the rows at the given places, in that order.
---@param indices torch.Tensor int64 (n), from 0
---@return data.Masked
function Masked:take(indices)
  local taken = unsigned.moved(self.data, function(of) return of:index_select(0, indices) end)
  return Masked(taken, self.valid:index_select(0, indices))
end

---Returns one row.
---@param i integer from 0
---@return number|boolean|nil value nil for null; a cdata for an int64 beyond 2^53
function Masked:value(i)
  if not self.valid:select(0, i):item() then return nil end
  return self.data:select(0, i):item()
end

---Returns all rows.
---@return any[] list with holes where rows are null
function Masked:values()
  local out = self.data:tolist()
  for i, is_valid in ipairs(self.valid:tolist()) do
    if not is_valid then out[i] = nil end
  end
  return out
end

---Returns the numbers as floats, with NaN for null.
---@param dtype string of floats
---@return torch.Tensor
function Masked:to_float(dtype) return self.data:to(dtype):masked_fill(self.valid:logical_not(), 0 / 0) end

---Returns a column that may be modified without changing this one.
---@return data.Masked
function Masked:copy() return Masked(self.data:clone(), self.valid:clone()) end

---@return integer bytes
function Masked:size_bytes() return self:len() * (self.data:element_size() + 1) end

return Masked
