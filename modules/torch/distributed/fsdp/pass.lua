-- torch/distributed/fsdp/pass.lua: forward and backward passes through sharded modules.
--
-- A forward pass is a call of the outermost sharded module. Before it the ranks have published their rows. After it, and
-- after the backward pass, no rank reads the rows of another one any more: in shared memory these are fences, so that an
-- optimizer may change its rows between the passes.

local C = require 'torch._C'
local engine = require 'torch.distributed.engine'

local pass = {}

-- The outermost module in whose forward this rank is, and the backward pass in which it is.
local outermost, backward

---Waits for the ranks that share the memory of these groups.
---@param groups fsdp.ParameterGroup[]
function pass.fence(groups)
  local seen, dist = {}, engine.joined()
  for _, group in ipairs(groups) do
    local ranks = group.process_group or 'all'
    if group.memory and group.memory.is_shared == true and not seen[ranks] then
      seen[ranks] = true
      dist.barrier(group.process_group)
    end
  end
end

---Publishes this rank's rows, and waits until all ranks have.
---@param groups fsdp.ParameterGroup[]
function pass.publish(groups)
  for _, group in ipairs(groups) do group:publish() end
  pass.fence(groups)
end

-- A backward pass in which an error was raised has not come to its end.
local function abandon_backward()
  for _, group in ipairs(backward.order) do group:abandon() end
  backward = nil
end

---Called before the forward of a sharded module.
---@param module nn.Module
---@param groups_below fun(): fsdp.ParameterGroup[] the groups of the module and of those below it
function pass.begin_forward(module, groups_below)
  if backward and C.current_graph_task_id() < 0 then abandon_backward() end
  if outermost or backward then return end
  outermost = module
  pass.publish(groups_below())
end

---Called after the forward of a sharded module.
---@param module nn.Module
---@return boolean is_outermost
function pass.end_forward(module)
  if outermost ~= module then return false end
  outermost = nil
  return true
end

local function end_backward()
  local ended = backward
  backward = nil
  -- The groups of modules whose inputs need no gradient are still open.
  for _, group in ipairs(ended.order) do
    if ended.open[group] > 0 then group:end_backward(group.keeps_after_backward) end
  end
  pass.fence(ended.order)
end

local function begin_backward()
  backward = {order = {}, open = {}, calls = {}}
  C.queue_callback(end_backward)
end

---Called when a gradient comes to an output of a call of a sharded module.
---@param group fsdp.ParameterGroup
---@param call table the call
function pass.open(group, call)
  if not backward then begin_backward() end
  if backward.calls[call] then return end
  backward.calls[call] = true
  local count = backward.open[group]
  if not count then backward.order[#backward.order + 1] = group end
  backward.open[group] = (count or 0) + 1
  if (count or 0) == 0 then group:begin_backward() end
end

---Called when the gradients of the inputs of a call are computed.
---@param group fsdp.ParameterGroup
function pass.close(group)
  local count = backward.open[group]
  backward.open[group] = count - 1
  if count == 1 then group:end_backward(group.keeps_after_backward) end
end

---Called after an error in the forward of a sharded module.
---@param module nn.Module
---@param groups_below fun(): fsdp.ParameterGroup[]
function pass.abandon(module, groups_below)
  if not pass.end_forward(module) then return end
  for _, group in ipairs(groups_below()) do group:abandon() end
end

return pass
