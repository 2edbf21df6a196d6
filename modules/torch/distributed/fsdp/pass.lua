-- torch/distributed/fsdp/pass.lua: forward and backward passes through sharded modules.
--
-- A forward pass is a call of the outermost sharded module. Before it the ranks have published their rows. After it, and
-- after the backward pass, no rank reads the rows of another one any more: in shared memory these are fences, so that an
-- optimizer may change its rows between the passes.

local C = require 'torch._C'
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'
local RecordedGroup = require 'torch.distributed.fsdp.recorded_group'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

local pass = {}

-- The outermost module in whose forward this rank is, the group that was shown last in it, and the backward pass in which
-- this rank is.
local outermost, latest, backward

---Forgets passes that have not come to their end.
function pass.reset()
  outermost, latest, backward = nil, nil, nil
end

local function wait_for_ranks(groups)
  for _, group in ipairs(groups) do engine.joined().barrier(group.process_group) end
end

---Waits for the ranks that share the memory of these groups.
---@param groups fsdp.ParameterGroup[]
function pass.fence(groups)
  local seen, fenced = {}, {}
  for _, group in ipairs(groups) do
    local ranks = shards.ranks_of(group)
    if group.memory and group.memory.is_shared == true and not seen[ranks] then
      seen[ranks], fenced[#fenced + 1] = true, group
    end
  end
  if fenced[1] then RecordedGroup.fence(groups, wait_for_ranks, fenced) end
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

local function are_unsharded(groups)
  for _, group in ipairs(groups) do
    if not group.is_unsharded then return false end
  end
  return true
end

---Called before the forward of a sharded module. Where all parameters are whole already no rank waits for another one.
---@param module nn.Module
---@param groups_below fun(): fsdp.ParameterGroup[] the groups of the module and of those below it
function pass.begin_forward(module, groups_below)
  if backward and C.current_graph_task_id() < 0 then abandon_backward() end
  if outermost or backward then return end
  local groups = groups_below()
  if are_unsharded(groups) then return end
  outermost, latest = module, nil
  pass.publish(groups)
end

local function prefetch(groups)
  for _, each in ipairs(groups) do each:prefetch() end
end

---Shows the parameters of a group for the forward of its module, and begins to gather those of the group that came after
---it in the last pass, or of the groups that the user chose.
---@param group fsdp.ParameterGroup
function pass.show(group)
  group:show()
  if backward or not outermost then return end
  engine.joined().check_peers(group.process_group)  -- in shared memory a forward has no collective before its end
  if latest and latest ~= group then latest.next, group.previous = group, latest end
  latest = group
  prefetch(group.forward_prefetch or {group.next})
end

---Called after the forward of a sharded module.
---@param module nn.Module
---@return boolean is_outermost
function pass.end_forward(module)
  if outermost ~= module then return false end
  if latest then latest.next = nil end
  outermost = nil
  return true
end

local function prefetched_in_backward(group) return group.backward_prefetch or {group.previous} end

-- Whether to keep the gathered parameters after this backward pass. One that makes a graph (create_graph) saves them in it,
-- and the graph's own backward may need them before a gradient comes to an output of the module.
local function keeps(group, of_backward) return of_backward.makes_graph or group.keeps_after_backward end

local function end_backward()
  local ended = backward
  backward = nil
  -- The groups of modules whose inputs need no gradient are still open.
  for _, group in ipairs(ended.order) do
    if ended.open[group] > 0 then group:end_backward(keeps(group, ended)) end
    for _, each in ipairs(prefetched_in_backward(group)) do
      if not ended.open[each] then each:free() end
    end
  end
  pass.fence(ended.order)
end

local function begin_backward()
  backward = {order = {}, open = {}, calls = {}, makes_graph = torch.is_grad_enabled()}
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
  if (count or 0) == 0 then
    group:begin_backward()
    prefetch(prefetched_in_backward(group))
  end
end

---Called when the gradients of the inputs of a call are computed.
---@param group fsdp.ParameterGroup
function pass.close(group)
  local count = backward and backward.open[group]
  if not count then
    errors.raise('user', 'fully_shard: a gradient comes to the inputs of a sharded module, and none came to its outputs: its '
      .. 'forward must return tensors, or tables or objects of tensors')
  end
  backward.open[group] = count - 1
  if count == 1 then group:end_backward(keeps(group, backward)) end
end

---Called after an error in the forward of a sharded module.
---@param module nn.Module
---@param groups_below fun(): fsdp.ParameterGroup[]
function pass.abandon(module, groups_below)
  if not pass.end_forward(module) then return end
  for _, group in ipairs(groups_below()) do group:abandon() end
end

return pass
