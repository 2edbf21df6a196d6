-- torch/utils/data/fetch.lua: one batch of a dataset, in the training thread or in a worker thread.

local collate = require 'torch.utils.data.collate'
local errors = require 'rtrain.errors'
local torch = require 'torch'
local worker = require 'torch.utils.data.worker'

local fetch = {}

local function packed(...) return {n = select('#', ...), ...} end

-- What a collate_fn sees of a sample: the value, or a list when get returns several.
local function plain_sample(...)
  if select('#', ...) == 1 then return (...) end
  return {...}
end

local function whole_batch(dataset, indices)
  local tensor = type(indices) == 'table' and torch.tensor(indices, {dtype = 'int64'}) or indices
  return packed(dataset:get_batch(tensor))
end

---The batch of the given indices: the dataset's own, or its samples joined.
---@param dataset data.Dataset
---@param collate_fn? fun(samples: any[]): ...
---@param indices integer[]|torch.Tensor
---@param before_sample? fun(index: integer)
---@return any ... batch
function fetch.batch(dataset, collate_fn, indices, before_sample)
  if dataset.get_batch and not collate_fn then
    local whole = whole_batch(dataset, indices)
    if whole[1] ~= nil then return unpack(whole, 1, whole.n) end
  end
  local samples, gather = {}, collate_fn and plain_sample or packed
  for i, index in ipairs(type(indices) == 'table' and indices or indices:tolist()) do
    if before_sample then before_sample(index) end
    samples[i] = gather(dataset:get(index))
  end
  if collate_fn then return collate_fn(samples) end
  return collate.columns(samples, dataset.dtypes)
end

---The function that a worker thread runs for each request {indices, seed}. An error names the sample at which it
---arose.
---@param dataset data.Dataset
---@param collate_fn? fun(samples: any[]): ...
---@param num_workers integer
---@return fun(request: table): ... the values of the batch
function fetch.worker(dataset, collate_fn, num_workers)
  return function(request)
    local info = {num_workers = num_workers, seed = request.seed, dataset = dataset}
    worker.begin_batch(info, request.indices)
    local current
    local function before_sample(index)
      current = index
      worker.begin(info, index)
    end
    local results = packed(xpcall(function()
      return fetch.batch(dataset, collate_fn, request.indices, before_sample)
    end, errors.wrap))
    if results[1] then return unpack(results, 2, results.n) end
    local err = results[2]
    if current then err.message = ('sample %d: %s'):format(current, err.message) end
    error(err, 0)
  end
end

return fetch
