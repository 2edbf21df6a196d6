-- torch/cuda/memory.lua: the memory that LibTorch's allocator holds on each GPU, and its settings.

local args = require 'base.args'
local engine = require 'torch.cuda.engine'
local errors = require 'base.errors'
local write_file = require 'base.write_file'

local memory = {}

-- Calls the engine's function of that name with the number of the device after the other arguments.
local function call(name, device, ...)
  local C = engine.functions(name, 'cuda_allocator')
  local given, count = {...}, select('#', ...)
  given[count + 1] = engine.index_of(name, device)
  return C[name](unpack(given, 1, count + 1))
end

---Returns the statistics of a device's allocator under PyTorch's names: 'allocated_bytes.all.current', 'num_ooms', …
---Each count and size has current, peak, allocated and freed, for all blocks and for the large_pool and small_pool.
---@param device? integer|string default: the current device
---@return table<string, number> stats
---
---```lua
---local torch = require 'torch'
---if torch.cuda.is_available() then
---  local x = torch.ones(1024):to 'cuda'
---  assert(torch.cuda.memory_stats()['allocated_bytes.all.current'] >= x:numel() * 4)
---end
---```
function memory.memory_stats(device) return call('memory_stats', device) end

local function stat(key, device) return memory.memory_stats(device)[key] end

---@param device? integer|string default: the current device
---@return integer bytes that tensors hold now
function memory.memory_allocated(device) return stat('allocated_bytes.all.current', device) end

---@param device? integer|string default: the current device
---@return integer bytes the most that tensors have held, since reset_peak_memory_stats()
function memory.max_memory_allocated(device) return stat('allocated_bytes.all.peak', device) end

---@param device? integer|string default: the current device
---@return integer bytes taken from the device: held by tensors, or kept for the next ones
function memory.memory_reserved(device) return stat('reserved_bytes.all.current', device) end

---@param device? integer|string default: the current device
---@return integer bytes the most that was taken from the device, since reset_peak_memory_stats()
function memory.max_memory_reserved(device) return stat('reserved_bytes.all.peak', device) end

---Sets every peak to its current value.
---@param device? integer|string default: the current device
function memory.reset_peak_memory_stats(device) call('reset_peak_memory_stats', device) end

---Sets the counts of allocated and freed memory to zero.
---@param device? integer|string default: the current device
function memory.reset_accumulated_memory_stats(device) call('reset_accumulated_memory_stats', device) end

---Returns unused memory to the devices, for other programs. Tensors that are garbage are collected first.
function memory.empty_cache()
  local C = engine.functions('empty_cache', 'cuda_allocator')
  collectgarbage()
  collectgarbage()
  C.empty_cache()
end

---Limits the memory of this process on a device: a larger request is an out-of-memory error.
---@param fraction number from 0 to 1
---@param device? integer|string default: the current device
function memory.set_per_process_memory_fraction(fraction, device)
  if type(fraction) ~= 'number' or not (fraction >= 0 and fraction <= 1) then
    errors.raise('argument', ('torch.cuda.set_per_process_memory_fraction: expected a number from 0 to 1, got %s'):format(
      tostring(fraction)))
  end
  local C = engine.functions('set_per_process_memory_fraction', 'cuda_allocator')
  C.set_memory_fraction(fraction, engine.index_of('set_per_process_memory_fraction', device))
end

---@param device? integer|string default: the current device
---@return number fraction of the device that this process may take
function memory.get_per_process_memory_fraction(device)
  local C = engine.functions('get_per_process_memory_fraction', 'cuda_allocator')
  return C.memory_fraction(engine.index_of('get_per_process_memory_fraction', device))
end

---@return string backend 'native', or 'cudaMallocAsync' if PYTORCH_ALLOC_CONF=backend:cudaMallocAsync is set
function memory.get_allocator_backend() return engine.functions('get_allocator_backend', 'cuda_allocator').backend() end

---Returns the memory taken from the devices: a list of segments, each with device, address, total_size, allocated_size,
---segment_type, … and its blocks, each with size and state ('active_allocated', 'active_awaiting_free', 'inactive').
---@return table[] segments
function memory.memory_snapshot() return engine.functions('memory_snapshot', 'cuda_allocator').snapshot() end

---Changes the settings of the allocators of all devices, as PYTORCH_ALLOC_CONF does at the start: 'key:value'
---pairs separated by commas. PyTorch equivalent: torch._C._accelerator_setAllocatorSettings.
---@param settings string 'expandable_segments:True,garbage_collection_threshold:0.8'
function memory._set_allocator_settings(settings)
  engine.functions('memory._set_allocator_settings', 'cuda_allocator').set_settings(settings)
end

local CONTEXTS = {'all', 'state', 'alloc'}

local function none_or_one_of(name, value, names)
  if value == nil or value == require('torch').none then return '' end
  return args.one_of('_record_memory_history: ' .. name, value, names)
end

local history = args.signature('_record_memory_history', {{'enabled', 'all'}, {'context', 'all'}, {'stacks', 'python'},
  {'max_entries', 0}, {'clear_history', false}})

---Makes the allocator record its later operations for _dump_snapshot, with the script lines that caused them.
---Arguments: enabled ('all'; 'state': only live memory; torch.none: stop), {context = 'all' ('state', 'alloc',
---torch.none: without lines), stacks = 'python' (the script's; 'all': C++ functions too), max_entries = 0 (without limit),
---clear_history = false}. PyTorch equivalent: torch.cuda.memory._record_memory_history.
---@param ... any
function memory._record_memory_history(...)
  local a = history:bind(...)
  engine.functions('memory._record_memory_history', 'cuda_memory_snapshot').record_history{
    enabled = none_or_one_of('enabled', a.enabled, {'all', 'state'}), context = none_or_one_of('context', a.context, CONTEXTS),
    stacks = args.one_of('_record_memory_history: stacks', a.stacks, {'python', 'all'}),
    max_entries = a.max_entries, clear_history = a.clear_history}
end

---Writes the live memory, and the recorded history, to a file for pytorch.org/memory_viz. PyTorch equivalent:
---torch.cuda.memory._dump_snapshot.
---@param filename? string default 'dump_snapshot.pickle'
function memory._dump_snapshot(filename)
  filename = filename or 'dump_snapshot.pickle'
  local bytes = engine.functions('memory._dump_snapshot', 'cuda_memory_snapshot').pickled()
  write_file(filename, bytes)
end

return memory
