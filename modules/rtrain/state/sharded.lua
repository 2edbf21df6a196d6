-- rtrain/state/sharded.lua: the models of a train.state that are sharded, and their optimizers: all ranks save them
-- together, as torch.distributed.checkpoint, and each rank loads its rows.

local class = require 'base.class'
local errors = require 'base.errors'
local named_state = require 'torch.distributed.checkpoint.named_state'
local ordered = require 'base.ordered'
local parts = require 'rtrain.state.parts'
local saved_rows = require 'rtrain.state.rows'

local sharded = {}

local function is_sharded(params) return require('torch.tensor.shards').any(params) end

local function params_of(optimizer)
  local params = {}
  for _, group in ipairs(optimizer.param_groups) do
    for _, param in ipairs(group.params) do params[#params + 1] = param end
  end
  return params
end

---@param module nn.Module
---@return boolean
function sharded.is_model(module) return is_sharded(module:parameters()) end

-- Returns the modules and the optimizers by name. ZeroRedundancyOptimizer divides whole parameters, in a way of its own.
local function found_in(state)
  local modules, optimizers = parts.modules(state), ordered.new()
  for name, optimizer in ordered.items(parts.optimizers(state)) do
    if not class.is(optimizer, require('torch.distributed.optim').ZeroRedundancyOptimizer) then optimizers[name] = optimizer end
  end
  return modules, optimizers
end

---Returns whether a part is a sharded model, or an optimizer of one.
---@param state TrainState
---@param name string
---@return boolean
function sharded.is_one(state, name)
  if not require('torch.tensor.shards').has_replaced() then return false end
  local modules, optimizers = found_in(state)
  return modules[name] and sharded.is_model(modules[name])
    or optimizers[name] and is_sharded(params_of(optimizers[name])) or false
end

---Returns the names of the parts that all ranks save together: none without a sharded model, else all models and
---optimizers.
---@param state TrainState
---@return string[]
function sharded.names(state)
  local modules, optimizers = found_in(state)
  local names, is_needed = {}, false
  for _, name in ipairs(parts.names(state._parts)) do
    if modules[name] or optimizers[name] then
      names[#names + 1] = name
      is_needed = is_needed or sharded.is_one(state, name)
    end
  end
  return is_needed and names or {}
end

-- Returns a function that names the parameters of optimizers: by the model in the state, else by number.
local function names_in(modules)
  local names = {}
  for part, module in ordered.items(modules) do
    for name, param in module:named_parameters() do names[param] = names[param] or part .. '.' .. name end
  end
  return function(param, number) return names[param] or ('%d'):format(number) end
end

---Saves parts, with all ranks.
---@param state TrainState
---@param names string[] a result of names
---@param dir string
---@param is_async boolean|nil
---@return AsyncSave? save
function sharded.save(state, names, dir, is_async)
  local modules, optimizers = found_in(state)
  local name_of, tree = names_in(modules), ordered.new()
  for _, name in ipairs(names) do
    tree[name] = modules[name] and modules[name]:state_dict() or named_state.get(optimizers[name], name_of)
  end
  local dcp = require('torch').distributed.checkpoint
  return dcp[is_async and 'async_save' or 'save'](tree, {checkpoint_id = dir})
end

---Saves this rank's rows of the models, and of the optimizers' state, without asking another rank.
---@param state TrainState
---@param dir string
---@param rank integer
function sharded.save_alone(state, dir, rank)
  local modules, optimizers = found_in(state)
  saved_rows.save(modules, optimizers, dir, rank)
end

local function raise(text, ...) errors.raise('checkpoint', 'state:load: ' .. text:format(...)) end

-- Plans to fill the module's tensors. Returns its state dict.
local function add_module(reader, name, module, saved)
  local state, shards = module:state_dict(), require 'torch.tensor.shards'
  for _, key in ipairs(ordered.keys_of(saved)) do
    if state[key] == nil then
      raise("the checkpoint has '%s' of '%s', which this %s has not", key, name, class.of(module).__name)
    end
  end
  for key, value in ordered.items(state) do
    if require('torch').is_tensor(value) then
      reader:add(name .. '.' .. key, value, shards.of(value))
    else
      state[key] = saved[key]
    end
  end
  return state
end

-- Returns this rank's part of a saved tensor of the parameter's state, to be filled.
local function tensor_for(reader, optimizer, param, key, saved)
  local torch, shards = require 'torch', require 'torch.tensor.shards'
  local shape, entry, shard = {unpack(saved.entry.shape)}, saved.entry, shards.of(param)
  local has_rows = shard and #shape > 0 and optimizer:_has_rows(key, shape, shard.sizes)
  local rows = has_rows and shards.with_columns(shard, shape) or nil
  if rows then shape[1] = rows.count end
  local device = (#shape > 0 or entry.device) and param.device or 'cpu'
  local tensor = torch.empty(shape, {dtype = entry.dtype, device = device})
  reader:add(saved.name, tensor, rows)
  return tensor
end

local Saved = class 'Saved'

-- Returns a copy of the state of a parameter with tensors to be filled. make(key, saved) makes them.
local function state_for(make, key, saved)
  if class.is(saved, Saved) then return make(key, saved) end
  if type(saved) ~= 'table' or saved == require('torch').none then return saved end
  local copy = ordered.is(saved) and ordered.new() or setmetatable({}, getmetatable(saved))
  for _, inner in ipairs(ordered.keys_of(saved)) do copy[inner] = state_for(make, inner, saved[inner]) end
  return copy
end

local function add_optimizer(reader, optimizer, saved, name_of)
  local state, of_saved = ordered.new(), saved.state or {}
  for number, param in ipairs(params_of(optimizer)) do
    local name = name_of(param, number - 1)
    local function make(key, each) return tensor_for(reader, optimizer, param, key, each) end
    if of_saved[name] ~= nil then state[name] = state_for(make, name, of_saved[name]) end
  end
  return {state = state, param_groups = saved.param_groups}
end

---Loads parts that all ranks have saved together, into parts that may be sharded or whole.
---@param state TrainState
---@param names string[]
---@param dir string
---@param place {size: integer, rank: integer, num_saved: integer} of this rank; how many ranks have saved
function sharded.load(state, names, dir, place)
  local Reader = require 'torch.distributed.checkpoint.reader'
  local modules, optimizers = found_in(state)
  if saved_rows.are_in(dir) then return saved_rows.load(modules, optimizers, dir, place) end
  local reader, name_of, states = Reader(dir), names_in(modules), {}
  local tree = require('torch.distributed.checkpoint.index').tree(reader.content, function(name, entry)
    local saved = Saved()
    saved.name, saved.entry = name, entry
    return saved
  end)
  for _, name in ipairs(names) do
    if not (modules[name] or optimizers[name]) then raise("'%s' was saved as a model or an optimizer, and is neither", name) end
    local saved = tree[name] or {}
    states[name] = modules[name] and add_module(reader, name, modules[name], saved)
      or add_optimizer(reader, optimizers[name], saved, name_of)
  end
  reader:check()
  reader:read()
  for _, name in ipairs(names) do
    if modules[name] then
      modules[name]:load_state_dict(states[name])
    else
      named_state.set(optimizers[name], states[name], name_of)
    end
  end
end

---Loads a part that was saved whole into one that is sharded.
---@param state TrainState
---@param name string
---@param saved table
function sharded.set_whole(state, name, saved)
  local modules, optimizers = found_in(state)
  if modules[name] then
    require('torch').distributed.checkpoint.state_dict.set_model_state_dict(modules[name], saved, {full_state_dict = true})
  else
    named_state.set(optimizers[name], saved, function(_, number) return number end, true)
  end
end

return sharded
