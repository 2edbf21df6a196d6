-- torch/nn/parallel/distributed.lua: DistributedDataParallel: a module whose gradients are the mean over all ranks.

local args = require 'base.args'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local default_group = require 'torch.distributed.default_group'
local errors = require 'base.errors'
local Module = require('torch.nn').Module
local ordered = require 'base.ordered'
local parameter = require 'torch.nn.parameter'
local show = require 'base.shown'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

-- Options that are passed to the reducer.
local OPTIONS = {
  'find_unused_parameters', 'gradient_as_bucket_view', 'static_graph', 'broadcast_buffers', 'bucket_cap_mb', 'process_group'}
-- Further options of PyTorch: each function returns an error in the value, or nil.
local OTHERS = {
  device_ids = function(value, device)
    if type(value) ~= 'table' or #value ~= 1 then return 'expected a list of one device: a rank computes on one' end
    local index = tostring(value[1]):match '%d+$'
    if device.type ~= 'cpu' and tonumber(index) == device.index then return nil end
    return ('the model is on %s'):format(tostring(device))
  end,
  output_device = function(value, device)
    if tostring(value) ~= tostring(device) and tonumber(value) ~= device.index then
      return ('the model is on %s'):format(tostring(device))
    end
  end,
  dim = function(value) return value ~= 0 and 'batches are along dim 0' or nil end,
  init_sync = function(value) return value ~= true and 'all ranks begin with the values of rank 0' or nil end,
  check_reduction = function() return nil end,
}

