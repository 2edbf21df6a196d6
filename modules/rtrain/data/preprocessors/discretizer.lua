-- rtrain/data/preprocessors/discretizer.lua: Discretizer: the base of what replaces numbers by the intervals they lie in.

local args = require 'base.args'
local inputs = require 'rtrain.data.preprocessors.inputs'
local is_list = require 'base.is_list'
local Masked = require 'rtrain.data.columns.masked'
local ordered = require 'base.ordered'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'

local Discretizer = Preprocessor:extend('Discretizer')
Discretizer._keeps_rows = true
Discretizer._saved = {'columns', 'output_columns', 'bins', 'right', 'include_lowest', 'duplicates', 'dtypes'}

---Returns the signature of a discretizer.
---@param name string
---@return table
function Discretizer._signature(name)
  return args.signature(name, {'columns', 'bins', {'right', true}, {'include_lowest', false}, {'duplicates', 'raise'},
                               {'dtypes'}, {'output_columns'}})
end

local function is_dtype(value) return type(value) == 'string' and value:match '^u?int%d+$' ~= nil end

local function check_dtypes(self)
  if self.dtypes == nil then return end
  if type(self.dtypes) ~= 'table' then self:_refuse('dtypes: expected a table column → dtype or labels') end
  for _, name in ipairs(ordered.keys_of(self.dtypes)) do
    local given = self.dtypes[name]
    if not is_dtype(given) and not (type(given) == 'table' and is_list(given)) then
      self:_refuse("dtypes: '%s': expected a dtype of whole numbers, as 'int32', or a list of labels, one for each bin",
        tostring(name))
    end
  end
end

-- Takes the parameters. `check_bins(bins, name)` checks those of a column.
function Discretizer:_take(a, check_bins)
  self:_take_columns(a)
  self.bins, self.right, self.include_lowest, self.dtypes = a.bins, a.right, a.include_lowest, a.dtypes
  self.duplicates = args.one_of(self.__class__.__name .. ': duplicates', a.duplicates, {'raise', 'drop'})
  check_dtypes(self)
  for _, name in ipairs(self.columns) do check_bins(self:_bins_of(name), name) end
end

-- Returns the bins of a column: `bins` is a table column → bins, or the bins of all columns.
function Discretizer:_bins_of(name)
  if type(self.bins) ~= 'table' or is_list(self.bins) and next(self.bins) ~= nil then return self.bins end
  if self.bins[name] == nil then self:_refuse("bins: there are none of column '%s'", name) end
  return self.bins[name]
end

---Checks edges, and leaves out those that are there twice with duplicates = 'drop'.
---@param edges number[]
---@param name string of the column
---@return number[]
function Discretizer:_checked_edges(edges, name)
  if type(edges) ~= 'table' or not is_list(edges) or #edges < 2 then
    self:_refuse("bins: expected at least two edges of column '%s', as {0, 1, 10}", name)
  end
  local out = {}
  for i, edge in ipairs(edges) do
    if type(edge) ~= 'number' or edge ~= edge then
      self:_refuse("bins: edge %d of column '%s' is %s, not a number", i, name, tostring(edge))
    end
    local last = out[#out]
    if last and edge < last then
      self:_refuse("bins: the edges of column '%s' must increase, and %s comes after %s", name, edge, last)
    end
    if edge ~= last then
      out[#out + 1] = edge
    elseif self.duplicates == 'raise' then
      self:_refuse("bins: column '%s' has the edge %s twice: duplicates = 'drop' leaves it out", name, edge)
    end
  end
  return out
end

-- Returns the number of the interval of each value, and whether there is one.
local function places_of(self, values, edges)
  local bounds = torch.tensor(edges, {dtype = 'float64'})
  -- searchsorted has no place for NaN.
  local known = values:isnan():logical_not()
  local places = torch.searchsorted(bounds, values:nan_to_num{nan = 0, posinf = math.huge, neginf = -math.huge},
    {right = not self.right})
  if self.include_lowest then places = places:masked_fill(values:eq(edges[1]), 1) end
  local valid = known:logical_and(places:gt(0)):logical_and(places:lt(#edges))
  return (places - 1):masked_fill(valid:logical_not(), 0), valid
end

local function numbered(_, _, dtype, found)
  local places = found.places:to(dtype)
  return found.valid:all():item() and places or Masked(places, found.valid)
end

local function labelled(self, name, labels, found)
  if #labels ~= found.count then
    self:_refuse("dtypes: column '%s' has %d bins and %d labels", name, found.count, #labels)
  end
  local numbers, is_valid, out = found.places:tolist(), found.valid:tolist(), {}
  for i = 1, #numbers do out[i] = is_valid[i] and labels[numbers[i] + 1] or nil end
  return Strings.from_list(out, #numbers)
end

function Discretizer:_transform_block(block)
  local out = block
  for i, name in ipairs(self.columns) do
    local edges = self:_edges(name)
    local places, valid = places_of(self, inputs.numbers(self.__class__.__name, block, name), edges)
    local kind = self.dtypes and self.dtypes[name] or 'int64'
    local make = type(kind) == 'table' and labelled or numbered
    out = out:with(self.output_columns[i], make(self, name, kind, {places = places, valid = valid, count = #edges - 1}))
  end
  return out
end

return Discretizer
