-- rtrain/torch/shard_model.lua: divides a model among the workers, for prepare_model.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local Module = require('torch.nn').Module
local shown = require 'base.shown'

local shard_model = {}

local FSDP_OPTIONS = {'wrap', 'replicas', 'mesh', 'reshard_after_forward', 'mp_policy', 'offload_policy'}

local function raise(text, ...) errors.raise('argument', 'prepare_model: ' .. text:format(...)) end

-- Models of whose rows another rank keeps a copy.
local with_replica = setmetatable({}, {__mode = 'k'})

-- Takes note of the option `replicas`.
local function keep_replicas(model, kwargs)
  local count = kwargs and kwargs.replicas
  if count == nil or count == 0 then return end
  if count ~= 1 then
    raise("replicas: 0, or 1: one other rank keeps a copy of a rank's rows, for train.elastic; got %s", shown(count))
  end
  if kwargs.mesh ~= nil then raise 'replicas: train.elastic does not heal a model with a mesh: leave out one of the two' end
  with_replica[model] = true
end

---Returns whether another rank keeps a copy of each rank's rows, so that train.elastic heals a loss.
---@param model nn.Module
---@return boolean
function shard_model.has_replica(model) return with_replica[model] == true end

local function is_module_class(value)
  while class.is_class(value) do
    if value == Module then return true end
    value = rawget(value, '__base')
  end
  return false
end

-- Returns a function that says whether a module becomes a group of its own.
local function chooser(wrap)
  if type(wrap) == 'function' then return wrap end
  local classes = is_module_class(wrap) and {wrap} or wrap
  if type(classes) ~= 'table' or #classes == 0 then
    raise('wrap: expected a class of modules, a list of them, or a function of a module, got %s', shown(wrap))
  end
  for _, each in ipairs(classes) do
    if not is_module_class(each) then raise('wrap: expected classes of modules, got %s', shown(each)) end
  end
  return function(module)
    for _, each in ipairs(classes) do
      if class.is(module, each) then return true end
    end
    return false
  end
end

-- Calls fn for each module below `module` that is chosen, inner ones first.
local function each_chosen(module, is_chosen, fn)
  local count = 0
  for _, child in ipairs(module:children()) do
    count = count + each_chosen(child, is_chosen, fn)
    if is_chosen(child) and #child:parameters() > 0 then
      fn(child)
      count = count + 1
    end
  end
  return count
end

local CONTAINERS = {'ModuleList', 'ModuleDict', 'Sequential'}

local function is_container(module)
  local nn = require('torch').nn
  for _, name in ipairs(CONTAINERS) do
    if class.is(module, nn[name]) then return true end
  end
  return false
end

-- Calls fn for the modules directly below the model, and for the items of containers in their place.
local function each_part(model, fn)
  for _, child in ipairs(model:children()) do
    if is_container(child) then
      each_part(child, fn)
    elseif #child:parameters() > 0 then
      fn(child)
    end
  end
end

---Divides the optimizer's state (stage 1) among the workers, and the gradients too (stage 2), as ZeRO: parameters are
---gathered once in a step, and whole in forward and backward.
---@param model nn.Module
---@param kwargs {zero: integer, replicas: integer|nil}
---@return nn.Module model
function shard_model.zero(model, kwargs)
  local stage = args.options(kwargs, {'zero', 'replicas'}, "prepare_model: parallel_strategy 'ddp' with zero").zero
  if stage ~= 1 and stage ~= 2 then
    raise("zero: 1 divides the optimizer's state, 2 the gradients too, got %s; parallel_strategy = 'fsdp' divides the "
      .. 'parameters too', shown(stage))
  end
  keep_replicas(model, kwargs)
  local fully_shard = require('torch.distributed.fsdp.fully_shard').fully_shard
  local options = {reshard_after_forward = false}
  if stage == 2 then each_part(model, function(part) fully_shard(part, options) end) end
  return fully_shard(model, options)
end

---Shards the model with fully_shard: first each module below it that `wrap` chooses, then the model.
---@param model nn.Module
---@param kwargs table|nil {wrap, replicas, mesh, reshard_after_forward, mp_policy, offload_policy}
---@return nn.Module model
function shard_model.fsdp(model, kwargs)
  local options = {}
  for name, value in next, args.options(kwargs, FSDP_OPTIONS, "prepare_model: parallel_strategy 'fsdp'") do
    options[name] = value
  end
  local wrap = options.wrap
  options.wrap, options.replicas = nil, nil
  keep_replicas(model, kwargs)
  local fully_shard = require('torch.distributed.fsdp.fully_shard').fully_shard
  if wrap ~= nil and each_chosen(model, chooser(wrap), function(child) fully_shard(child, options) end) == 0 then
    raise('wrap chooses none of the modules below the model: %s', shown(wrap))
  end
  return fully_shard(model, options)
end

return shard_model
