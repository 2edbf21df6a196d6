-- torch/utils/data/combined.lua: datasets that combine several others.

local class = require 'base.class'
local errors = require 'base.errors'
local sets = require 'torch.utils.data.dataset'
local Dataset, IterableDataset = sets.Dataset, sets.IterableDataset

local function is_iterable(dataset) return class.is(dataset, IterableDataset) end

---A concatenation of datasets. PyTorch equivalent: torch.utils.data.ConcatDataset.
---@class data.ConcatDataset: data.Dataset
---@overload fun(datasets: data.Dataset[]): data.ConcatDataset
local ConcatDataset = Dataset:extend('ConcatDataset')

---@param datasets data.Dataset[]
function ConcatDataset:init(datasets)
  if type(datasets) ~= 'table' or #datasets == 0 then
    errors.raise('argument', 'ConcatDataset: expected a list of datasets')
  end
  self.datasets, self.cumulative_sizes = datasets, {}
  local total = 0
  for i, dataset in ipairs(datasets) do
    if is_iterable(dataset) then
      errors.raise('argument', 'ConcatDataset: an IterableDataset has no samples by index: use ChainDataset')
    end
    total = total + dataset:len()
    self.cumulative_sizes[i] = total
  end
  self.dtypes = datasets[1].dtypes
end

function ConcatDataset:len() return self.cumulative_sizes[#self.datasets] end

function ConcatDataset:get(i)
  local from_start = i < 0 and i + self:len() or i
  for k, stop in ipairs(self.cumulative_sizes) do
    if from_start >= 0 and from_start < stop then
      return self.datasets[k]:get(from_start - (self.cumulative_sizes[k - 1] or 0))
    end
  end
  errors.raise('argument', ('ConcatDataset: index %d is out of range for %d samples'):format(i, self:len()))
end

-- Packs several values of one dataset into one item of the stack.
local function item(...)
  if select('#', ...) == 1 then return (...) end
  return {...}
end

---Datasets in parallel: sample i is sample i of each. `StackDataset(images, texts)` returns one value for each dataset,
---`StackDataset{image = images, text = texts}` a table; a dataset of several values gives a list of them. PyTorch equivalent:
---torch.utils.data.StackDataset.
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local x, y = data.TensorDataset(torch.arange(4)), data.TensorDataset(torch.arange(4) * 10)
---local pairs_of, named = data.StackDataset(x, y), data.StackDataset{low = x, high = y}
---assert(select(2, pairs_of:get(3)):item() == 30 and named[2].high:item() == 20)
---```
---@class data.StackDataset: data.Dataset
---@overload fun(...: data.Dataset): data.StackDataset
local StackDataset = Dataset:extend('StackDataset')

-- Returns the names, sorted, and the datasets in that order; no names for positional datasets.
local function stacked(first, ...)
  if first == nil then errors.raise('argument', 'StackDataset: expected at least one dataset') end
  if type(first) ~= 'table' or class.of(first) then return nil, {first, ...} end
  if select('#', ...) > 0 then
    errors.raise('argument', 'StackDataset: datasets are given either in order or by name, not both')
  end
  local names, datasets = {}, {}
  for name in next, first do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for i, name in ipairs(names) do datasets[i] = first[name] end
  return names, datasets
end

---@param ... data.Dataset the datasets, or one table of them
function StackDataset:init(...)
  self.names, self.datasets = stacked(...)
  if #self.datasets == 0 then errors.raise('argument', 'StackDataset: expected at least one dataset') end
  self.dtypes = {}
  for k, dataset in ipairs(self.datasets) do
    if dataset:len() ~= self.datasets[1]:len() then
      errors.raise('argument', ('StackDataset: size mismatch between datasets: %d and %d samples'):format(
        self.datasets[1]:len(), dataset:len()))
    end
    self.dtypes[self.names and self.names[k] or k] = dataset.dtypes
  end
  if self.names then self.dtypes = {self.dtypes} end
end

function StackDataset:len() return self.datasets[1]:len() end

-- Returns the items as the sample's values, or as its table.
local function arranged(self, items)
  if not self.names then return unpack(items, 1, #self.datasets) end
  local out = {}
  for k, name in ipairs(self.names) do out[name] = items[k] end
  return out
end

function StackDataset:get(i)
  local items = {}
  for k, dataset in ipairs(self.datasets) do items[k] = item(dataset:get(i)) end
  return arranged(self, items)
end

function StackDataset:get_batch(indices)
  local items = {}
  for k, dataset in ipairs(self.datasets) do
    if not sets.makes_batches(dataset) then return nil end
    items[k] = item(dataset:get_batch(indices))
    if items[k] == nil then return nil end
  end
  return arranged(self, items)
end

---A concatenation of IterableDatasets. PyTorch equivalent: torch.utils.data.ChainDataset.
---@class data.ChainDataset: data.IterableDataset
---@overload fun(datasets: data.IterableDataset[]): data.ChainDataset
local ChainDataset = IterableDataset:extend('ChainDataset')

---@param datasets data.IterableDataset[]
function ChainDataset:init(datasets)
  if type(datasets) ~= 'table' or class.of(datasets) then
    errors.raise('argument', 'ChainDataset: expected a list of IterableDatasets')
  end
  for i, dataset in ipairs(datasets) do
    if not is_iterable(dataset) then
      errors.raise('argument', ('ChainDataset: dataset %d is not an IterableDataset: use ConcatDataset'):format(i))
    end
  end
  self.datasets = datasets
  self.dtypes = datasets[1] and datasets[1].dtypes
end

function ChainDataset:len()
  local total = 0
  for _, dataset in ipairs(self.datasets) do total = total + dataset:len() end
  return total
end

function ChainDataset:iter()
  local k, next_sample = 0, nil
  local advance
  local function sample_or_next(...)
    if (...) ~= nil then return ... end
    next_sample = nil
    return advance()
  end
  function advance()
    if not next_sample then
      k = k + 1
      if self.datasets[k] == nil then return nil end
      next_sample = self.datasets[k]:iter()
    end
    return sample_or_next(next_sample())
  end
  return advance
end

return {ConcatDataset = ConcatDataset, StackDataset = StackDataset, ChainDataset = ChainDataset}
