-- torch/distributed/fsdp/fully_shard.lua: fully_shard, and the methods of modules that it has sharded.

local all_gather_object = require('torch.distributed.objects').all_gather_object
local args = require 'base.args'
local class = require 'base.class'
local default_group = require 'torch.distributed.default_group'
local DeviceMesh = require('torch.distributed.device_mesh').DeviceMesh
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'
local hooks = require 'torch.distributed.fsdp.hooks'
local Module = require('torch.nn').Module
local ParameterGroup = require 'torch.distributed.fsdp.parameter_group'
local pass = require 'torch.distributed.fsdp.pass'
local policies = require 'torch.distributed.fsdp.policies'
local shards = require 'torch.tensor.shards'
local shown = require 'base.shown'
local torch = require 'torch'

local fsdp = {}

local function raise(text, ...) errors.raise('argument', 'fully_shard: ' .. text:format(...)) end

-- Sharded module → its group.
local group_of = setmetatable({}, {__mode = 'k'})
-- The number of collectives in fully_shard.
local num_collectives = 0

-- Returns the groups of the module and of those below it, in the order of the modules.
local function groups_below(module)
  local groups = {}
  for _, each in ipairs(module:modules()) do groups[#groups + 1] = group_of[each] end
  return groups
end

-- Calls fn(name, module) for the module and those below it, but for those that are sharded themselves.
local function each_own_module(module, fn)
  local seen = {}
  local function walk(prefix, each)
    if seen[each] then return end
    seen[each] = true
    fn(prefix, each)
    for name, child in each:_own '_modules' do
      if not group_of[child] then walk(prefix .. name .. '.', child) end
    end
  end
  walk('', module)
end

local function check_param(name, param, first)
  local before = shards.name_of_replaced(param)
  if before then
    raise("'%s' is the same parameter as '%s' of a module that was sharded before: shard the module that has both at once, "
      .. 'and the inner one not by itself', name, before)
  end
  if shards.of(param) then raise("'%s' is sharded already", name) end
  if #param.shape == 0 then raise("'%s' has no dimension 0 to divide: make it a tensor of one element", name) end
  if first and (param.dtype ~= first.param.dtype) then
    raise("'%s' is %s and '%s' is %s: the parameters of one call have one dtype", name, param.dtype, first.name,
      first.param.dtype)
  end
end

-- Returns a list of {name, places, param} for each parameter that the call shards.
local function parameters_of(module, ignored)
  local found, by_param = {}, {}
  for _, param in ipairs(ignored or {}) do by_param[param] = false end
  each_own_module(module, function(prefix, each)
    for name, param in each:_own '_parameters' do
      local entry = by_param[param]
      if entry == nil then
        check_param(prefix .. name, param, found[1])
        entry = {name = prefix .. name, places = {}, param = param}
        by_param[param] = entry
        found[#found + 1] = entry
      end
      if entry then entry.places[#entry.places + 1] = {each, name} end
    end
  end)
  return found
end

-- Checks that the ranks shard the same parameters. A rank that replaces a lost one asks nobody.
local function check_ranks(found, process_group)
  if default_group.is_joining() then return end
  local before = default_group.num_collectives()
  local texts, gathered = {}, {}
  for i, each in ipairs(found) do
    texts[i] = ('%s %s %s'):format(each.name, each.param.dtype, tostring(each.param.shape))
  end
  local own = table.concat(texts, ', ')
  all_gather_object(gathered, {text = own, count = #found}, process_group)
  num_collectives = num_collectives + default_group.num_collectives() - before
  for rank, other in ipairs(gathered) do
    if other.text ~= own then
      raise('rank %d of the group shards %d other parameters than this rank, which has %d: %s: every rank calls fully_shard '
        .. 'for the same modules in the same order', rank - 1, other.count, #found, own)
    end
  end
end

-- Returns the group; nil for that of all ranks, so that groups can be compared.
local function unless_world(group)
  if group ~= engine.joined().world() then return group end
  return nil
end

-- Returns the process groups of a mesh: that of the ranks which divide the parameters, and that of the replicas.
local function groups_of_mesh(mesh)
  if mesh == nil then return nil, nil end
  if not class.is(mesh, DeviceMesh) then
    raise('mesh: expected a result of torch.distributed.init_device_mesh, got %s', shown(mesh))
  end
  if mesh.ndim == 1 then return unless_world(mesh:get_group(0)), nil end
  if mesh.ndim == 2 then return unless_world(mesh:get_group(1)), mesh:get_group(0) end
  raise('mesh: %d dimensions: one (all ranks divide the parameters), or two: replicas, and the ranks that divide them',
    mesh.ndim)
end

local METHODS = class 'FSDPModule'

---What fully_shard makes of a module: the module itself, with these methods.
---PyTorch equivalent: torch.distributed.fsdp.FSDPModule.
---@class torch.distributed.fsdp.FSDPModule: nn.Module
fsdp.FSDPModule = METHODS

local function each_group(module, recurse, fn)
  for _, each in ipairs(recurse == false and {module} or module:modules()) do
    if group_of[each] then fn(group_of[each]) end
  end
end

local function recurse_of(name, options) return args.options(options, {'recurse'}, name).recurse end

---Gathers the module's own parameters, so that they are whole outside of its forward, until reshard is called. Every
---rank calls it. A second call does nothing.
---@return boolean gathered false: an earlier call has done it
function METHODS:unshard()
  local group = group_of[self]
  if group.is_unsharded then return false end
  pass.publish{group}
  group:show()
  group.is_unsharded = true
  return true
end

---Ends unshard: the parameters are the rows of this rank again. Frees parameters that are kept after forward.
function METHODS:reshard()
  local group = group_of[self]
  if not group.is_unsharded then return group:free() end
  group.is_unsharded = false
  group:hide(false)
  pass.fence{group}
end

---Sets whether backward passes divide the gradients among the ranks. Without it they accumulate whole gradients on each
---rank; the next pass with it exchanges the sum.
---@param value boolean
---@param options? {recurse: boolean} recurse = true: also in the modules below
function METHODS:set_requires_gradient_sync(value, options)
  each_group(self, recurse_of('set_requires_gradient_sync', options), function(group)
    group.reduces, group.all_reduces = value, value
  end)
end

---Sets whether backward passes add up the gradients of the replicas of a mesh of two dimensions.
---@param value boolean
---@param options? {recurse: boolean}
function METHODS:set_requires_all_reduce(value, options)
  each_group(self, recurse_of('set_requires_all_reduce', options), function(group) group.all_reduces = value end)
end

---Sets whether the gathered parameters are freed after forward.
---@param value boolean
---@param options? {recurse: boolean}
function METHODS:set_reshard_after_forward(value, options)
  each_group(self, recurse_of('set_reshard_after_forward', options), function(group) group.reshard_after_forward = value end)
end

---Sets whether the gathered parameters are freed after backward: with false the next forward finds them there, if no
---optimizer has changed the shards.
---@param value boolean
---@param options? {recurse: boolean}
function METHODS:set_reshard_after_backward(value, options)
  each_group(self, recurse_of('set_reshard_after_backward', options), function(group)
    group.keeps_after_backward = not value
  end)
end

-- Returns the groups of a list of sharded modules.
local function groups_of_list(name, modules)
  if type(modules) ~= 'table' or class.is(modules, Module) then
    errors.raise('argument', ('%s: expected a list of modules, got %s'):format(name, shown(modules)))
  end
  local groups = {}
  for i, each in ipairs(modules) do
    groups[i] = group_of[each]
    if not groups[i] then
      errors.raise('argument', ('%s: module %d was not sharded by fully_shard: %s'):format(name, i, shown(each)))
    end
  end
  return groups
end

---Sets which modules' parameters are gathered ahead while this module is in its forward: more than one, for more memory
---and fewer waits. Without it that is the module that followed in the last pass. Every rank calls it. Where ranks share the
---parameters' memory nothing is gathered, and it changes nothing.
---@param modules torch.distributed.fsdp.FSDPModule[] in the order in which they run
---Errors: 'argument' for a module that is not sharded. PyTorch equivalent: FSDPModule.set_modules_to_forward_prefetch.
---
---```lua
---local torch = require 'torch'
---local dist, nn = torch.distributed, torch.nn
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
---for i = 1, 3 do dist.fsdp.fully_shard(model[i]) end
---dist.fsdp.fully_shard(model)
---model[1]:set_modules_to_forward_prefetch{model[2], model[3]}
---model[3]:set_modules_to_backward_prefetch{model[2], model[1]}
---model(torch.ones(1, 2)):sum():backward()
---dist.destroy_process_group()
---```
function METHODS:set_modules_to_forward_prefetch(modules)
  group_of[self].forward_prefetch = groups_of_list('set_modules_to_forward_prefetch', modules)
end

---Sets which modules' parameters are gathered ahead while this module is in its backward. Without it that is the module
---that came before it in forward. See set_modules_to_forward_prefetch.
---@param modules torch.distributed.fsdp.FSDPModule[] in the order in which their backward runs
---Errors: 'argument' for a module that is not sharded. PyTorch equivalent: FSDPModule.set_modules_to_backward_prefetch.
function METHODS:set_modules_to_backward_prefetch(modules)
  group_of[self].backward_prefetch = groups_of_list('set_modules_to_backward_prefetch', modules)
end

---Sets by what the sums of gradients over all ranks are divided, instead of the number of ranks.
---@param factor number
function METHODS:set_gradient_divide_factor(factor)
  if type(factor) ~= 'number' or factor ~= factor or factor <= 0 then
    errors.raise('argument', ('set_gradient_divide_factor: expected a number above 0, got %s'):format(shown(factor)))
  end
  group_of[self].divides_by = factor
end

-- Class → the class of its sharded instances.
local sharded_class = setmetatable({}, {__mode = 'k'})

local function class_with_methods(of)
  if sharded_class[of] then return sharded_class[of] end
  local new = class.new('FSDP' .. of.__name, of)
  for name, method in next, METHODS do
    if type(method) == 'function' and name:sub(1, 2) ~= '__' then rawset(new, name, method) end
  end
  sharded_class[of] = new
  return new
end

local function check_policy(name, value, wanted, default)
  if value == nil then return default() end
  if class.is(value, wanted) then return value end
  raise('%s: expected a %s, got %s', name, wanted.__name, shown(value))
end

local OPTIONS = {'mesh', 'reshard_after_forward', 'shard_placement_fn', 'mp_policy', 'offload_policy', 'ignored_params'}

local function check_options(options)
  options = args.options(options, OPTIONS, 'fully_shard')
  if options.shard_placement_fn ~= nil then
    raise 'shard_placement_fn is not in this version: parameters are divided along dimension 0'
  end
  if options.ignored_params ~= nil and type(options.ignored_params) ~= 'table' then
    raise('ignored_params: expected a list of parameters, got %s', shown(options.ignored_params))
  end
  if options.reshard_after_forward ~= nil and type(options.reshard_after_forward) ~= 'boolean' then
    raise('reshard_after_forward: expected true or false, got %s', shown(options.reshard_after_forward))
  end
  return options
end

local function device_of(found)
  local device = found[1].param.device
  for _, each in ipairs(found) do
    if each.param.device ~= device then
      raise("'%s' is on %s and '%s' on %s: move the module to one device", each.name, tostring(each.param.device),
        found[1].name, tostring(device))
    end
  end
  return device == 'meta' and torch.device 'cpu' or device
end

---Shards a module: its parameters, but for those of modules below it that are sharded already, become one group. Each
---rank keeps its part of the rows of each parameter, of the gradient, and so of the optimizer's state. In the module's
---forward and backward the parameters are whole. Call it for the inner modules first, then for the model, and make the
---optimizer afterwards: its parameters are the shards.
---
---On one node the parameters lie in memory that the ranks share: nothing is gathered, and a rank's step is what the
---others see. Elsewhere a group is gathered before it is used, and freed afterwards. Options: mesh (a result of
---init_device_mesh; with two dimensions the first one counts replicas; default: all ranks), reshard_after_forward
---(default: true for modules in sharded modules, false for the outermost one, whose backward begins at once), mp_policy (a
---MixedPrecisionPolicy), offload_policy (a CPUOffloadPolicy), ignored_params (a list of parameters that stay whole: their
---gradients are not exchanged).
---@param module nn.Module
---@param options? table
---@return torch.distributed.fsdp.FSDPModule module the same module
---Errors: 'argument' for ranks that shard different parameters, for parameters of several dtypes, and for a parameter
---that is shared with a module which was sharded by itself. PyTorch equivalent: torch.distributed.fsdp.fully_shard.
---
---```lua
---local torch = require 'torch'
---local dist, nn = torch.distributed, torch.nn
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
---for _, layer in ipairs{model[1], model[3]} do dist.fsdp.fully_shard(layer) end
---dist.fsdp.fully_shard(model)
---local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
---model(torch.ones(1, 4)):sum():backward()
---optimizer:step()
---dist.destroy_process_group()
---```
function fsdp.fully_shard(module, options)
  if not class.is(module, Module) then raise('expected a module, got %s', shown(module)) end
  if group_of[module] then raise('this module is sharded already') end
  options = check_options(options)
  local found = parameters_of(module, options.ignored_params)
  local process_group, replicate_group = groups_of_mesh(options.mesh)
  check_ranks(found, process_group)
  local offload = check_policy('offload_policy', options.offload_policy, policies.OffloadPolicy, policies.OffloadPolicy)
  local group = ParameterGroup(found, {
    process_group = process_group,
    replicate_group = replicate_group,
    reshard_after_forward = options.reshard_after_forward,
    mp_policy = check_policy('mp_policy', options.mp_policy, policies.MixedPrecisionPolicy, policies.MixedPrecisionPolicy),
    offload = class.is(offload, policies.CPUOffloadPolicy) and offload or nil,
    device = found[1] and device_of(found) or torch.device 'cpu',
  })
  group_of[module] = group
  hooks.add(module, group, function() return groups_below(module) end)
  return setmetatable(module, class_with_methods(getmetatable(module)))
end

---Returns how many collectives this rank has called so far to shard modules.
---@return integer
function fsdp.num_collectives() return num_collectives end

---Ends the passes of all sharded modules, and forgets their memory: it is made again at the next forward pass, with the
---ranks of another attempt (train.elastic).
function fsdp.disconnect_all()
  pass.reset()
  for _, group in next, group_of do group:disconnect() end  -- in any order: nothing is sent
end

return fsdp
