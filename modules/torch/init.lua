-- torch/init.lua: the table `torch`. Requiring it does not load LibTorch: the first tensor does.
--
-- Names are looked up in this order: definitions in this file, submodules, functions in separate files, then torch._C
-- (its own functions, then every ATen operator). A function found there is stored in the table.

local errors = require 'base.errors'

errors.locals = require 'torch.tensor.local_tensors'

local torch = {}

-- A dtype is represented by its name.
local dtypes = require 'torch.tensor.dtypes'
for _, list in ipairs{dtypes.NAMES, dtypes.CONSTANTS} do
  for _, name in ipairs(list) do torch[name] = name end
end
for alias, dtype in next, dtypes.ALIASES do torch[alias] = dtype end

-- As in Python, this NaN has no sign, unlike 0 / 0.
torch.inf, torch.nan, torch.pi, torch.e = math.huge, -(0 / 0), math.pi, math.exp(1)

-- The marks of host/lua/convert.h, stored as fields so that they can be sent to workers by name.
local function mark(name)
  local registry = debug.getregistry()
  registry[name] = registry[name] or {}
  return registry[name]
end
torch._list_meta = mark 'rtrain.list'
torch._intmap_meta = mark 'rtrain.intmap'

---Marks a table as a list, so that an empty one is saved as `[]` and not as `{}`.
---@param items table
---@return table items the same table
function torch.list(items) return setmetatable(items, torch._list_meta) end

local SUBMODULES = {
  nn = 'torch.nn', optim = 'torch.optim', utils = 'torch.utils', distributed = 'torch.distributed',
  amp = 'torch.amp', cuda = 'torch.cuda', autograd = 'torch.autograd', linalg = 'torch.linalg', fft = 'torch.fft',
  special = 'torch.special', random = 'torch.random', sparse = 'torch.sparse', testing = 'torch.testing',
  backends = 'torch.backends', functional = 'torch.functional', Tensor = 'torch.tensor', func = 'torch.func',
  onnx = 'torch.onnx', profiler = 'torch.profiler', serialization = 'torch.serialization',
  distributions = 'torch.distributions', einops = 'torch.einops', futures = 'torch.futures',
}

-- Functions in separate files, loaded at their first use.
local FILES = {
  {'torch.functional', 'broadcast_tensors', 'broadcast_shapes', 'atleast_1d', 'atleast_2d', 'atleast_3d', 'meshgrid',
   'cartesian_prod', 'block_diag', 'cdist', 'norm', 'nonzero', 'split', 'unravel_index'},
  {'torch.compile', 'compile'},
  {'torch.functions.products', 'chain_matmul', 'einsum', 'tensordot'},
  {'torch.functions.sparse_products', 'spmm', 'dsmm', 'hsmm', 'saddmm'},
  {'torch.functions.unique', 'unique', 'unique_consecutive'},
  {'torch.functions.spectrogram', 'stft'},
  {'torch.functions.factorizations', 'svd_lowrank', 'pca_lowrank', 'lu'},
  {'torch.functions.creation', 'as_tensor', 'asarray', 'frombuffer'},
  {'torch.functions.sparse_tensors', 'sparse_coo_tensor', 'sparse_csr_tensor', 'sparse_csc_tensor', 'sparse_bsr_tensor',
   'sparse_bsc_tensor', 'sparse_compressed_tensor'},
  {'torch.tensor.dtypes', 'finfo', 'iinfo', 'typename'},
  {'torch.tensor.printing', 'set_printoptions', 'get_printoptions'},
  {'torch.functions.memory', 'memory_summary'},
  {'torch.amp.grad_scaler', 'GradScaler'},
  {'torch.amp.autocast', 'autocast', 'is_autocast_enabled', 'set_autocast_enabled', 'get_autocast_dtype',
   'set_autocast_dtype', 'is_autocast_cache_enabled', 'set_autocast_cache_enabled', 'clear_autocast_cache'},
  {'torch.tensor.deepcopy', 'deepcopy'},
  {'torch.tensor.items', 'items', 'keys'},
  {'torch.serialization', 'save', 'load', 'save_safetensors', 'load_safetensors', 'load_numpy'},
  {'torch.functions.settings', 'set_deterministic_debug_mode', 'get_deterministic_debug_mode', 'set_default_device',
   'get_default_device'},
}
local file_of = {}
for _, entry in ipairs(FILES) do
  for i = 2, #entry do file_of[entry[i]] = entry[1] end
