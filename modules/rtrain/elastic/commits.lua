-- rtrain/elastic/commits.lua: Commits: the steps that all ranks of a train.elastic agree on, and the return to the last
-- step.
--
-- Between two commits an optimizer changes parameters and its own state once, after the step's last collective. The
-- optimizer's step waits until every rank has reached it (`prepare`). If a rank is lost earlier, the others keep the
-- state of the last commit; if it is lost later, all others are one step further. So a commit never copies large data.
-- Small data is kept on a board in shared memory (host/pages/commit_board.h), for this rank to return to, and for the
-- process that replaces it.
--
-- A state that keeps copies (hvd.elastic.State) may have several steps of an optimizer between two commits. It waits for
-- all ranks in the commit alone, which copies parameters and the optimizers' state, and returns to that copy.
--
-- Of a sharded model each rank has rows of its own. Each keeps those of another rank too (replica.lua), and a lost rank's
-- come from there.
--
-- A device executes collectives asynchronously, and the loss of a rank leaves their results undefined: `prepare` waits
-- until the device has executed all of them.

local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local ddp = require 'torch.nn.parallel.distributed'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local parts = require 'rtrain.state.parts'
local Replica = require 'rtrain.elastic.replica'
local ReplicaCheck = require 'rtrain.elastic.replica_check'
local random_state = require 'rtrain.session.random_state'
local rows = require 'rtrain.state.rows'
local session = require 'rtrain.session'
local sharded = require 'rtrain.state.sharded'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

local Commits = class('Commits')

-- A plan of train.compile does it too, and gives fn the tensors that it reads then.
local function effect(name, fn, read) require('torch._C').recording.effect(name, fn, {}, read or {}, 'apart') end

local function pack(value) return require('torch._C').data.pack(value) end

local function unpack_bytes(bytes) return require('torch._C').data.unpack(bytes) end

