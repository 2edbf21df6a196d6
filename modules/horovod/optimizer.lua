-- horovod/optimizer.lua: DistributedOptimizer: an optimizer whose step begins with the mean of all ranks' gradients.
--
-- The gradients are exchanged when step() or synchronize() is called, in the order of the parameters, so ranks need not
-- compute them in the same order. Those of one dtype and device are combined into messages of up to 64 MiB.

local args = require 'base.args'
local class = require 'base.class'
local collectives = require 'horovod.collectives'
local errors = require 'base.errors'
local Optimizer = require('torch.optim').Optimizer
local ranks = require 'horovod.ranks'
local replicas = require 'rtrain.session.replicas'
local torch = require 'torch'

local OPTIONS = {'named_parameters', 'compression', 'backward_passes_per_step', 'op', 'gradient_predivide_factor',
                 'num_groups', 'groups', 'sparse_as_dense'}
local MESSAGE_BYTES = 64 * 2 ^ 20

local function params_of(optimizer)
  local list = {}
  for _, group in ipairs(optimizer.param_groups) do
    for _, param in ipairs(group.params) do
      if param.requires_grad then list[#list + 1] = param end
    end
  end
  return list
end

-- Returns lists of gradients that are sent together; a parameter without a gradient has zeros, since another rank may
-- have one.
local function messages_of(params)
  local open, messages = {}, {}
  for _, param in ipairs(params) do
    if param.grad == nil then param.grad = torch.zeros_like(param) end
    local grad = param.grad
    local key = ('%s %s'):format(grad.dtype, grad.device)
    local message = open[key]
    if message == nil or message.bytes > 0 and message.bytes + grad.nbytes > MESSAGE_BYTES then
      message = {bytes = 0}
      open[key], messages[#messages + 1] = message, message
    end
    message[#message + 1], message.bytes = grad, message.bytes + grad.nbytes
  end
  return messages
end

local function join(message)
  local rows = {}
  for i, grad in ipairs(message) do rows[i] = grad:reshape(-1) end
  return #rows == 1 and rows[1]:clone() or torch.cat(rows)
end

local function part(row, message)
  local first = 0
  for _, grad in ipairs(message) do
    grad:copy_(row:narrow(0, first, grad:numel()):view_as(grad))
    first = first + grad:numel()
  end
end

local function reduce(params, options)
  local messages, handles = messages_of(params), {}
  local factor = options.gradient_predivide_factor or 1
  for i, message in ipairs(messages) do
    handles[i] = collectives.allreduce_async(join(message), {
      op = options.op, compression = options.compression, prescale_factor = 1 / factor, postscale_factor = factor})
  end
  for i, message in ipairs(messages) do part(collectives.synchronize(handles[i]), message) end
end

-- Counts the backward passes of each parameter since the last step, and raises an error in the first surplus pass.
local function watch(params, passes)
  local counts = {}
  for _, param in ipairs(params) do
    param:register_post_accumulate_grad_hook(function()
      counts[param] = (counts[param] or 0) + 1
      if counts[param] > passes then
        errors.raise('user', ('DistributedOptimizer: gradients were computed more than %d times (backward_passes_per_step) '
          .. 'before step()'):format(passes))
      end
    end)
  end
  return counts
end

local function check(optimizer, options)
  if not class.is(optimizer, Optimizer) then
    errors.raise('argument', 'DistributedOptimizer: expected an optimizer of torch.optim, got ' .. type(optimizer))
  end
  if rawget(optimizer, 'skip_synchronize') then
    errors.raise('argument', 'DistributedOptimizer: it is one already')
  end
  local passes = options.backward_passes_per_step or 1
  if type(passes) ~= 'number' or passes < 1 or passes % 1 ~= 0 then
    errors.raise('argument', ('DistributedOptimizer: backward_passes_per_step = %s: expected an integer of at least 1'):format(
      tostring(passes)))
  end
  if options.gradient_predivide_factor and (options.op or 'average') ~= 'average' then
    errors.raise('argument', 'DistributedOptimizer: gradient_predivide_factor is for op = hvd.Average')
  end
  return passes
end

---Changes an optimizer so that its `step()` first gives each parameter the mean of its gradients over all ranks. It
---returns the same object with two more methods: `synchronize()` averages the gradients now, and `skip_synchronize(fn)`
---calls a function in which `step()` does not average them, for example after they were clipped.
---@param optimizer optim.Optimizer
---@param options? {named_parameters: any, compression: table, backward_passes_per_step: integer, op: string,
---  gradient_predivide_factor: number} compression: hvd.Compression.none (default) or fp16; op: hvd.Average (default) or Sum;
---  backward_passes_per_step (default 1): number of backward passes that are summed before a step; named_parameters,
---  num_groups, groups and sparse_as_dense are accepted and not needed
---@return optim.Optimizer optimizer
---Horovod equivalent: hvd.DistributedOptimizer.
---
---```lua
---local hvd, torch, train = require 'horovod', require 'torch', require 'rtrain'
---local result = train.HorovodTrainer({
---  train_loop_per_worker = function()
---    hvd.init()
---    local x = torch.zeros({1}, {requires_grad = true})
---    local optimizer = hvd.DistributedOptimizer(torch.optim.SGD({x}, {lr = 1}))
---    local loss = (x * hvd.rank()):sum()
---    loss:backward()
---    optimizer:step()
---    train.report {x = x:item()}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.metrics.x == -0.5)
---```
local function DistributedOptimizer(optimizer, options)
  ranks._check()
  options = args.options(options, OPTIONS, 'DistributedOptimizer')
  local passes = check(optimizer, options)
  replicas.finish()  -- it runs before the hook of each step that exchanges the gradients
  local counts = watch(params_of(optimizer), passes)
  local is_skipped, is_synchronized = false, false

  function optimizer:synchronize()
    reduce(params_of(self), options)
    self:_forget_passes()
    is_synchronized = true
  end

  -- For elastic.run: the loss of a rank has interrupted the step after its backward passes.
  function optimizer:_forget_passes()  -- luacheck: no unused args
    for param in next, counts do counts[param] = nil end
    is_synchronized = false
  end

  function optimizer:skip_synchronize(fn)  -- luacheck: no unused args
    is_skipped = true
    local ok, value = xpcall(fn, errors.wrap)
    is_skipped = false
    if not ok then error(value, 0) end
    return value
  end

  optimizer:register_step_pre_hook(function()
    if not is_skipped and not is_synchronized then optimizer:synchronize() end
    is_synchronized = false
  end)
  return optimizer
end

return {DistributedOptimizer = DistributedOptimizer}
