-- torch/serialization.lua: torch.save and torch.load, their safetensors versions, and NumPy's files.
--
-- The engine does the work (host/engine/files/archive.h, host/engine/files/safetensors.h, host/engine/data/npy.h); this
-- file handles the arguments.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local phases = require 'base.phases'

local serialization = {}

local load_signature = args.signature('torch.load', {'f', {'map_location'}, {'weights_only', true}, {'mmap', false}})
local load_named_signature = args.signature('torch.load_safetensors', {'f', {'device'}, {'mmap', false}, {'metadata', false}})
local load_numpy_signature = args.signature('torch.load_numpy', {'f', {'mmap', false}})

local function check_path(owner, f)
  if type(f) == 'string' then return end
  errors.raise('argument', ("%s: expected a path, got %s"):format(owner, type(f)))
end

local function check_savable(owner, value, f)
  if class.of(value) then
    errors.raise('argument', ("%s: a %s cannot be saved: save its state_dict()"):format(owner, class.of(value).__name))
  end
  check_path(owner, f)
end

local function check_boolean(owner, name, value)
  if type(value) == 'boolean' then return end
  errors.raise('argument', ("%s: %s: expected a boolean, got %s"):format(owner, name, type(value)))
end

---Saves tensors and plain values to a file that Python's `torch.load(path, weights_only=True)` can read.
---
---A value is nil, a boolean, a number, an int64, uint64 or complex number of LuaJIT, a string, a tensor (dense or
---sparse), a list, a map with string keys, or a map with integer keys from torch.load. Maps of `base.ordered` and state
---dicts become OrderedDicts, other tables dicts and lists. Tensors that share memory share it again after loading; a
---view is saved with its whole storage, so save `x:clone()` for a small part of a large tensor. The file is written
---next to `f`, synced and renamed: a failed save leaves the older file.
---@param obj any
---@param f string path
---Errors: 'argument' for a module or another object, by itself or among the values (save its state_dict()), or other
---values that are not data; 'environment' if the file cannot be written.
---
---```lua
---local torch = require 'torch'
---local path = os.tmpname()
---torch.save({weight = torch.ones(2), step = 7}, path)
---local state = torch.load(path)
---assert(state.weight:sum():item() == 2 and state.step == 7)
---```
function serialization.save(obj, f)
  check_savable('torch.save', obj, f)
  local depth = phases.enter(phases.CHECKPOINT)
  require('torch._C').save(obj, f)
  phases.leave(depth)
end

---Loads a file of torch.save, or of Python's torch.save of state dicts, optimizer states and plain values. Code in the
---file is never run.
---
---Values are read as follows: dict, OrderedDict (keeps its order), defaultdict and Counter as maps with string or
---integer keys; list, tuple, set and torch.Size as lists; None as nil, in a list as torch.none; an int beyond 2^53 as
---int64, beyond 2^63 as uint64, complex as LuaJIT's complex; str, bytes and bytearray as strings; a dtype, device or
---layout as its name; dense tensors of all dtypes, sparse COO, CSR, CSC, BSR and BSC tensors, Parameters and tensors
---with attributes (the attributes are dropped). Refused, with their name: whole modules and all other classes and
---functions, numpy's numbers and arrays, quantized, nested and meta tensors, ints beyond 64 bits, dict keys of other
---types, TorchScript programs, and the format from before PyTorch 1.6 (load it in Python and save it again).
---
---map_location is a device for all tensors, or {saved_device = device}; by default they go to the devices they were
---saved from. With mmap the values stay in the file until they are used. Changes are private: they never reach the
---file. The file must not be overwritten or shortened in the meantime; saving to its path again is safe, since that
---makes a new file.
---@param f string path
---@param ... any see above
---@return any value
---Errors: 'not_found' without such a file; 'argument' for a file of another kind or a damaged one, or a value that is
---not data; 'environment' if a device does not exist: pass map_location.
---
---```lua
---local torch = require 'torch'
---local path = os.tmpname()
---torch.save({weight = torch.ones(2)}, path)
---local state = torch.load(path, {map_location = 'cpu', mmap = true})
---state.weight:add_(1)
---assert(torch.load(path).weight:sum():item() == 2)
---os.remove(path)
---```
function serialization.load(f, ...)
  local given = load_signature:bind(f, ...)
  check_path('torch.load', given.f)
  check_boolean('torch.load', 'mmap', given.mmap)
  if given.weights_only == false then
    errors.raise('argument', 'torch.load: weights_only=false would run code of the file: only data is loaded')
  end
  return require('torch._C').load(given.f, given.map_location, given.mmap)
end