---@param state TrainState
---@param host table rtrain._elastic
function Commits:init(state, host)
  self._state, self._host = state, host
  self._hooks = {}
  self._modules, self._optimizers = parts.modules(state), parts.optimizers(state)
  self._own = parts.names_of(state, true)
  self._small = {}  -- the state common to all ranks, except parameters and the optimizers' state of them
  for _, name in ipairs(parts.names_of(state, false)) do
    if not self._modules[name] and not self._optimizers[name] then self._small[#self._small + 1] = name end
  end
  for _, model in ordered.items(self._modules) do self._has_buffers = self._has_buffers or #model:buffers() > 0 end
  self.step = 0  -- the last commit; 0 if there is none
  self._prepared = 0
  self._has_devices = host.has_devices()
  self._keeps_copies = rawget(state, '_keeps_copies')
  for _, optimizer in ordered.items(self._keeps_copies and ordered.new() or self._optimizers) do
    self._hooks[#self._hooks + 1] = optimizer:register_step_pre_hook(function(_, given)
      local grads, places
      if self.replica then grads, places = self.replica:gradients(optimizer) end
      effect('train.elastic: all ranks reach the optimizer', function(_, read)
        self:prepare(optimizer, given[1], read, places)
      end, grads)
    end)
  end
  local verifies = session.get('train.elastic').verify_replicas or 0
  self.replica_check = verifies ~= 0 and ReplicaCheck(self._modules, self._optimizers, verifies) or nil
  if #sharded.names(state) > 0 then
    self.replica = Replica(self._modules, self._optimizers)
    for _, optimizer in ordered.items(self._optimizers) do
      self._hooks[#self._hooks + 1] = optimizer:register_step_post_hook(function()
        effect('train.elastic: a step with the kept rows', function() self.replica:step(optimizer) end)
      end)
    end
  end
end

---Learns whose rows this rank keeps, if the model is sharded. A collective.
function Commits:connect()
  if self.replica then self.replica:connect(session.get('train.elastic').context) end
end

---Stops watching the optimizers.
function Commits:close()
  for _, hook in ipairs(self._hooks) do hook.remove() end
  self._hooks = {}
end

-- Returns the options of the parameter groups, which schedulers change.
local function options_of(optimizer)
  local groups = {}
  for i, group in ipairs(optimizer.param_groups) do
    local options = {}
    for key, value in next, group do
      if key ~= 'params' then options[key] = torch.is_tensor(value) and value:clone() or value end
    end
    groups[i] = options
  end
  return groups
end

local function set_options(optimizer, groups)
  for i, options in ipairs(groups) do
    local group = optimizer.param_groups[i]
    for key, value in next, options do
      if torch.is_tensor(group[key]) then group[key]:copy_(value) else group[key] = value end
    end
  end
end

-- Returns all small state of this rank.
local function small_of(self)
  local groups = ordered.new()
  for name, optimizer in ordered.items(self._optimizers) do groups[name] = options_of(optimizer) end
  return {
    common = {values = parts.values(self._state), states = parts.states(self._state, self._small), groups = groups},
    size = session.get('train.elastic').context.world_size,
    own = {random = random_state.get(), parts = parts.states(self._state, self._own),
           buffers = self._has_buffers and parts.buffers(self._state) or ordered.new()},
  }
end

-- Returns what the first node keeps of this rank's small state, so that a process on another node can take its place if
-- this node is lost; nil if it keeps nothing.
local function copy_of(self, small)
  if not self._host.is_copied() then return nil end
  local needs_buffers = session.get('train.elastic').context.world_rank == 0 or not self:_has_common_buffers()
  local buffers = needs_buffers and small.own.buffers or ordered.new()
  return pack{size = small.size, own = {random = small.own.random, parts = small.own.parts, buffers = buffers}}
end

-- Returns whether each forward begins with the first rank's buffers: then a new process needs no others.
function Commits:_has_common_buffers()
  for _, model in ordered.items(self._modules) do
    if #model:buffers() > 0 and not ddp.broadcasts_buffers(model) then return false end
  end
  return true
end

-- Returns how often parameters were changed in place.
local function versions(self)
  local sum = 0
  for _, model in ordered.items(self._modules) do
    for _, param in model:named_parameters() do sum = sum + param._version end
  end
  return sum
end

local function wait_for_device(self)
  if not self._has_devices then return end
  if capture.current then
    capture.current:refuse('train.elastic waits for all ranks before the step of an optimizer: leave the step out of the graph')
  end
  require('torch._C').distributed.wait_for_device 'optimizer:step()'
end

local function send_rows(self, optimizer, closure, grads, places)
  if closure then
    errors.raise('unsupported', 'train.elastic: optimizer:step(closure) computes gradients after the ranks have exchanged '
      .. 'theirs: with a sharded model call backward before it, and step() without a function')
  end
  wait_for_device(self)
  self.replica:send(optimizer, grads, places)
end

---Announces that this rank has reached its next step, and waits for all ranks. Raises code 'peer_lost' if a rank does
---not arrive.
---
---Each optimizer step after new collectives is a separate step: a rank that is lost after the last of several has kept
---its state of that point. A second optimizer that follows directly belongs to the same step.
---@param optimizer? optim.Optimizer whose step comes; nil: no step comes
---@param closure? function of the step
---@param grads? torch.Tensor[] gradients of rows that another rank keeps
---@param places? table<torch.Tensor, integer> of their parameters
function Commits:prepare(optimizer, closure, grads, places)
  local is_same = self._prepared > self.step and self._host.num_collectives() == self._count
  if self.replica then send_rows(self, optimizer, closure, grads, places) end
  if not is_same then
    self:_begin_growth()
    wait_for_device(self)
    local small = small_of(self)
    self._host.prepare(self._prepared + 1, pack(small), copy_of(self, small))
    self._prepared = self._prepared + 1
  end
  self._count = self._host.num_collectives()
end

-- A larger group is requested, or other shares of the virtual ranks. The first rank makes no further step, so the other
-- ranks cannot either.
function Commits:_begin_growth()
  local folder = self._host.growth()
  if not folder or self.step == 0 or session.get('train.elastic').context.world_rank > 0 or self:held() == 0 then return end
  errors.raise('peer_lost', 'the group goes on from the last commit')
end

---Writes the state of this rank at its last commit, to which it has returned, for a group of another size:
---`TrainState:load`.
---@param folder string
function Commits:write(folder)
  self:restore(self.step, self:kept(self.step))
  require('base._system').make_folders(folder)
  self._state:_save_alone(folder)
end

---Commits a step: everything that changes in it has changed.
function Commits:commit()
  if self._prepared == self.step then self:prepare() end
  self._host.commit(self._prepared, pack(small_of(self)))
  self:_take(self._prepared)
  self:_verify()
end

-- Compares the replicas now and then. The commit comes first: the loss of a rank meanwhile costs no step.
function Commits:_verify()
  local check, commits = self.replica_check, self.step - 1  -- without that of train.elastic itself, before the first step
  if not check or not check:is_due(commits) then return end
  local context = session.get('train.elastic').context
  if context.world_size > 1 and check:verify(context, commits, 'commit') then self:_take(self.step) end
end

-- Returns to the copy. An optimizer's step need not change the versions.
local function take_back(self)
  rows.set_common(self._modules, self._optimizers, require('torch._C').data.unpack_tensor(self._copy))
  self._versions = versions(self)
end

function Commits:_take(step)
  self.step, self._prepared = step, step
  if self._keeps_copies then
    self._copy = require('torch._C').data.pack_tensor(rows.common(self._modules, self._optimizers))
  end
  self.index = self._host.next_report()
  self._versions = versions(self)
end

---Returns the step whose complete state this rank holds, so that it can return to it; 0 if there is none. There is no
---return once an optimizer, or anything else, has begun to change parameters, unless there is a copy.
---@return integer
function Commits:held()
  if self._keeps_copies and self.step > 0 and self._prepared == self.step then take_back(self) end
  local is_whole = self._prepared == self.step and versions(self) == self._versions
  return is_whole and self.step or 0
end

-- Returns which parameters have gradients. Before the first step none has.
local function gradients_of(self)
  local names = ordered.new()
  for part, model in ordered.items(self._modules) do
    names[part] = {}
    for name, param in model:named_parameters() do names[part][name] = self.step > 1 and param.grad ~= nil end
  end
  return names
end

---Returns the state that a new rank needs: the large data, and the state common to all ranks at the last commit.
---@param orders? table order of gradients: DistributedDataParallel.gradient_orders
---@return table
function Commits:large(orders)
  return {of_all = rows.common(self._modules, self._optimizers), gradients = gradients_of(self), orders = orders,
          common = unpack_bytes(self._host.committed(self.step)).common}
end

---@param large table the result of another rank's `large`
function Commits:set_large(large)
  rows.set_common(self._modules, self._optimizers, large.of_all)
  for _, optimizer in ordered.items(self._optimizers) do
    optimizer._opt_called = true  -- the lost rank called it: schedulers must not warn
  end
end

---Sets gradients to zero, since commits do not contain them. A new DistributedDataParallel makes the gradients views of
---its buckets, as before; without gradients its first step would divide by another operation.
---@param given? table which parameters have a gradient on the rank that sent `large`
function Commits:reset_gradients(given)
  local names = given or gradients_of(self)
  for part, model in ordered.items(self._modules) do
    for name, param in model:named_parameters() do
      param.grad = names[part][name] and not shards.of(param) and torch.zeros_like(param) or nil
    end
  end
end

---Returns the small state that this rank has kept for a step. A rank that was lost between the optimizer's step and its
---commit has kept the state before the step; its common state then comes from another rank, and counts as committed.
---@param step integer
---@param common? table common state of a rank that has reached the commit, for a rank that may not have
---@return table kept size: world size at that step; common, own
function Commits:kept(step, common)
  local committed = self._host.committed(step)
  if committed then return unpack_bytes(committed) end
  local prepared = unpack_bytes(self._host.prepared(step))
  local kept = {size = prepared.size, own = prepared.own, common = common}
  self._host.commit(step, pack(kept))
  return kept
end

---Restores the small state of that step. The parameters are already restored.
---@param step integer
---@param kept table a result of `kept`
---@param first? table if the world size has changed: the own state of the first rank. All ranks take its positions
---  and buffers, as when another number of ranks loads a checkpoint
function Commits:restore(step, kept, first)
  local own = first or kept.own
  parts.set_values(self._state, kept.common.values)
  for name, saved in ordered.items(kept.common.states) do parts.set(self._state, name, saved) end
  for name, groups in ordered.items(kept.common.groups) do set_options(self._optimizers[name], groups) end
  for name, saved in ordered.items(own.parts) do parts.set(self._state, name, saved) end
  parts.set_buffers(self._state, own.buffers)
  random_state.set(kept.own.random)  -- last: making and loading the parts may have drawn random numbers
  self:_take(step)
  if first then self._host.commit(step, pack(small_of(self))) end
end

return Commits
