-- torch/utils/data/dataset.lua: Dataset and those made of others.
--
-- A dataset has get(i), i from 0, and len(). get_batch(indices), with an int64 tensor of indices, may return a whole
-- batch at once; nil as its first result means that it cannot, and the loader calls get for each sample.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local torch = require 'torch'

---Base of the datasets; instances are userdata, so `#dataset` works. Define `get(i)` with i from 0, which returns
---one or more values, and `len()`. `dtypes`, optional, gives the dtype of the plain numbers at each place: {[2] =
---'int64'}.
---
---```lua
---local data = require 'torch.utils.data'
---local Squares = data.Dataset:extend('Squares')
---function Squares:init(n) self.n = n end
---function Squares:len() return self.n end
---function Squares:get(i) return i, i * i end
---local squares = Squares(5)
---assert(#squares == 5 and select(2, squares:get(3)) == 9)
---```
---@class data.Dataset
local Dataset = class('Dataset', nil, {userdata = true})

---@return integer number of samples
function Dataset:len()
  errors.raise('argument', ('%s: define function %s:len()'):format(class.of(self).__name, class.of(self).__name))
end

---@param i integer from 0
---@return any ... the sample
function Dataset:get()
  errors.raise('argument', ('%s: define function %s:get(i)'):format(class.of(self).__name, class.of(self).__name))
end

function Dataset:__len() return self:len() end

-- `dataset[i]`, i from 0.
function Dataset:__item(i) return self:get(i) end

---The i-th of several tensors of the same first size.
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local set = data.TensorDataset(torch.arange(6):view{3, 2}, torch.arange(3))
---local x, y = set:get(2)
---assert(#set == 3 and x:sum():item() == 9 and y:item() == 2)
---```
---@class data.TensorDataset: data.Dataset
---@overload fun(...: torch.Tensor): data.TensorDataset
local TensorDataset = Dataset:extend('TensorDataset')

---@param ... torch.Tensor
function TensorDataset:init(...)
  self.tensors = {...}
  if #self.tensors == 0 then errors.raise('argument', 'TensorDataset: expected at least one Tensor') end
  for i, tensor in ipairs(self.tensors) do
    if not torch.is_tensor(tensor) then
      errors.raise('argument', ('TensorDataset: argument %d is no Tensor but a %s'):format(i, type(tensor)))
    end
    if tensor:size(0) ~= self.tensors[1]:size(0) then
      errors.raise('argument', ('TensorDataset: size mismatch between tensors: %d and %d samples'):format(
        self.tensors[1]:size(0), tensor:size(0)))
    end
  end
end

function TensorDataset:len() return self.tensors[1]:size(0) end

function TensorDataset:get(i)
  local out = {}
  for k, tensor in ipairs(self.tensors) do out[k] = tensor:select(0, i) end
  return unpack(out)
end

function TensorDataset:get_batch(indices)
  local out = {}
  for k, tensor in ipairs(self.tensors) do out[k] = tensor:index_select(0, indices) end
  return unpack(out)
end

---The samples of a dataset at the given indices.
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local odd = data.Subset(data.TensorDataset(torch.arange(6)), {1, 3, 5})
---assert(#odd == 3 and odd[2]:item() == 5)
---```
---@class data.Subset: data.Dataset
---@overload fun(dataset: data.Dataset, indices: integer[]|torch.Tensor): data.Subset
local Subset = Dataset:extend('Subset')

---@param dataset data.Dataset
---@param indices integer[]|torch.Tensor from 0
function Subset:init(dataset, indices)
  self.dataset = dataset
  self.indices = type(indices) == 'table' and torch.tensor(indices, {dtype = 'int64'}) or indices
  self.dtypes = dataset.dtypes
end

function Subset:len() return self.indices:size(0) end

function Subset:get(i) return self.dataset:get(self.indices:select(0, i):item()) end

function Subset:get_batch(indices)
  if not self.dataset.get_batch then return nil end
  return self.dataset:get_batch(self.indices:index_select(0, indices))
end

---Datasets one after the other.
---@class data.ConcatDataset: data.Dataset
---@overload fun(datasets: data.Dataset[]): data.ConcatDataset
local ConcatDataset = Dataset:extend('ConcatDataset')

---@param datasets data.Dataset[]
function ConcatDataset:init(datasets)
  if #datasets == 0 then errors.raise('argument', 'ConcatDataset: expected a list of datasets') end
  self.datasets, self.cumulative_sizes = datasets, {}
  local total = 0
  for i, dataset in ipairs(datasets) do
    total = total + dataset:len()
    self.cumulative_sizes[i] = total
  end
  self.dtypes = datasets[1].dtypes
end

function ConcatDataset:len() return self.cumulative_sizes[#self.datasets] end

function ConcatDataset:get(i)
  if i < 0 then i = i + self:len() end
  for k, stop in ipairs(self.cumulative_sizes) do
    if i < stop then return self.datasets[k]:get(i - (self.cumulative_sizes[k - 1] or 0)) end
  end
  errors.raise('argument', ('ConcatDataset: index %d is out of range for %d samples'):format(i, self:len()))
end

-- Fractions of the whole as numbers of samples; what rounding leaves goes to the first ones, one each.
local function split_sizes(total, lengths)
  local sum = 0
  for _, length in ipairs(lengths) do sum = sum + length end
  if sum > 1 + 1e-9 or total == 1 then return lengths, sum end
  local sizes, given = {}, 0
  for i, fraction in ipairs(lengths) do
    sizes[i] = math.floor(total * fraction)
    given = given + sizes[i]
  end
  for i = 0, total - given - 1 do
    local k = i % #sizes + 1
    sizes[k] = sizes[k] + 1
  end
  return sizes, total
end

---Splits a dataset at random. Lengths are numbers of samples or fractions that add up to 1.
---@param dataset data.Dataset
---@param lengths number[]
---@param options? {generator: userdata}
---@return data.Subset[]
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local parts = data.random_split(data.TensorDataset(torch.arange(10)), {0.8, 0.2})
---assert(#parts[1] == 8 and #parts[2] == 2)
---```
local function random_split(dataset, lengths, options)
  options = args.options(options, {'generator'}, 'random_split')
  local total = dataset:len()
  local sizes, sum = split_sizes(total, lengths)
  if sum ~= total then
    errors.raise('argument', ('random_split: the lengths add up to %s, the dataset has %d samples'):format(
      tostring(sum), total))
  end
  local order = torch.randperm(total, {generator = options.generator})
  local out, start = {}, 0
  for i, size in ipairs(sizes) do
    out[i] = Subset(dataset, order:narrow(0, start, size))
    start = start + size
  end
  return out
end

return {Dataset = Dataset, TensorDataset = TensorDataset, Subset = Subset, ConcatDataset = ConcatDataset,
        random_split = random_split}