---Saves named tensors as a safetensors file, which `safetensors.torch.load_file` in Python can read.
---
---Only values are saved, no strides, requires_grad and devices. Views are saved as contiguous copies. Tensors that
---share memory are refused, as in Python: the file cannot represent that. Names of an ordered map or state dict keep
---their order, those of a plain table are sorted. Dtypes: float64, float32, float16, bfloat16, all float8,
---int64, int32, int16, int8, uint64, uint32, uint16, uint8, bool, complex64. As with torch.save, a failed save changes
---nothing.
---@param tensors table<string, userdata> name → tensor
---@param f string path
---@param options? {metadata: table<string, string>} strings that are saved with the tensors
---Errors: 'argument' for a value that is not a dense tensor, tensors that share memory, a name that is not UTF-8;
---'environment' if the file cannot be written.
---
---```lua
---local torch = require 'torch'
---local path = os.tmpname()
---torch.save_safetensors(torch.nn.Linear(2, 1):state_dict(), path, {metadata = {format = 'pt'}})
---local model = torch.nn.Linear(2, 1)
---model:load_state_dict(torch.load_safetensors(path))
---local _, metadata = torch.load_safetensors(path, {metadata = true})
---assert(metadata.format == 'pt')
---os.remove(path)
---```
function serialization.save_safetensors(tensors, f, options)
  check_savable('torch.save_safetensors', tensors, f)
  options = args.options(options, {'metadata'}, 'torch.save_safetensors')
  require('torch._C').save_safetensors(tensors, f, options.metadata)
end

---Loads a safetensors file.
---
---The tensors go to `device`, by default the CPU. mmap is that of torch.load. With `metadata = true` the file's metadata
---is a second result.
---@param f string path
---@param ... any see above
---@return table tensors ordered map: name → tensor, in the order of the file's header
---@return table? metadata ordered map: name → text, empty if the file has none
---Errors: 'not_found' without such a file; 'argument' for a file of another kind or a damaged one, naming the tensor.
---
---```lua
---local ordered, torch = require 'base.ordered', require 'torch'
---local path = os.tmpname()
---torch.save_safetensors(ordered.new{{'w', torch.ones(2, 3)}, {'b', torch.zeros(2)}}, path)
---local state = torch.load_safetensors(path, {mmap = true})
---assert(table.concat(ordered.keys(state), ' ') == 'w b')
---os.remove(path)
---```
function serialization.load_safetensors(f, ...)
  local given = load_named_signature:bind(f, ...)
  check_path('torch.load_safetensors', given.f)
  check_boolean('torch.load_safetensors', 'mmap', given.mmap)
  check_boolean('torch.load_safetensors', 'metadata', given.metadata)
  local tensors, metadata = require('torch._C').load_safetensors(given.f, given.device, given.mmap)
  -- Only on request, so that load_state_dict gets a single argument in
  -- model:load_state_dict(torch.load_safetensors(path)).
  if given.metadata then return tensors, metadata end
  return tensors
end

local function begins_with(path, bytes)
  local file = io.open(path, 'rb')
  local found = file and file:read(#bytes)
  if file then file:close() end
  return found == bytes
end

---Loads arrays that NumPy saved: torch.from_numpy(numpy.load(f)).
---
---A `.npy` file gives one tensor, with the array's dtype, shape and memory order; a `.npz` archive, compressed or not,
---a map of them. Big-endian numbers are converted. With mmap the values of a `.npy` stay in the file until they are
---used, as with torch.load. Refused: objects (pickles, which run code when they are read), texts, dates, records and
---long doubles.
---@param f string path; the content determines the format
---@param ... any see above
---@return userdata|table arrays a tensor, or an ordered map: name → tensor
---Errors: 'not_found' without such a file; 'argument' for a file of another kind or a damaged one, or a refused array.
function serialization.load_numpy(f, ...)
  local given = load_numpy_signature:bind(f, ...)
  check_path('torch.load_numpy', given.f)
  check_boolean('torch.load_numpy', 'mmap', given.mmap)
  local data = require('torch._C').data
  if not begins_with(given.f, 'PK\3\4') and not begins_with(given.f, 'PK\5\6') then
    return data.read_npy(given.f, given.mmap)
  end
  local names, tensors = data.read_npz(given.f)
  local arrays = {}
  for i, name in ipairs(names) do arrays[i] = {name, tensors[i]} end
  return ordered.new(arrays)
end

local ONLY_DATA = 'no class or function of a file is ever used: torch.load reads data alone'
local NO_SETTING = 'give the option to torch.load'

local ABSENT = {
  add_safe_globals = ONLY_DATA, clear_safe_globals = ONLY_DATA, get_safe_globals = ONLY_DATA, safe_globals = ONLY_DATA,
  get_unsafe_globals_in_checkpoint = 'torch.load names the class or function that it refuses',
  register_package = ONLY_DATA, default_restore_location = 'use map_location', location_tag = 'use x.device',
  set_default_mmap_options = NO_SETTING, get_default_mmap_options = NO_SETTING,
  set_default_load_endianness = NO_SETTING, get_default_load_endianness = NO_SETTING,
  set_crc32_options = true, get_crc32_options = true, skip_data = true,
}

return require 'base.namespace'('torch.serialization', {absent = ABSENT}, serialization)
