-- rtrain/session/not_finite_place.lua: finds where a loss became NaN or infinite: the first parameter or layer of the
-- models.
--
-- It costs one forward pass, once in a run.

local class = require 'base.class'
local ddp = require 'torch.nn.parallel.distributed'
local default_group = require 'torch.distributed.default_group'
local last_arguments = require 'torch.nn.module.last_arguments'
local torch = require 'torch'

local MOST_NAMES = 3
-- Words for one name, for several, for all.
local PARAMETERS = {'parameter', 'parameters', 'parameters'}
local BUFFERS = {'buffer', 'buffers', 'buffers'}
local GRADIENTS = {'gradient of', 'gradients of', 'gradients'}

local function is_finite(value)
  if type(value) == 'userdata' and torch.is_tensor(value) then
    if value.is_sparse or not (value:is_floating_point() or value:is_complex()) then return true end
    return torch.isfinite(value):all():item()
  end
  if type(value) ~= 'table' or class.of(value) then return true end
  for _, item in next, value do
    if not is_finite(item) then return false end
  end
  return true
end

-- Returns 'the parameters fc1.weight, fc1.bias and 2 more of 6 are not finite'; nil if all are finite.
local function names_text(kind, names, count)
  if #names == 0 then return nil end
  if #names == 1 then return ('the %s %s is not finite'):format(kind[1], names[1]) end
  if #names == count then return ('all %d %s are not finite'):format(count, kind[3]) end
  local shown = table.concat(names, ', ', 1, math.min(MOST_NAMES, #names))
  local rest = #names > MOST_NAMES and (' and %d more'):format(#names - MOST_NAMES) or ''
  return ('the %s %s%s of %d are not finite'):format(kind[2], shown, rest, count)
end

local function bad_tensors(kind, iterator)
  local names, count = {}, 0
  for name, tensor in iterator do
    count = count + 1
    if not is_finite(tensor) then names[#names + 1] = name end
  end
  return names_text(kind, names, count)
end

local function gradients_of(model)
  local next_parameter = model:named_parameters()
  return function()
    local name, parameter
    repeat name, parameter = next_parameter() until name == nil or parameter.grad
    return name, parameter and parameter.grad
  end
end

-- Returns 'Net.fc2 (Linear)'.
local function label_of(model, name, module)
  local root = class.of(model).__name
  return name == '' and root or ('%s.%s (%s)'):format(root, name, class.of(module).__name)
end

-- Returns the first module, in the order of calls, whose output is not finite.
local function find_output(model, arguments)
  local found, handles = nil, {}
  for name, module in model:named_modules() do
    handles[#handles + 1] = module:register_forward_hook(function(_, _, output)
      if not found and not is_finite(output) then found = label_of(model, name, module) end
    end)
  end
  -- The other ranks do not run this forward pass, so it must not wait for them.
  local done = pcall(default_group.forbid, function() model(unpack(arguments, 1, arguments.n)) end)
  for _, handle in ipairs(handles) do handle.remove() end
  return found, done
end

-- Runs fn and restores the model's buffers and the random state.
local function without_traces(model, fn)
  local saved = {}
  for i, buffer in ipairs(model:buffers()) do saved[i] = buffer:clone() end
  local found, done
  torch.random.fork_rng(function() torch.no_grad(function() found, done = fn() end) end)
  torch.no_grad(function()
    for i, buffer in ipairs(model:buffers()) do buffer:copy_(saved[i]) end
  end)
  return found, done
end

local function output_text(model)
  local arguments = last_arguments.of(model)
  if not arguments then return nil end
  if not is_finite(arguments) then return ('what %s was called with is not finite'):format(class.of(model).__name) end
  local found, done = without_traces(model, function() return find_output(model, arguments) end)
  if found then return 'the first output that is not finite is that of ' .. found end
  return done and ('the parameters and the output of %s are finite'):format(class.of(model).__name) or nil
end

local place = {}

---Returns the origin, before a step of the optimizer has spread the value.
---@param models nn.Module[] the arguments of prepare_model
---@return string? text nil if nothing was found
---@return boolean? is_in_replica whether it is a parameter that DistributedDataParallel keeps the same on all ranks
function place.of_loss(models)
  for _, model in ipairs(models) do
    local text = bad_tensors(PARAMETERS, model:named_parameters())
    if text then return text, ddp.is_replica(model) end
    text = bad_tensors(BUFFERS, model:named_buffers())
    if text then return text end
  end
  for _, model in ipairs(models) do
    local text = output_text(model)
    if text then return text end
  end
end

---Returns the origin after a backward pass.
---@param models nn.Module[]
---@return string? text
function place.of_gradients(models)
  for _, model in ipairs(models) do
    local text = bad_tensors(PARAMETERS, model:named_parameters()) or bad_tensors(GRADIENTS, gradients_of(model))
    if text then return text end
  end
end

return place
