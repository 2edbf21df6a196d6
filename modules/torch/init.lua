-- torch/init.lua: the table `torch`. Requiring it loads nothing: LibTorch comes with the first tensor.
--
-- Names are looked up in this order: what is written here, the submodules, then torch._C (own functions, then every
-- ATen operator). A function found there is kept in the table.

local errors = require 'rtrain.errors'

local torch = {}

-- A dtype is its name.
for _, dtype in ipairs{'float32', 'float64', 'float16', 'bfloat16', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool',
                       'complex64', 'complex128'} do
  torch[dtype] = dtype
end
torch.float, torch.double, torch.half = 'float32', 'float64', 'float16'
torch.long, torch.int, torch.short = 'int64', 'int32', 'int16'
torch.cfloat, torch.cdouble = 'complex64', 'complex128'

torch.inf, torch.nan, torch.pi = math.huge, 0 / 0, math.pi

-- The marks of host/lua/convert.h, kept as fields so that they travel to workers by name.
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

local SUBMODULES = {nn = 'torch.nn', optim = 'torch.optim', utils = 'torch.utils', distributed = 'torch.distributed',
                    cuda = 'torch.cuda', autograd = 'torch.autograd',
                    func = 'torch.func'}

-- Parts of PyTorch that later stages bring.
local LATER = {compile = true, jit = true, fx = true, amp = true, autocast = true, multiprocessing = true,
               save_safetensors = true, load_safetensors = true, profiler = true, vmap = true}

local function unknown(name)
  if LATER[name] then require('rtrain.args').no_such('torch', name, {}, LATER) end
  local names = require('torch._C').op_names()
  -- The order reaches nothing but the choice between equally near names.
  for _, source in ipairs{torch, SUBMODULES, require 'torch._C'} do
    for key in next, source do names[#names + 1] = tostring(key) end
  end
  table.sort(names)
  require('rtrain.args').no_such('torch', name, names)
end

setmetatable(torch, {
  __index = function(self, name)
    if type(name) ~= 'string' then return nil end
    local found
    if SUBMODULES[name] then
      found = require(SUBMODULES[name])
    elseif not LATER[name] then
      local C = require 'torch._C'
      found = C[name]
      if found == nil then found = C.op(name) end
    end
    if found == nil then unknown(name) end
    rawset(self, name, found)
    return found
  end,
})

---A device: 'cpu', 'cuda' or 'cuda:N'.
---@param kind string
---@param index? integer from 0
---@return string device
function torch.device(kind, index)
  local name = index and ('%s:%d'):format(kind, index) or kind
  if type(name) ~= 'string' or not (name == 'cpu' or name == 'cuda' or name:match('^cuda:%d+$') or name == 'meta') then
    errors.raise('argument', ("unknown device '%s': 'cpu', 'cuda' or 'cuda:0'"):format(tostring(name)))
  end
  return name
end

---Saves tensors and plain values in a file that Python's `torch.load(path, weights_only=True)` reads.
---@param value any state dicts, tables, numbers, strings, booleans, tensors
---@param path string
---Errors: 'argument' for a module (save its state_dict()) or a value that is no data; 'environment' when the file
---cannot be written.
---
---```lua
---local torch = require 'torch'
---local path = os.tmpname()
---torch.save({weight = torch.ones(2)}, path)
---assert(torch.load(path).weight:sum():item() == 2)
---```
function torch.save(value, path)
  local class = require 'rtrain.class'
  if class.of(value) then
    errors.raise('argument', ("torch.save: a %s cannot be saved: save its state_dict()"):format(class.of(value).__name))
  end
  require('torch._C').save(value, path)
end

---Loads what torch.save, or Python's torch.save of state dicts and plain values, wrote. Code in the file is never
---run.
---@param path string
---@param options? {map_location: string, weights_only: boolean} map_location: device for all tensors
---@return any value
function torch.load(path, options)
  options = require('rtrain.args').options(options, {'map_location', 'weights_only'}, 'torch.load')
  if options.weights_only == false then
    errors.raise('argument', 'torch.load: weights_only=false would run code of the file: only data is loaded')
  end
  return require('torch._C').load(path, {map_location = options.map_location})
end

---A random number generator of its own, as torch.Generator().
---@param seed? integer
---@return userdata generator to pass as {generator = g}
function torch.Generator(seed) return require('torch._C').generator(seed or 67280421310721) end

return torch
