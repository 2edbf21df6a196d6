-- torch/distributed/optim/zero_redundancy_optimizer.lua: ZeroRedundancyOptimizer.

local args = require 'base.args'
local class = require 'base.class'
local collectives = require 'torch.distributed.collectives'
local errors = require 'base.errors'
local groups = require 'torch.distributed.groups'
local objects = require 'torch.distributed.objects'
local ordered = require 'base.ordered'
local state_dict = require 'torch.optim.state_dict'
local tree = require 'torch.func.tree'
local Optimizer = require('torch.optim.optimizer').Optimizer
local torch = require 'torch'

---An optimizer whose state is divided among the ranks (ZeRO stage 1, Rajbhandari et al. 2020): each rank updates its part of
---the parameters with a local optimizer and sends them to the others, so that the state takes 1/n of the memory. The results
---equal those of the undivided optimizer. Arguments: params, optimizer_class, {process_group, and the options of that
---optimizer}.
---
---state_dict equals that of the undivided optimizer, and any number of ranks can load it: first all ranks call
---consolidate_state_dict(to), then rank `to` may call state_dict. PyTorch equivalent:
---torch.distributed.optim.ZeroRedundancyOptimizer.
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local layer = torch.nn.Linear(2, 1)
---local optimizer = dist.optim.ZeroRedundancyOptimizer(layer:parameters(), torch.optim.Adam, {lr = 0.1})
---layer(torch.ones(1, 2)):sum():backward()
---optimizer:step()
---optimizer:consolidate_state_dict()
---assert(optimizer:state_dict().param_groups[1].lr == 0.1 and optimizer:state_dict().state[0].exp_avg ~= nil)
---dist.destroy_process_group()
---```
---@class torch.distributed.optim.ZeroRedundancyOptimizer: optim.Optimizer
---@field optim optim.Optimizer the local optimizer
---@overload fun(params: optim.Params, optimizer_class: table, options?: table): torch.distributed.optim.ZeroRedundancyOptimizer
local ZeroRedundancyOptimizer = Optimizer:extend 'ZeroRedundancyOptimizer'

-- Options of Python's class that have no effect here.
local OWN = {'optimizer_class', 'process_group', 'parameters_as_bucket_view', 'overlap_with_ddp'}

local function raise(text, ...) errors.raise('argument', 'ZeroRedundancyOptimizer: ' .. text:format(...)) end

local function is_optimizer_class(value)
  while class.is_class(value) do
    if value == Optimizer then return true end
    value = rawget(value, '__base')
  end
  return false
end

-- Returns the optimizer's class, the process group, and the options of the optimizer.
local function read_arguments(...)
  local given, options, own = {...}, {}, {}
  local keywords = given[#given]
  if args.is_keywords(keywords) then given[#given] = nil else keywords = {} end
  for name, value in next, keywords do options[name] = value end
  for _, name in ipairs(OWN) do own[name], options[name] = options[name], nil end
  own.optimizer_class = given[1] or own.optimizer_class
  if #given > 1 then raise('expected params, optimizer_class and a table of options') end
  if not is_optimizer_class(own.optimizer_class) then raise 'optimizer_class is a class such as torch.optim.Adam' end
  if own.overlap_with_ddp then raise 'overlap_with_ddp is not in this version: leave it out' end
  return own, options
end

-- Assigns the group's parameters to the ranks, the largest first, each to the rank with the least so far.
local function assign(self, group)
  local order, numbers = {unpack(group.params)}, {}
  for i, param in ipairs(order) do numbers[param] = i end
  table.sort(order, function(a, b)
    if a:numel() ~= b:numel() then return a:numel() > b:numel() end
    return numbers[a] < numbers[b]
  end)
  for _, param in ipairs(order) do
    local least = 1
    for rank = 2, #self._sizes do
      if self._sizes[rank] < self._sizes[least] then least = rank end
    end
    self._sizes[least] = self._sizes[least] + param:numel()
    table.insert(self._params_of[least], param)
    self._owner_of[param] = least - 1
  end
end

local function copy_options(from, to)
  for _, name in ipairs(ordered.keys(from)) do
    if name ~= 'params' and name ~= 'param_names' then to[name] = from[name] end
  end
end

-- Returns the group with only the parameters of this rank.
local function own_part(self, group)
  local part, params = ordered.new(), {}
  for _, param in ipairs(group.params) do
    if self._owner_of[param] == self._rank then params[#params + 1] = param end
  end
  part.params = params
  copy_options(group, part)
  return part
end

-- Removes the state of other ranks' parameters, which an optimizer may have made for all.
local function use_own_parts(self)
  local parts, state = {}, {}
  for i, group in ipairs(self.param_groups) do
    parts[i] = own_part(self, group)
    for _, param in ipairs(parts[i].params) do state[param] = self.optim.state[param] end
  end
  self.optim.param_groups, self.optim.state, self.optim._plans = parts, state, {}
  self.state = state
end

function ZeroRedundancyOptimizer:init(params, ...)
  local own, options = read_arguments(...)
  self.process_group = own.process_group
  self._rank = groups.get_rank(self.process_group)
  self.optim = own.optimizer_class(params, options)
  self.defaults, self.param_groups, self._plans = self.optim.defaults, self.optim.param_groups, {}
  self._sizes, self._params_of, self._owner_of = {}, {}, {}
  for rank = 1, groups.get_world_size(self.process_group) do self._sizes[rank], self._params_of[rank] = 0, {} end
  for _, group in ipairs(self.param_groups) do assign(self, group) end
  use_own_parts(self)
end

---Adds parameters with options of their own.
---@param group table {params = tensors, option = value, …}
function ZeroRedundancyOptimizer:add_param_group(group)
  self.optim.param_groups = self.param_groups
  self.optim:add_param_group(group)
  assign(self, self.param_groups[#self.param_groups])
  use_own_parts(self)
end

-- Returns the tensors of one rank by dtype and device, to be broadcast together.
local function batches_of(params)
  local order, batches = {}, {}
  for _, param in ipairs(params) do
    local kind = param.dtype .. tostring(param.device)
    if not batches[kind] then
      batches[kind] = {}
      order[#order + 1] = kind
    end
    table.insert(batches[kind], param)
  end
  for i, kind in ipairs(order) do order[i] = batches[kind] end
  return order
end

local function send_batch(self, rank, batch)
  local flat = torch.flatten_dense_tensors(batch)
  collectives.broadcast(flat, {group_src = self.process_group and rank or nil, src = not self.process_group and rank or nil,
                               group = self.process_group})
  if rank == self._rank then return end
  for i, view in ipairs(torch.unflatten_dense_tensors(flat, batch)) do batch[i]:copy_(view) end
end

---Takes one step of the local optimizer; then every rank has all parameters.
---@param step_closure? fun(): torch.Tensor
---@return torch.Tensor|nil loss
function ZeroRedundancyOptimizer:step(step_closure)
  for i, group in ipairs(self.param_groups) do copy_options(group, self.optim.param_groups[i]) end
  local loss = self.optim:step(step_closure)
  torch.no_grad(function()
    for rank, params in ipairs(self._params_of) do
      for _, batch in ipairs(batches_of(params)) do send_batch(self, rank - 1, batch) end
    end
  end)
  return loss
end

local function on_cpu(value) return tree.map(value, function(x) return x:detach():to 'cpu' end) end

-- Returns index of the parameter over all groups, from 0 → its state, for this rank's parameters.
local function own_states(self)
  local states, index = {}, 0
  for _, group in ipairs(self.param_groups) do
    for _, param in ipairs(group.params) do
      local state = self.optim.state[param]
      if self._owner_of[param] == self._rank and state then states[#states + 1] = {index, on_cpu(state)} end
      index = index + 1
    end
  end
  return states
end

---Sends the state of all ranks to rank `to`, on the CPU, for its state_dict. Every rank calls it.
---@param to? integer rank in the group, default 0
function ZeroRedundancyOptimizer:consolidate_state_dict(to)
  to = to or 0
  local root = self.process_group and groups.get_global_rank(self.process_group, to) or to
  local all = objects.gather_object(own_states(self), nil, root, self.process_group)
  self._consolidated = nil
  if not all then return end
  self._consolidated = {}
  for _, states in ipairs(all) do
    for _, entry in ipairs(states) do self._consolidated[entry[1]] = entry[2] end
  end
end

---Returns the state of the whole optimizer, as of the last consolidate_state_dict.
---@return table state base.ordered map {state, param_groups}
---Errors: 'argument' on a rank on which it was not consolidated.
function ZeroRedundancyOptimizer:state_dict()
  if not self._consolidated then
    raise('call consolidate_state_dict(%d) on all ranks first, then state_dict() on rank %d', self._rank, self._rank)
  end
  local state, index = {}, 0
  for _, group in ipairs(self.param_groups) do
    for _, param in ipairs(group.params) do
      state[param] = self._consolidated[index]
      index = index + 1
    end
  end
  return state_dict.pack{param_groups = self.param_groups, state = state, _options = self.optim._options}
end

---Loads the state_dict of the whole optimizer, from any number of ranks; each rank keeps its part.
---@param state table
function ZeroRedundancyOptimizer:load_state_dict(state)
  self.optim.param_groups = self.param_groups
  local ok, problem = pcall(self.optim.load_state_dict, self.optim, state)
  use_own_parts(self)
  if not ok then error(problem, 0) end
end

return {ZeroRedundancyOptimizer = ZeroRedundancyOptimizer}
