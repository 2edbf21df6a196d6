-- rtrain/data/preprocessors/vectors.lua: vectors that count what is in each row.

local torch = require 'torch'

local vectors = {}

local function indices(list) return torch.tensor(list, {dtype = 'int64'}) end

---Returns a vector for each row: how many of its items have each place. The work grows with the items, not with `size`.
---@param count integer rows
---@param size integer places
---@param items_of fun(row: integer): any[]? the items of a row, from 1
---@param place_of fun(item: any): integer? from 0; nil for an item that does not count
---@return torch.Tensor int64 (count, size)
---
---```lua
---local vectors = require 'rtrain.data.preprocessors.vectors'
---local lists = {{'a', 'b', 'a'}, {'c'}}
---local counts = vectors.counts(2, 2, function(row) return lists[row] end, function(item) return ({a = 0, b = 1})[item] end)
---assert(counts:sum():item() == 3 and counts[0][0]:item() == 2)
---```
function vectors.counts(count, size, items_of, place_of)
  local rows, places = {}, {}
  for row = 1, count do
    for _, item in ipairs(items_of(row) or {}) do
      local place = place_of(item)
      if place then rows[#rows + 1], places[#places + 1] = row - 1, place end
    end
  end
  local out = torch.zeros({count, size}, {dtype = 'int64'})
  if #rows == 0 then return out end
  return out:index_put_({indices(rows), indices(places)}, torch.ones({#rows}, {dtype = 'int64'}), true)
end

return vectors
