-- rtrain/data/dataset/splits.lua: methods of Dataset that split the rows: split, train_test_split.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local errors = require 'base.errors'
local sampler = require 'torch.utils.data.sampler'
local sources = require 'rtrain.data.sources.derived_sources'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

-- Returns a dataset whose rows can be cut by number: the dataset itself if that costs nothing, else its materialized
-- rows.
local function cuttable(self)
  if self._plan:preserves_rows() and not self._plan:is_random() then return self end
  return self:materialize()
end

-- Returns the rows first … last - 1 of a cuttable dataset.
local function part(self, first, last) return self:_over(sources.SlicedSource(self._plan.source, first, last)) end

local function cut_at(self, ends)
  local out, first = {}, 0
  for i, last in ipairs(ends) do
    out[i] = part(self, first, last)
    first = last
  end
  return out
end

local split_signature = args.signature('split', {'n', {'equal', false}, {'locality_hints'}})

---Returns n datasets, each with a consecutive part of the rows. With `equal` all have the same number of rows, and the
---remaining last rows are left out; otherwise the first datasets have one row more. Reads nothing if the files state
---their numbers of rows and no function changes them; otherwise executes the dataset now. Arguments: n, {equal =
---false}. Ray equivalent: Dataset.split.
---
---```lua
---local data = require 'rtrain.data'
---local parts = data.range(5):split(2, {equal = true})
---assert(parts[1]:count() == 2 and parts[2]:take(1)[1].id == 2)
---```
---@return rtrain.data.Dataset[]
function Dataset:split(...)
  local a = split_signature:bind(...)
  local n = checks.count('split', 'n', a.n, 1)
  local whole = cuttable(self)
  local total, ends, at = whole:count(), {}, 0
  for i = 1, n do
    at = at + math.floor(total / n) + ((not a.equal and i <= total % n) and 1 or 0)
    ends[i] = at
  end
  return cut_at(whole, ends)
end

local function check_indices(indices)
  if type(indices) ~= 'table' or #indices == 0 then
    errors.raise('argument', 'split_at_indices: expected a list with at least one index')
  end
  local before = 0
  for i, index in ipairs(indices) do
    checks.count('split_at_indices', ('index %d'):format(i), index, 0)
    if index < before then errors.raise('argument', 'split_at_indices: the indices must be sorted') end
    before = index
  end
end

---Returns datasets with the rows before, between and after some indices (from 0). Ray equivalent:
---Dataset.split_at_indices.
---@param indices integer[] ascending; indices beyond the end give empty datasets
---@return rtrain.data.Dataset[]
---
---```lua
---local data = require 'rtrain.data'
---local parts = data.range(10):split_at_indices{2, 5}
---assert(#parts == 3 and parts[2]:count() == 3 and parts[3]:take(1)[1].id == 5)
---```
function Dataset:split_at_indices(indices)
  check_indices(indices)
  local whole = cuttable(self)
  local total, ends = whole:count(), {}
  for i, index in ipairs(indices) do ends[i] = math.min(index, total) end
  ends[#ends + 1] = total
  return cut_at(whole, ends)
end

local function check_proportions(proportions)
  if type(proportions) ~= 'table' or #proportions == 0 then
    errors.raise('argument', 'split_proportionately: expected a list with at least one proportion')
  end
  local sum = 0
  for _, share in ipairs(proportions) do
    if type(share) ~= 'number' or share ~= share or share <= 0 then
      errors.raise('argument', ('split_proportionately: proportions are above 0, got %s'):format(tostring(share)))
    end
    sum = sum + share
  end
  if sum >= 1 then
    errors.raise('argument', ('split_proportionately: the proportions add up to %g: their sum must be below 1, the rest is '
      .. 'the last dataset'):format(sum))
  end
end

---Returns datasets with these shares of the rows, and a last one with the rest. Ray equivalent:
---Dataset.split_proportionately.
---@param proportions number[] each above 0, the sum below 1
---@return rtrain.data.Dataset[]
function Dataset:split_proportionately(proportions)
  check_proportions(proportions)
  local whole = cuttable(self)
  local total, indices, at = whole:count(), {}, 0
  for i, share in ipairs(proportions) do
    at = at + share
    indices[i] = math.floor(total * at + 1e-9)
  end
  return whole:split_at_indices(indices)
end

-- Returns the same rows in one random order, the same in all epochs.
local function shuffled_once(self, seed)
  local plan = self._plan
  seed = seed or sampler.draw_seed():bitwise_and(0xFFFFFFFF):item()
  if plan.source.random_access and #plan.operators == 0 then
    return self:_over(sources.PermutedSource(plan.source, {seed = seed, is_fixed = true}))
  end
  return self:random_shuffle{seed = seed}:materialize()
end

local function test_rows(test_size, total)
  local is_number = type(test_size) == 'number'
  if is_number and test_size % 1 == 0 and test_size > 0 and test_size < total then return test_size end
  if is_number and test_size > 0 and test_size < 1 then return total - math.floor(total * (1 - test_size) + 1e-9) end
  errors.raise('argument', ('train_test_split: test_size is a share between 0 and 1 or a number of rows below %d, got %s')
    :format(total, tostring(test_size)))
end

local train_test_signature = args.signature('train_test_split', {'test_size', {'shuffle', false}, {'seed'}, {'stratify'}})

---Returns a training dataset and a test dataset, the latter from the end of the rows. Arguments: test_size, a share of
---the rows or their number; {shuffle = false, seed}: shuffles once before the split, so that no test row is used for
---training in a later epoch. Ray equivalent: Dataset.train_test_split; it has no `stratify`.
---
---```lua
---local data = require 'rtrain.data'
---local train, test = data.range(8):train_test_split(0.25)
---assert(train:count() == 6 and test:take(1)[1].id == 6)
---```
---@return rtrain.data.Dataset train, rtrain.data.Dataset test
function Dataset:train_test_split(...)
  local a = train_test_signature:bind(...)
  if a.stratify ~= nil then errors.raise('unsupported', 'train_test_split: stratify is not in this version') end
  if a.seed ~= nil then checks.count('train_test_split', 'seed', a.seed, 0) end
  local whole = a.shuffle and shuffled_once(self, a.seed) or cuttable(self)
  local total = whole:count()
  local border = total - test_rows(a.test_size, total)
  return part(whole, 0, border), part(whole, border, total)
end

return Dataset