end

-- Methods that are also functions.
local METHODS = {numel = true, get_device = true}

-- PyTorch's seed of a generator that was not seeded.
local DEFAULT_SEED = 67280421310721

-- Modules of PyTorch that this version lacks: name → alternative, or true.
local ABSENT = {vmap = true}

local function unknown(name)
  if ABSENT[name] then require('base.args').no_such('torch', name, {}, ABSENT) end
  local names = require('torch._C').op_names()
  -- The order only affects the choice between equally similar names.
  for _, source in ipairs{torch, SUBMODULES, file_of, METHODS, require 'torch._C'} do
    for key in next, source do names[#names + 1] = tostring(key) end
  end
  table.sort(names)
  require('base.args').no_such('torch', name, names)
end

setmetatable(torch, {
  __tostring = function() return "module 'torch'" end,
  -- For documentation and completion, without LibTorch; torch's own functions and operators are listed separately.
  __names = function(self)
    local names = {}
    for key in next, self do names[#names + 1] = key end
    for _, source in ipairs{SUBMODULES, file_of, METHODS} do
      for key in next, source do
        if rawget(self, key) == nil then names[#names + 1] = key end
      end
    end
    table.sort(names)
    return names
  end,
  __index = function(self, name)
    if type(name) ~= 'string' then return nil end
    local found
    if SUBMODULES[name] then
      found = require(SUBMODULES[name])
    elseif file_of[name] then
      found = require(file_of[name])[name]
    elseif not ABSENT[name] then
      local C = require 'torch._C'
      found = METHODS[name] and C.Tensor[name] or C[name]
      if found == nil then
        require('torch.absent').check('torch', name)
        found = C.op(name)
      end
    end
    if found == nil then unknown(name) end
    rawset(self, name, found)
    return found
  end,
})

---Returns the name of a device: 'cpu', 'cuda', 'cuda:N' or 'meta'. With a function: calls it; tensors made in it
---without a device are on this device. On 'meta' they have no data.
---@param kind string
---@param index? integer|function from 0; or the function
---@param ... any arguments of the function
---@return string|any device or the results of the function
---
---```lua
---local torch = require 'torch'
---local net = torch.device('meta', torch.nn.Linear, 1000, 1000)
---assert(net.weight.device == 'meta')
---assert(net:to_empty{device = 'cpu'}.weight.device == 'cpu')
---```
function torch.device(kind, index, ...)
  if index ~= nil and type(index) ~= 'number' then return require('torch._C').with_device(torch.device(kind), index, ...) end
  local name = index and ('%s:%d'):format(kind, index) or kind
  if type(name) ~= 'string' or not (name == 'cpu' or name == 'cuda' or name:match('^cuda:%d+$') or name == 'meta') then
    errors.raise('argument', ("unknown device '%s': 'cpu', 'cuda' or 'cuda:0'"):format(tostring(name)))
  end
  return name
end

---Makes a separate random number generator. PyTorch equivalent: torch.Generator.
---@param device? string|integer 'cpu' (default), 'cuda', 'cuda:1'; or the seed of a generator on the CPU
---@return userdata generator to pass as {generator = g}; it has manual_seed, seed, initial_seed, get_state, set_state,
---  clone_state and device
---
---```lua
---local torch = require 'torch'
---local g = torch.Generator():manual_seed(7)
---local copy = g:clone_state()
---assert(torch.equal(torch.rand(3, {generator = g}), torch.rand(3, {generator = copy})))
---```
function torch.Generator(device)
  if type(device) == 'table' then device = require('base.args').options(device, {'device'}, 'Generator').device end
  local C = require 'torch._C'
  if device == nil or type(device) == 'string' then return C.generator(DEFAULT_SEED, torch.device(device or 'cpu')) end
  return C.generator(device)
end

return torch
