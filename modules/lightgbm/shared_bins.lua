-- lightgbm/shared_bins.lua: makes the data of a rank, with bins from a sample of all ranks' rows.
--
-- The sample is the one that the library would draw from all rows on one machine, in the order of the ranks, so the
-- bins are the same as on one machine.

local errors = require 'base.errors'
local ffi = require 'ffi'
local library = require 'lightgbm.library'

local shared_bins = {}

-- The library counts rows with 32 bits. For more rows the sample is drawn from every other row, and so on.
local MOST_ROWS = 2 ^ 31 - 1
-- The library treats smaller numbers as zeros, and takes only nonzero numbers.
local ZERO = 1e-35
-- Rows that are passed at a time: the library takes them row by row.
local BLOCK = 2 ^ 16

local function dist() return require('torch').distributed end

-- Returns rows, columns and the size of a number on each rank.
local function shapes_of_ranks(rows)
  local torch = require 'torch'
  local own = torch.tensor({rows.rows, rows.columns, rows.tensor:element_size()}, {dtype = 'int64'})
  local out = {}
  for i, shape in ipairs(dist().all_gather(own)) do out[i] = shape:tolist() end
  return out
end

local function check(who, shapes)
  for i, shape in ipairs(shapes) do
    if shape[1] == 0 then errors.raise('argument', ('%s: rank %d has no rows'):format(who, i - 1)) end
    if shape[2] ~= shapes[1][2] then
      errors.raise('argument', ('%s: rank %d has %d features, rank 0 has %d'):format(who, i - 1, shape[2], shapes[1][2]))
    end
  end
end

-- Returns the places of the sample among the rows of all ranks.
local function sample_places(who, total, parameters)
  local count, size = math.min(total, MOST_ROWS), ffi.new 'int32_t[1]'
  library.call(who, 'LGBM_GetSampleCount', count, parameters, size)
  local places = require('torch').empty({size[0]}, {dtype = 'int32'})
  library.call(who, 'LGBM_SampleIndices', count, parameters, ffi.cast('void *', places:data_ptr()), size)
  places = places:narrow(0, 0, size[0]):to('int64')
  return total == count and places or places:double():mul(total / count):floor():to('int64')
end

-- Returns the rows of a rank by their numbers from 0: (count, columns).
local function rows_at(rows, places)
  if rows.is_row_major == 1 then return rows.tensor:index_select(0, places) end
  return rows.tensor:index_select(1, places):t():contiguous()
end

-- Returns the sampled rows of all ranks, in order.
local function gather(own, counts)
  local torch, most, parts = require 'torch', math.max(unpack(counts)), {}
  local padded = torch.zeros({most, own:size(1)}, {dtype = own.dtype})
  padded:narrow(0, 0, own:size(0)):copy_(own)
  for i, part in ipairs(dist().all_gather(padded)) do parts[i] = part:narrow(0, 0, counts[i]) end
  return torch.cat(parts)
end

-- Returns the rows that this rank contributes, and how many each rank contributes.
local function deal(places, shapes, rank)
  local first, counts, own = 0, {}, nil
  for i, shape in ipairs(shapes) do
    local mine = places:masked_select(places:ge(first):logical_and(places:lt(first + shape[1])))
    counts[i] = mine:size(0)
    if i == rank + 1 then own = mine - first end
    first = first + shape[1]
  end
  return own, counts
end

local function sample_of(who, rows, parameters, shapes)
  local total, is_double = 0, false
  for _, shape in ipairs(shapes) do total, is_double = total + shape[1], is_double or shape[3] == 8 end
  local own, counts = deal(sample_places(who, total, parameters), shapes, dist().get_rank())
  local chosen = rows_at(rows, own)
  return gather(is_double and chosen:double() or chosen, counts), total
end

-- Returns a column in the library's form: the nonzero values and their places.
local function nonzero(column)
  local values = column:double():contiguous()
  local is_kept = values:abs():gt(ZERO):logical_or(values:isnan())
  return values:masked_select(is_kept), is_kept:nonzero():view(-1):to('int32')
end

-- Creates the data with bins and space for the rows of this rank.
local function create(who, sample, num_rows, total, parameters)
  local count = sample:size(1)
  local values, places, sizes = ffi.new('double *[?]', count), ffi.new('int *[?]', count), ffi.new('int32_t[?]', count)
  local held, handle = {}, ffi.new 'rt_lgb_handle[1]'
  local by_column = sample:t():contiguous()
  for i = 0, count - 1 do
    local kept, where = nonzero(by_column[i])
    values[i], places[i] = ffi.cast('double *', kept:data_ptr()), ffi.cast('int *', where:data_ptr())
    sizes[i] = kept:numel()
    held[i + 1] = {kept, where}
  end
  library.call(who, 'LGBM_DatasetCreateFromSampledColumn', values, places, count, sizes, sample:size(0), num_rows, total,
    parameters, handle)
  return library.owned(handle, 'LGBM_DatasetFree'), held
end

local function push(who, handle, rows)
  for first = 0, rows.rows - 1, BLOCK do
    local count = math.min(BLOCK, rows.rows - first)
    local block = rows.tensor:narrow(rows.is_row_major == 1 and 0 or 1, first, count)
    if rows.is_row_major == 0 then block = block:t():contiguous() end
    library.call(who, 'LGBM_DatasetPushRows', handle, ffi.cast('const void *', block:data_ptr()), rows.type, count,
      rows.columns, first)
  end
end

---Returns the library's form of a rank's rows. It is a collective operation of all ranks.
---@param who string for messages
---@param rows lightgbm.matrix
---@param parameters string the parameters in the library's form
---@return ffi.cdata* handle
---Raises code 'argument' for a rank without rows, and for ranks with unequal numbers of features.
function shared_bins.dataset(who, rows, parameters)
  local shapes = shapes_of_ranks(rows)
  check(who, shapes)
  local sample, total = sample_of(who, rows, parameters, shapes)
  local handle = create(who, sample, rows.rows, total, parameters)
  push(who, handle, rows)
  return handle
end

return shared_bins
