-- torch/utils/data/dataset.lua: Dataset, IterableDataset, datasets of tensors, and subsets.
--
-- A dataset has get(i), i from 0, and len(). get_batch(indices), with an int64 tensor of indices, may return a whole
-- batch at once; if its first result is nil, the loader calls get for each sample.
--
-- `batch_device`, optional, is the device on which get_batch needs its indices: the device of the samples, so that
-- making a batch needs no copy through the host. The loader then copies the order of an epoch there once.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local torch = require 'torch'
local warnings = require 'base.warnings'

---Base of the datasets; instances are userdata, so `#dataset` works. Define `get(i)` with i from 0, which returns
---one or more values, and `len()`. `dtypes`, optional, gives the dtype of the plain numbers at each place: {[2] =
---'int64'}. `batch_device`, optional, names the device on which `get_batch` needs its indices.
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

-- Returns whether the loader may request whole batches. A class that overrides only get defines its own samples.
local function makes_batches(dataset)
  if not dataset.get_batch then return false end
  local of = class.of(dataset)
  while of do
    if rawget(of, 'get_batch') then return true end
    if rawget(of, 'get') then return false end
    of = rawget(of, '__base')
  end
  return true
end

---Base of the datasets that are read from beginning to end: define `iter()`, which returns a function that returns the
---values of the next sample at each call, nil at the end; and `len()` if it is known. Each worker of a loader has a
---separate iterator: read the part given by `get_worker_info()`, otherwise every worker returns every sample.
---
---```lua
---local data = require 'torch.utils.data'
---local Range = data.IterableDataset:extend('Range')
---function Range:init(stop) self.stop = stop end
---function Range:iter()
---  local info = data.get_worker_info()
---  local i, step = info and info.id or 0, info and info.num_workers or 1
---  return function()
---    if i >= self.stop then return nil end
---    i = i + step
---    return i - step
---  end
---end
---local seen = {}
---for x in data.DataLoader(Range(6), {batch_size = 2, num_workers = 2}) do seen[#seen + 1] = x:tolist() end
---assert(table.concat(seen[1], ' ') == '0 2' and table.concat(seen[2], ' ') == '1 3')
---```
---@class data.IterableDataset: data.Dataset
local IterableDataset = Dataset:extend('IterableDataset')

---@return fun(): ... next_sample
function IterableDataset:iter()
  errors.raise('argument', ('%s: define function %s:iter()'):format(class.of(self).__name, class.of(self).__name))
end

---Sample i consists of the i-th items of several tensors of the same first size. Tensors on a GPU stay there: a loader
---with num_workers = 0 makes each batch by one operation for each tensor, and copies only the epoch's order.
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

-- Returns the device of all tensors; nil for the CPU.
local function device_of(tensors)
  local device = tensors[1].device
  for i, tensor in ipairs(tensors) do
    if tensor.device ~= device then
      errors.raise('argument', ('TensorDataset: the first tensor lies on %s, tensor %d on %s: bring them to one device'):format(
        device, i, tensor.device))
    end
  end
  return device ~= 'cpu' and device or nil
end

---@param ... torch.Tensor
function TensorDataset:init(...)
  self.tensors = {...}
  if #self.tensors == 0 then errors.raise('argument', 'TensorDataset: expected at least one Tensor') end
  for i, tensor in ipairs(self.tensors) do
    if not torch.is_tensor(tensor) then
      errors.raise('argument', ('TensorDataset: argument %d is not a Tensor but a %s'):format(i, type(tensor)))
    end
    if tensor:size(0) ~= self.tensors[1]:size(0) then
      errors.raise('argument', ('TensorDataset: size mismatch between tensors: %d and %d samples'):format(
        self.tensors[1]:size(0), tensor:size(0)))
    end
  end
  self.batch_device = device_of(self.tensors)
end

function TensorDataset:len() return self.tensors[1]:size(0) end

function TensorDataset:get(i)
  local out = {}
  for k, tensor in ipairs(self.tensors) do out[k] = tensor:select(0, i) end
  return unpack(out)
end

function TensorDataset:get_batch(indices)
  local out = {}
  if self.batch_device then indices = indices:to(self.batch_device) end
  for k, tensor in ipairs(self.tensors) do out[k] = tensor:index_select(0, indices) end
  return unpack(out)
end

-- A dataset whose samples are the items of a list.
local ListDataset = Dataset:extend('ListDataset')

function ListDataset:init(items) self.items = items end

function ListDataset:len() return #self.items end

function ListDataset:get(i) return self.items[i + 1] end

-- As in PyTorch, a tensor, whose rows are the samples, and a list are datasets too; other values are returned
-- unchanged.
local function as_dataset(value)
  if torch.is_tensor(value) then return TensorDataset(value) end
  if type(value) == 'table' and not class.of(value) and value.get == nil and value.len == nil then return ListDataset(value) end
  return value
end

---The samples of a dataset at given indices.
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

---@param dataset data.Dataset|torch.Tensor|any[]
---@param indices integer[]|torch.Tensor from 0
function Subset:init(dataset, indices)
  dataset = as_dataset(dataset)
  self.dataset = dataset
  self.indices = type(indices) == 'table' and torch.tensor(indices, {dtype = 'int64'}) or indices
  self.dtypes, self.batch_device = dataset.dtypes, dataset.batch_device
  if self.batch_device then self.indices = self.indices:to(self.batch_device) end
end

function Subset:len() return self.indices:size(0) end

function Subset:get(i) return self.dataset:get(self.indices:select(0, i):item()) end

function Subset:get_batch(indices)
  if not makes_batches(self.dataset) then return nil end
  if self.batch_device then indices = indices:to(self.batch_device) end
  return self.dataset:get_batch(self.indices:index_select(0, indices))
end

-- Converts fractions of the whole to numbers of samples; the rounding remainder is distributed to the first parts, one
-- sample each.
local function fraction_sizes(total, fractions)
  local sizes, given = {}, 0
  for i, fraction in ipairs(fractions) do
    if fraction < 0 or fraction > 1 then
      errors.raise('argument', ('random_split: fraction number %d is not between 0 and 1: %s'):format(i, tostring(fraction)))
    end
    sizes[i] = math.floor(total * fraction)
    given = given + sizes[i]
  end
  for i = 0, total - given - 1 do
    local k = i % #sizes + 1
    sizes[k] = sizes[k] + 1
  end
  for i, size in ipairs(sizes) do
    if size == 0 then warnings.warn(('random_split: part %d has no samples'):format(i)) end
  end
  return sizes
end

local function sum_of(list)
  local sum = 0
  for _, value in ipairs(list) do sum = sum + value end
  return sum
end

---Splits a dataset at random. Lengths are numbers of samples, or fractions that sum to 1; the rounding remainder is
---distributed to the first parts, one sample each. PyTorch equivalent: torch.utils.data.random_split.
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
  dataset = as_dataset(dataset)
  local total, sum = dataset:len(), sum_of(lengths)
  local sizes = lengths
  if sum <= 1 and 1 - sum <= 1e-9 then sizes = fraction_sizes(total, lengths) end
  if sum_of(sizes) ~= total then
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

return {Dataset = Dataset, IterableDataset = IterableDataset, TensorDataset = TensorDataset, Subset = Subset,
        random_split = random_split, makes_batches = makes_batches, as_dataset = as_dataset}
