-- torch/distributed/checkpoint/state_dict.lua: torch.distributed.checkpoint.state_dict: state dicts of models that may be
-- sharded, and of their optimizers, by the names of parameters.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local groups = require 'torch.distributed.groups'
local named_state = require 'torch.distributed.checkpoint.named_state'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

local GET_OPTIONS = {'full_state_dict', 'cpu_offload'}
local OWNER = 'checkpoint.state_dict.'

local state_dict = {}

-- Returns the model without DistributedDataParallel.
local function bare(owner, model)
  if not class.is(model, torch.nn.Module) then
    errors.raise('argument', ('%s: model: expected a module, got a %s'):format(owner, type(model)))
  end
  return class.is(model, require 'torch.nn.parallel.distributed') and model.module or model
end

local function names_in(model)
  local names = {}
  for name, param in model:named_parameters() do names[param] = name end
  return function(param)
    if names[param] then return names[param] end
    errors.raise('argument', OWNER .. "the optimizer has a parameter that is not one of the model's")
  end
end

local function list_of(owner, optimizers)
  local list = class.of(optimizers) and {optimizers} or optimizers
  local Optimizer = require('torch.optim.optimizer').Optimizer
  for _, each in ipairs(type(list) == 'table' and list or {false}) do
    if not class.is(each, Optimizer) then
      errors.raise('argument', owner .. ': optimizers: expected an optimizer or a list of them')
    end
  end
  return list
end

-- Returns a copy of the state with fn(tensor) in place of each tensor.
local function mapped(state, fn)
  if torch.is_tensor(state) then return fn(state) end
  if type(state) ~= 'table' or state == torch.none then return state end
  local copy = ordered.is(state) and ordered.new() or setmetatable({}, getmetatable(state))
  for _, key in ipairs(ordered.keys_of(state)) do copy[key] = mapped(state[key], fn) end
  return copy
end

-- Returns the state as the options want it. With full_state_dict and cpu_offload only rank 0 keeps it.
local function collected(state, options)
  if not (options.full_state_dict or options.cpu_offload) then return state end
  local keeps = not (options.full_state_dict and options.cpu_offload and groups.is_initialized() and groups.get_rank() > 0)
  local moved = mapped(state, function(tensor)
    local shard = shards.of(tensor)
    if shard and options.full_state_dict then tensor = shards.full_tensor(tensor) end
    if not keeps then return torch.none end
    if not options.cpu_offload then return tensor end
    local copy = tensor:detach():to{device = 'cpu', copy = true}
    if shard and not options.full_state_dict then shards.add(copy, shard) end
    return copy
  end)
  return keeps and moved or ordered.new()
end

---Returns the state dict of a model: its state_dict without DistributedDataParallel's prefix. Of a sharded parameter it
---has this rank's rows; checkpoint.save and load know that.
---@param model nn.Module
---@param options? {full_state_dict: boolean, cpu_offload: boolean} full_state_dict: whole tensors, gathered from the
---  ranks, which all call it; cpu_offload: copies on the CPU, with full_state_dict on rank 0 alone: other ranks get an
---  empty map
---@return table<string, torch.Tensor> state base.ordered map
---PyTorch equivalent: torch.distributed.checkpoint.state_dict.get_model_state_dict.
---
---```lua
---local torch = require 'torch'
---local state_dict = torch.distributed.checkpoint.state_dict
---local model = torch.nn.Linear(2, 1)
---local whole = state_dict.get_model_state_dict(model, {full_state_dict = true, cpu_offload = true})
---assert(torch.equal(whole.weight, model.weight))
---```
function state_dict.get_model_state_dict(model, options)
  local owner = OWNER .. 'get_model_state_dict'
  options = args.options(options, GET_OPTIONS, owner)
  return collected(bare(owner, model):state_dict(), options)
end