local NAMES = {unpack(OPTIONS)}
for _, name in ipairs(ordered.keys_of(OTHERS)) do NAMES[#NAMES + 1] = name end

local function check_others(options, device)
  for _, name in ipairs(NAMES) do
    local problem = OTHERS[name] and options[name] ~= nil and OTHERS[name](options[name], device)
    if problem then
      errors.raise('argument', ('DistributedDataParallel: %s = %s: %s'):format(name, show(options[name]), problem))
    end
  end
end

-- Options that virtual ranks refuse, with the values that they take and the reason.
local VIRTUAL = {
  {'find_unused_parameters', false, 'the ranks would exchange after each batch which parameters it used'},
  {'static_graph', false, 'the first step of a static graph exchanges gradients in another order'},
  {'broadcast_buffers', true, 'virtual rank 0 has the buffers'},
}

-- Returns the number of virtual ranks.
local function check_virtual(options)
  local ranks = virtual_ranks.get()
  if not ranks then return 0 end
  for _, refused in ipairs(VIRTUAL) do
    local name, allowed, reason = unpack(refused)
    if options[name] ~= nil and options[name] ~= allowed then
      errors.raise('unsupported', ('DistributedDataParallel: %s = %s with virtual_workers: %s'):format(name,
        show(options[name]), reason))
    end
  end
  if options.process_group then
    errors.raise('unsupported', 'DistributedDataParallel: a process_group with virtual_workers: they are of all ranks')
  end
  return ranks.count
end

---@class GradBucket
---@field index fun(self: GradBucket): integer from 0
---@field is_last fun(self: GradBucket): boolean
---@field buffer fun(self: GradBucket): torch.Tensor of all its gradients, concatenated
---@field set_buffer fun(self: GradBucket, buffer: torch.Tensor)
---@field gradients fun(self: GradBucket): torch.Tensor[] views into the buffer
---@field parameters fun(self: GradBucket): torch.Tensor[] in the order of the gradients

---Wraps a model: the module itself is `.module`, and `parameters`, `state_dict`, `train`, … treat it as a child of the
---wrapper, as in PyTorch. All ranks start with rank 0's parameters and buffers.
---PyTorch equivalent: torch.nn.parallel.DistributedDataParallel (Li et al. 2020).
---@class DistributedDataParallel: nn.Module
---@field module nn.Module
local DistributedDataParallel = Module:extend('DistributedDataParallel')
DistributedDataParallel._is_wrapper = true  -- errors name the model's modules without the wrapper

-- Existing instances → their number, in the order of creation, which is the same on every rank.
local made, num_made = setmetatable({}, {__mode = 'k'}), 0
-- Number of collectives during their creation.
local num_collectives = 0

local NAMES_OF_HOOKS = "'allreduce', 'fp16_compress' or 'bf16_compress'"

local function check_hook(state, hook)
  local object = getmetatable(hook)
  if type(hook) == 'function' or type(object) == 'table' and object.__call then return end
  local swapped = type(state) == 'function' and hook == nil and '; the state comes first: register_comm_hook(nil, hook)' or ''
  errors.raise('argument', ('DistributedDataParallel:register_comm_hook: expected a function as the hook, got %s, or one of '
    .. 'the names %s%s'):format(show(hook), NAMES_OF_HOOKS, swapped))
end

-- Adds a hook by its name, or as a function.
local function add_hook(reducer, given)
  reducer:register_comm_hook(given.hook and require 'torch.nn.parallel.comm_hook'(given.state, given.hook) or given.state)
end

-- Makes the reducer, together with the other ranks.
local function build(self)
  local before = default_group.num_collectives()
  default_group.ensure()
  self._reduced[2].shares = self:is_virtual() and virtual_ranks.get():shares() or nil
  self._reducer = require('torch._C').distributed.Reducer(unpack(self._reduced))
  if self._comm_hook then add_hook(self._reducer, self._comm_hook) end
  num_collectives = num_collectives + default_group.num_collectives() - before
end

---@param model nn.Module the same on every rank, except for its values
---@param options? table device_ids ({LOCAL_RANK}: the model is on that device), find_unused_parameters = false,
---  gradient_as_bucket_view = true (PyTorch: false), static_graph = false, broadcast_buffers = true, bucket_cap_mb = 25
---  (MiB), process_group (a result of torch.distributed.new_group; default: all ranks)
function DistributedDataParallel:init(model, options)
  if not class.is(model, Module) then
    errors.raise('argument', ('DistributedDataParallel: expected a model, got %s'):format(show(model)))
  end
  options = args.options(options, NAMES, 'DistributedDataParallel')
  self.module = model
  local given, params, names, frozen = {}, {}, {}, {}
  for _, name in ipairs(OPTIONS) do given[name] = options[name] end
  for name, param in model:named_parameters() do
    if param.requires_grad then
      params[#params + 1], names[#names + 1] = param, name
    else
      frozen[#frozen + 1] = param
    end
  end
  if #params == 0 then
    errors.raise('argument', 'DistributedDataParallel: the model has no parameter that requires a gradient')
  end
  check_others(options, params[1].device)
  given.names, given.buffers, given.frozen, given.num_virtual = names, model:buffers(), frozen, check_virtual(options)
  self._sync_gradients = true
  self._reduced = {params, given}
  num_made = num_made + 1
  made[self] = num_made
  if not default_group.is_joining() then build(self) end  -- else the others have reducers: see rebuild_all
  if options.gradient_as_bucket_view == false then return end
  for _, param in ipairs(params) do parameter.fix_grad(param) end
end

local function counted(...) return select('#', ...), ... end

-- The gradient accumulators remember the stream that was current when the reducer was made, and a CUDA graph cannot
-- contain work of the default stream. During a warm-up the side stream is current, on all ranks.
local function prepare_capture(self)
  local backend = require('torch.distributed').get_backend(self._reduced[2].process_group)
  if not capture.current:add_ddp(backend, self) then return end
  if self._comm_hook and self._comm_hook.hook then
    capture.current:refuse('a communication hook that is a function of Lua: a graph repeats what the device does, and would '
      .. 'not call it: use ' .. NAMES_OF_HOOKS)
  end
  if self._is_capturable or capture.current.refusal or capture.is_capturing() then return end
  self._is_capturable = true
  self._reducer:release()
  self._reducer = require('torch._C').distributed.Reducer(unpack(self._reduced))
  if self._comm_hook then add_hook(self._reducer, self._comm_hook) end
end

-- Passes several outputs through the reducer as one list.
local function finish(self, sync, count, ...)
  if not sync or count == 0 then
    self._reducer:after_forward(nil, sync)
    return ...
  end
  if count == 1 then return self._reducer:after_forward((...), sync) end
  return unpack(self._reducer:after_forward({...}, sync), 1, count)
end

-- Returns the tensors that the beginning of a virtual rank's forward may change: buffers, and in the first batch of a step
-- the gradients that it puts aside.
local function changed_by_forward(self)
  local tensors = {}
  self:_add_buffers(tensors)
  local part = virtual_ranks.part()
  if part ~= 'first' and part ~= 'only' then return tensors end
  for _, param in ipairs(self._reduced[1]) do tensors[#tensors + 1] = param.grad end
  return tensors
end

function DistributedDataParallel:forward(...)
  if not self._reducer then
    errors.raise('user', 'a forward of DistributedDataParallel before train.elastic: this rank has taken the place of a lost '
      .. 'one, and the others have done that forward: call it in the function that train.elastic is given')
  end
  if capture.current then prepare_capture(self) end
  local sync = self._sync_gradients and torch.is_grad_enabled()
  if not self:is_virtual() then
    self._reducer:before_forward(sync)
  elseif capture.current then
    require('torch._C').recording.effect('DistributedDataParallel: the forward of a virtual rank begins, '
      .. (sync and 'sync' or 'no_sync'), function() self:_begin_virtual(sync) end, changed_by_forward(self))
  else
    self:_begin_virtual(sync)
  end
  return finish(self, sync, counted(self.module(...)))
end

---Appends its buffers to a list.
---@param list torch.Tensor[]
function DistributedDataParallel:_add_buffers(list)
  for _, buffer in ipairs(self._reduced[2].buffers) do list[#list + 1] = buffer end
end

---Returns whether gradients are those of virtual ranks.
---@return boolean
function DistributedDataParallel:is_virtual() return self._reduced[2].num_virtual > 0 end

local function copies(tensors)
  local out = {}
  torch.no_grad(function()
    for i, tensor in ipairs(tensors) do out[i] = tensor:clone() end
  end)
  return out
end

local function put_back(tensors, values)
  torch.no_grad(function()
    for i, tensor in ipairs(tensors) do tensor:copy_(values[i]) end
  end)
end

-- All virtual ranks of a step begin with the same buffers, and those of virtual rank 0 stay.
function DistributedDataParallel:_begin_virtual(sync)
  local ranks = virtual_ranks.get()
  local rank = ranks:check_forward()
  self._reducer:before_forward(sync, rank)
  if rank == nil or self._start or not self.module.training then return end
  local first, last = ranks:range()
  if rank == first and last > first then self._start = copies(self._reduced[2].buffers) end
end

---The batch of a virtual rank ends. Raises code 'user' if gradients of it are left that were not exchanged.
---@param is_left boolean|nil whether the loop was left instead
function DistributedDataParallel:_end_virtual(is_left)
  local ranks, buffers = virtual_ranks.get(), self._reduced[2].buffers
  if self._start and not is_left then
    if ranks:rank() == 0 then self._kept = copies(buffers) end
    put_back(buffers, self._start)
  end
  if self._reducer then self._reducer:end_virtual_rank(is_left == true) end
end

---All virtual ranks of a step have had their batches: the model gets the buffers of the first one.
function DistributedDataParallel:_finish_virtual()
  if self._kept then put_back(self._reduced[2].buffers, self._kept) end
  self._start, self._kept = nil, nil
end

---The same, and sends them to the other ranks. A collective.
function DistributedDataParallel:_share_buffers()
  self:_finish_virtual()
  self._reducer:share_buffers()
end

function DistributedDataParallel:_note_zeroed(params)
  if self._reducer then self._reducer:note_zeroed(params) end
end

local function restore_and_return(self, before, ok, ...)
  self._sync_gradients = before
  if not ok then error((...), 0) end
  return ...
end

---Calls the function; its backward passes only accumulate this rank's gradients. The first backward pass after it
---synchronizes the sum.
---@param fn fun(): any
---@return any ... the results of the function
function DistributedDataParallel:no_sync(fn)
  local before = self._sync_gradients
  self._sync_gradients = false
  return restore_and_return(self, before, xpcall(fn, errors.wrap))
end

---Sets how gradients are exchanged. Call it once, before the first backward, with a name ('allreduce', 'fp16_compress'
---or 'bf16_compress', which run in C++), or with PyTorch's `(state, hook)`: a function that is called with the state
---and each bucket whose gradients are ready, and returns a Future of the tensor that replaces `bucket:buffer()`, or
---that tensor. Gradients are not yet divided by the number of ranks. torch.distributed.algorithms.ddp_comm_hooks has
---hooks, among them PowerSGD.
---
---A bucket has `index()` (from 0), `is_last()`, `buffer()` (all its gradients, concatenated), `set_buffer(tensor)`,
---`gradients()` (views into the buffer) and `parameters()`. backward raises the errors of a hook.
---@param state any first argument of the hook; or the name
---@param hook? fun(state: any, bucket: GradBucket): Future
---Raises code 'argument' for anything else, and for a second hook.
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local layer = torch.nn.Linear(2, 1)
---local model = torch.nn.parallel.DistributedDataParallel(layer)
---model:register_comm_hook({scale = 0.5}, function(state, bucket)
---  local work = dist.all_reduce(bucket:buffer(), {async_op = true})
---  return work:get_future():then_(function(fut)
---    return fut:value()[1] * (state.scale / dist.get_world_size())
---  end)
---end)
---model(torch.ones(1, 2)):sum():backward()
---assert(layer.weight.grad:sum():item() == 1)
---dist.destroy_process_group()
---```
function DistributedDataParallel:register_comm_hook(state, hook)
  if type(state) ~= 'string' or hook ~= nil then check_hook(state, hook) end
  if self:is_virtual() then
    errors.raise('unsupported', 'DistributedDataParallel:register_comm_hook with virtual_workers: they add up gradients '
      .. 'along a tree, in a hook of their own')
  end
  if self._comm_hook then
    errors.raise('argument', 'DistributedDataParallel:register_comm_hook: this model has a hook: it is registered once')
  end
  local given = {state = state, hook = hook}
  if self._reducer then add_hook(self._reducer, given) end  -- else this rank joins the others: see build
  self._comm_hook = given
end

---Returns what a recorded step takes as given of the exchange: three values that are equal as long as it holds.
---@return userdata reducer
---@return integer num_builds of its buckets
---@return boolean sync false inside of no_sync
function DistributedDataParallel:_exchange()
  return self._reducer, self._reducer and self._reducer:num_builds(), self._sync_gradients
end

local SAME_STEPS = 'every rank makes the same number of steps: the loaders of train.torch.prepare_data_loader and the shards '
  .. 'of train.get_dataset_shard have as many batches on each'
local ONE_DEVICE = 'a rank computes on one device: move tensors with x:to(device)'

-- PyTorch's methods that are missing: they raise an error with the reason when they are called.
local ABSENT = {
  join = SAME_STEPS, join_hook = SAME_STEPS, join_device = SAME_STEPS, join_process_group = SAME_STEPS,
  scatter = ONE_DEVICE, gather = ONE_DEVICE, to_kwargs = ONE_DEVICE,
}
for name in next, ABSENT do
  DistributedDataParallel[name] = function() args.no_such('DistributedDataParallel', name, {}, ABSENT) end
end

---Returns how many collectives this rank has called so far to make instances.
---@return integer
function DistributedDataParallel.num_collectives() return num_collectives end

---Returns the instances in the order of creation, which is the same on every rank.
---@return DistributedDataParallel[]
function DistributedDataParallel.all_made()
  local all = {}
  for each in next, made do all[#all + 1] = each end
  table.sort(all, function(a, b) return made[a] < made[b] end)
  return all
end

-- Returns the order of gradients. Without a reducer, because the last attempt ended before it was rebuilt, it is the
-- planned order.
local function order_of(self)
  if self._reducer then return self._reducer:gradient_order() end
  return self._reduced[2].gradient_order or {}
end

---Returns for each instance the order in which its gradients became ready in the first backward. It determines the
---messages in which gradients are sent, and therefore the order of sums.
---@return integer[][] orders in the order of creation; empty before the first backward
function DistributedDataParallel.gradient_orders()
  local orders = {}
  for i, each in ipairs(DistributedDataParallel.all_made()) do orders[i] = order_of(each) end
  return orders
end

---Returns whether a model has the same parameters on all ranks.
---@param model nn.Module with or without the wrapper
---@return boolean
function DistributedDataParallel.is_replica(model)
  for each in next, made do
    if each == model or each.module == model then return each._reduced[2].process_group == nil end
  end
  return false
end

---Returns whether each forward of a model begins with the first rank's buffers.
---@param model nn.Module without the wrapper
---@return boolean
function DistributedDataParallel.broadcasts_buffers(model)
  for each in next, made do
    local given = each._reduced[2]
    if each.module == model then return given.broadcast_buffers ~= false and given.process_group == nil end
  end
  return false
end

---Connects to the other ranks again, in another attempt (train.elastic): a collective operation of all ranks, which
---have the same parameters by then.
---@param orders? integer[][] result of gradient_orders on a rank that has had its first backward; nil if no rank has
function DistributedDataParallel.rebuild_all(orders)
  for i, each in ipairs(DistributedDataParallel.all_made()) do
    if each._reducer then each._reducer:release() end
    each._is_capturable = nil
    each._reducer = nil  -- a loss of a rank during the rebuild leaves it without a reducer
    each._reduced[2].gradient_order = orders and orders[i]
    build(each)
  end
end

return DistributedDataParallel
