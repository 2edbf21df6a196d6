-- lightgbm/network.lua: implements the library's collectives by those of torch.distributed.
--
-- The library accepts functions in place of its own sockets, and calls them in the calling thread. So no rank listens
-- at a port, the watchdog sees which rank waits for which, and the loss of a rank ends the wait. The error of a
-- collective is kept until the library has returned; until then its results are undefined, and nothing more is sent.

local errors = require 'base.errors'
local ffi = require 'ffi'
local library = require 'lightgbm.library'

---@class lightgbm.network
local network = {}

local callbacks

local function bytes(count) return require('torch').empty({math.max(count, 1)}, {dtype = 'uint8'}) end

local function address(tensor) return ffi.cast('char *', tensor:data_ptr()) end

local function list_of(numbers, count)
  local out = {}
  for i = 1, count do out[i] = numbers[i - 1] end
  return out
end

-- Each rank gets its block from all ranks, and combines them in the order of the ranks, so that all runs are bitwise
-- equal.
local function reduce_scatter(rank, input, type_size, starts, sizes, count, output, reducer)
  local dist = require('torch').distributed
  local sizes_of_ranks, total = list_of(sizes, count), 0
  for _, size in ipairs(sizes_of_ranks) do total = total + size end
  local send, place = bytes(total), 0
  for i = 0, count - 1 do
    ffi.copy(address(send) + place, input + starts[i], sizes[i])
    place = place + sizes[i]
  end
  local own, own_sizes = sizes[rank], {}
  for i = 1, count do own_sizes[i] = own end
  local received = bytes(own * count)
  dist.all_to_all_single(received:narrow(0, 0, own * count), send:narrow(0, 0, total), own_sizes, sizes_of_ranks)
  ffi.copy(output, address(received), own)
  for i = 1, count - 1 do reducer[0](address(received) + i * own, output, type_size, own) end
end

-- The library's input size is the total of all ranks; a rank has sizes[rank] bytes.
local function allgather(rank, input, starts, sizes, count, output)
  local dist, most = require('torch').distributed, 1
  for i = 0, count - 1 do most = math.max(most, sizes[i]) end
  local send, received = bytes(most), bytes(most * count)
  ffi.copy(address(send), input, sizes[rank])
  dist.all_gather_into_tensor(received, send)
  for i = 0, count - 1 do ffi.copy(output + starts[i], address(received) + i * most, sizes[i]) end
end

---Makes the ranks of torch.distributed the library's machines. train.LightGBMTrainer calls it before the train
---function.
---@param num_machines integer
---@param rank integer
---Raises code 'environment' for several machines with a glibc older than 2.34: the library would crash.
function network.init(num_machines, rank)
  if callbacks then errors.raise('argument', 'lightgbm.network.init: there is a network already') end
  library.network.error = nil
  if num_machines == 1 then return end
  if not library.has_own_malloc() then
    errors.raise('environment', 'lightgbm.network.init: several ranks need glibc 2.34 or later: without it LightGBM crashes '
      .. 'where a rank has no row of a leaf. Train with one worker, or with train.XGBoostTrainer')
  end
  callbacks = {
    num_machines = num_machines, rank = rank,
    reduce_scatter = ffi.cast('rt_lgb_reduce_scatter *', library.callback(
      function(input, _, type_size, starts, sizes, count, output, _, reducer)
        reduce_scatter(rank, input, type_size, starts, sizes, count, output, reducer)
      end)),
    allgather = ffi.cast('rt_lgb_allgather *', library.callback(
      function(input, _, starts, sizes, count, output) allgather(rank, input, starts, sizes, count, output) end)),
  }
  library.call('lightgbm.network.init', 'LGBM_NetworkInitWithFunctions', num_machines, rank,
    ffi.cast('void *', callbacks.reduce_scatter), ffi.cast('void *', callbacks.allgather))
end

---@return integer 1 without a network
function network.num_machines() return callbacks and callbacks.num_machines or 1 end

---@return integer 0 without a network
function network.rank() return callbacks and callbacks.rank or 0 end

---Ends the network.
function network.free()
  if not callbacks then return end
  library.network.error = nil
  library.call('lightgbm.network.free', 'LGBM_NetworkFree')
  callbacks.reduce_scatter:free()
  callbacks.allgather:free()
  callbacks = nil
end

return require 'base.namespace'('lightgbm.network', nil, network)