---Returns the state of a model's optimizers, by the names of the parameters: {state = {name = …}, param_groups = …}. An
---optimizer that has taken no step gets its state first, so that checkpoint.load can fill it.
---@param model nn.Module
---@param optimizers optim.Optimizer|optim.Optimizer[]
---@param options? {full_state_dict: boolean, cpu_offload: boolean} as of get_model_state_dict
---@return table state base.ordered map
---Errors: 'argument' for a parameter that is not the model's. PyTorch equivalent:
---torch.distributed.checkpoint.state_dict.get_optimizer_state_dict.
---
---```lua
---local torch = require 'torch'
---local state_dict = torch.distributed.checkpoint.state_dict
---local model = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.1})
---local state = state_dict.get_optimizer_state_dict(model, optimizer)
---assert(state.state.weight.exp_avg:sum():item() == 0 and state.param_groups[1].params[1] == 'weight')
---```
function state_dict.get_optimizer_state_dict(model, optimizers, options)
  local owner = OWNER .. 'get_optimizer_state_dict'
  options = args.options(options, GET_OPTIONS, owner)
  local name_of = names_in(bare(owner, model))
  local state, param_groups = ordered.new(), {}
  for _, optimizer in ipairs(list_of(owner, optimizers)) do
    named_state.make(optimizer)
    local own = named_state.get(optimizer, name_of)
    for name, of_param in ordered.items(own.state) do state[name] = of_param end
    for _, group in ipairs(own.param_groups) do param_groups[#param_groups + 1] = group end
  end
  return collected(ordered.new{{'state', state}, {'param_groups', torch.list(param_groups)}}, options)
end

---Returns the state dicts of a model and of its optimizers.
---@param model nn.Module
---@param optimizers optim.Optimizer|optim.Optimizer[]
---@param options? {full_state_dict: boolean, cpu_offload: boolean}
---@return table model_state, table optimizer_state
---PyTorch equivalent: torch.distributed.checkpoint.state_dict.get_state_dict.
---
---```lua
---local torch = require 'torch'
---local dcp = torch.distributed.checkpoint
---local folder = os.tmpname()
---os.remove(folder)
---local model = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.1})
---local of_model, of_optimizer = dcp.state_dict.get_state_dict(model, optimizer)
---dcp.save({model = of_model, optimizer = of_optimizer}, {checkpoint_id = folder})
---
---local other = torch.nn.Linear(2, 1)
---local new = torch.optim.Adam(other:parameters(), {lr = 1})
---local state = {}
---state.model, state.optimizer = dcp.state_dict.get_state_dict(other, new)
---dcp.load(state, {checkpoint_id = folder})
---dcp.state_dict.set_state_dict(other, new, {model_state_dict = state.model, optim_state_dict = state.optimizer})
---assert(torch.equal(other.weight, model.weight) and new.param_groups[1].lr == 0.1)
---require('base._system').remove_tree(folder)
---```
function state_dict.get_state_dict(model, optimizers, options)
  return state_dict.get_model_state_dict(model, options), state_dict.get_optimizer_state_dict(model, optimizers, options)
end

-- Returns the state dict with this rank's rows of the sharded parameters.
local function own_rows(model, state)
  local rows, params = ordered.new(), {}
  for name, param in model:named_parameters{remove_duplicate = false} do params[name] = param end
  for _, name in ipairs(ordered.keys_of(state)) do
    local shard = params[name] and shards.of(params[name])
    local value = state[name]
    local fits = shard and torch.is_tensor(value) and table.concat(value.shape, ' ') == table.concat(shard.sizes, ' ')
    rows[name] = fits and value:narrow(0, shard.begin, shard.count) or value
  end
  return rows
end

---Loads a result of get_model_state_dict into a model.
---@param model nn.Module
---@param model_state_dict table
---@param options? {full_state_dict: boolean, strict: boolean} full_state_dict: the tensors are whole, on every rank, and
---  each takes its rows; strict: as of load_state_dict, default true
---@return {missing_keys: string[], unexpected_keys: string[]} result
---PyTorch equivalent: torch.distributed.checkpoint.state_dict.set_model_state_dict.
---
---```lua
---local torch = require 'torch'
---local model = torch.nn.Linear(2, 1)
---local state = {weight = torch.ones(1, 2), bias = torch.zeros(1)}
---torch.distributed.checkpoint.state_dict.set_model_state_dict(model, state, {full_state_dict = true})
---assert(model(torch.ones(1, 2)):item() == 2)
---```
function state_dict.set_model_state_dict(model, model_state_dict, options)
  local owner = OWNER .. 'set_model_state_dict'
  options = args.options(options, {'full_state_dict', 'strict'}, owner)
  model = bare(owner, model)
  if options.full_state_dict then model_state_dict = own_rows(model, model_state_dict) end
  return model:load_state_dict(model_state_dict, {strict = options.strict ~= false})
end

---Loads a result of get_optimizer_state_dict into a model's optimizers.
---@param model nn.Module
---@param optimizers optim.Optimizer|optim.Optimizer[]
---@param optim_state_dict table
---@param options? {full_state_dict: boolean}
---PyTorch equivalent: torch.distributed.checkpoint.state_dict.set_optimizer_state_dict.
---
---```lua
---local torch = require 'torch'
---local state_dict = torch.distributed.checkpoint.state_dict
---local model = torch.nn.Linear(2, 1)
---local first = torch.optim.Adam(model:parameters(), {lr = 0.1})
---local second = torch.optim.Adam(model:parameters(), {lr = 1})
---state_dict.set_optimizer_state_dict(model, second, state_dict.get_optimizer_state_dict(model, first))
---assert(second.param_groups[1].lr == 0.1)
---```
function state_dict.set_optimizer_state_dict(model, optimizers, optim_state_dict, options)
  local owner = OWNER .. 'set_optimizer_state_dict'
  options = args.options(options, {'full_state_dict'}, owner)
  local name_of = names_in(bare(owner, model))
  for _, optimizer in ipairs(list_of(owner, optimizers)) do
    named_state.set(optimizer, optim_state_dict, name_of, options.full_state_dict)
  end
end

---Loads the state dicts of get_state_dict.
---@param model nn.Module
---@param optimizers optim.Optimizer|optim.Optimizer[]
---@param options {model_state_dict: table, optim_state_dict: table, full_state_dict: boolean|nil, strict: boolean|nil}
---@return {missing_keys: string[], unexpected_keys: string[]} result of the model
---PyTorch equivalent: torch.distributed.checkpoint.state_dict.set_state_dict.
function state_dict.set_state_dict(model, optimizers, options)
  options = args.options(options, {'model_state_dict', 'optim_state_dict', 'full_state_dict', 'strict'},
    OWNER .. 'set_state_dict')
  local full = options.full_state_dict
  local result = state_dict.set_model_state_dict(model, options.model_state_dict,
    {full_state_dict = full, strict = options.strict})
  state_dict.set_optimizer_state_dict(model, optimizers, options.optim_state_dict, {full_state_dict = full})
  return result
end

return require 'base.namespace'('torch.distributed.checkpoint.state_dict', {
  absent = {StateDictOptions = "give its options to the functions: {full_state_dict = true, cpu_offload = true}"},
}, state_dict)
