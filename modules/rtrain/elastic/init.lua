-- rtrain/elastic/init.lua: train.elastic: training that survives the loss of ranks without a restart.

local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local Commits = require 'rtrain.elastic.commits'
local errors = require 'base.errors'
local fully_shard = require 'torch.distributed.fsdp.fully_shard'
local followers = require 'rtrain.elastic.followers'
local ordered = require 'base.ordered'
local parts = require 'rtrain.state.parts'
local session = require 'rtrain.session'
local shard_model = require 'rtrain.torch.shard_model'
local sharded = require 'rtrain.state.sharded'
local variables = require 'rtrain.session.variables'

-- Commits that do nothing, for runs in which a loss cannot be healed.
local NONE = {commit = function() end, close = function() end}

-- Counts the collectives before train.elastic, which a replacement process would have to repeat with the other ranks.
local function early_collectives(host)
  return host.num_collectives() - require('torch.nn.parallel.distributed').num_collectives()
    - fully_shard.num_collectives()
end

-- Returns why the loss of a rank's rows of a sharded model is not healed.
local function refusal_of_sharded(train_state)
  if #sharded.names(train_state) == 0 then return nil end
  for _, model in ordered.items(parts.modules(train_state)) do
    if sharded.is_model(model) and not shard_model.has_replica(model) then
      return "its model is sharded, and a lost rank's rows are lost with it: prepare_model keeps a copy of them on another "
        .. 'rank with parallel_strategy_kwargs = {replicas = 1}'
    end
  end
  for name, optimizer in ordered.items(parts.optimizers(train_state)) do
    if optimizer._gathers then
      return ("'%s' is of class %s, which computes with whole parameters: it cannot make the steps of another rank's rows")
        :format(name, class.of(optimizer).__name)
    end
  end
  if rawget(train_state, '_keeps_copies') then return 'its model is sharded, and the state keeps copies' end
  return nil
end

-- Returns why a loss is not healed here, and whether it ends the run; nil if it is healed.
local function refusal_of(state, host, is_asked, train_state)
  local reason, ends_run = host.refusal()
  if reason then return reason, ends_run end
  local without_replica = refusal_of_sharded(train_state)
  if without_replica then return without_replica end
  if not is_asked and host.has_devices() then return 'it would wait for the GPU in each step' end
  if state.kind ~= 'torch' then return 'the workers of a DataParallelTrainer have no process group' end
  if state.has_elastic then
    return "it was called before in this train function, and a rank that takes a lost one's place begins with that call"
  end
  local count = not state.is_joining and early_collectives(host) or 0
  if count > 0 then
    return ("%d %s before train.elastic, which a rank that takes a lost one's place cannot do again: call them in its "
      .. 'function'):format(count, count == 1 and 'collective comes' or 'collectives come')
  end
  return nil
end

local function warn_of(reason, ends_run)
  if session.get('train.elastic').context.world_rank ~= 0 then return end
  local effect = ends_run and 'ends the run' or 'restarts the group'
  require('base.warnings').warn(('train.elastic: the loss of a rank %s: %s'):format(effect, reason))
end

-- Replaces the session's state of the attempt that has ended.
local function renew_session(state)
  local before = state.context
  state.context = require('rtrain._worker').context()
  variables.set_rank(state.context)
  state.checkpoint, state.tempdirs = nil, {}
  followers.move(before, state)
end

-- Returns to the last commit, until another attempt begins.
local function go_back(self, err)
  local virtual = session.get('train.elastic').virtual
  if virtual then virtual:leave() end
  fully_shard.disconnect_all()
  -- During synchronization the state of a rank is only overwritten with the same values.
  local step = self.must_synchronize and self.commits.step or self.commits:held()
  local folder = step > 0 and self.host.growth()
  self.host.leave()
  capture.forget_connections()
  require 'rtrain.session.process_group'.destroy()
  local index = self.commits.index or 0
  if folder and folder ~= '' then self.commits:write(folder) end
  self.host.go_back(step, index, err)
  renew_session(session.get('train.elastic'))
  self.must_synchronize = true
end

local function run(self, fn)
  if self.must_synchronize then
    require 'rtrain.elastic.synchronize'(self.commits, self.host)
    self.must_synchronize = false
  elseif self.commits.step == 0 then
    local problem = followers.problem(session.get('train.elastic'))
    self.host.enter(0)
    self.commits:connect()
    local carried = session.get('train.elastic').context.carried
    if carried and carried ~= '' then self.state:load(carried) end
    self.commits:commit()
    self.host.set_healable(true, problem)  -- at once: the loss of a rank before all have said it would end the others
  end
  local results = {n = 0}
  local function keep(...) results = {n = select('#', ...), ...} end
  keep(fn(self.state))
  self.commits:commit()
  return results
end

local function finish(self)
  self.host.set_healable(false)
  self.commits:close()
end

-- `is_asked`: whether the script has called train.elastic.
local function train(state, fn, is_asked)
  local current = session.get('train.elastic')
  local host = require 'rtrain._elastic'
  local reason, ends_run = refusal_of(current, host, is_asked, state)
  if reason then
    if is_asked then warn_of(reason, ends_run) end
    state._commits = NONE
    return fn(state)
  end
  current.has_elastic = true
  local self = {state = state, host = host, commits = Commits(state, host), must_synchronize = current.is_joining}
  state._commits = self.commits
  while true do
    local ok, results = xpcall(run, errors.wrap, self, fn)
    if ok then
      finish(self)
      return unpack(results, 1, results.n)
    end
    if results.code ~= 'peer_lost' then error(results, 0) end
    go_back(self, results)
  end
end

---Trains so that the loss of a worker costs at most the interrupted step. The function trains in a loop from the given
---state, and marks each step with `state:commit()`. When a worker is lost, the others stop, return to the last commit
---in their own processes and wait for a new process in its place, to which they send model, optimizer, random state and
---position in the data. Then the function is called again, on all ranks. Nothing before the last commit is lost, no
---sample is used twice, and the parameters are bitwise those of a run without a loss. Reports made after the commit do
---not count: the function makes them again. `FailureConfig.max_heals` limits how often this happens; an error of the
---script is not a loss.
---
---* The state holds the model, the optimizers and everything else from which the loop continues: schedulers, loaders,
---  counters. Fields that are not parts are the same on all ranks.
---* An optimizer's step must be the last change of parameters before `state:commit()`. Between the two a report may
---  come, also with a checkpoint: a checkpoint in which a lost rank has no part is left out. The group restarts from
---  its checkpoint, as without train.elastic, if the others wait for a lost rank in a collective between the two, if
---  something else has changed parameters, or if all ranks are lost.
---* On GPUs each step of an optimizer waits until the device has finished its earlier work. A `train.graph` may contain
---  the forward and backward passes, but not the optimizer's step; it is captured again after a loss.
---* A train function may call train.elastic once: the loss of a rank in a second call restarts the group.
---* A new process takes the lost rank's place and runs the train function from its beginning. It executes the part
---  before train.elastic alone: it makes the model (prepare_model then waits for no other rank), the loaders, the
---  state. Collectives belong inside the function, and so do groups of torch.distributed.new_group: those made before
---  are gone.
---
---If a lost rank cannot be replaced, because its node is lost or its process does not start, a group whose
---`ScalingConfig.num_workers` is a range continues without it, down to the least of the range, in the same processes.
---The ranks are renumbered, consecutive by node, and the rest of the epoch is divided again so that each sample is used
---once. The result is bitwise that of a run that continues from a checkpoint of that step with that many workers:
---positions in the data, buffers and generators that are parts of the state are those of the first rank, random states
---are each rank's own. Inside the function, ask `train.get_context()` for rank and size. Loaders of
---prepare_data_loader, samplers of the group's size and shards follow automatically; with a sampler of another size,
---and in a trial of a sweep, the group restarts.
---
---Such a group also becomes larger, up to the most of the range, when capacity is available again: at its next commit,
---without a checkpoint. The ranks write the state into the run's folder, and new processes join in the larger group;
---they run the train function from its beginning, with reports numbered from the commit on.
---
---A loss is healed if several ranks train, on one node or on several. Of a sharded model (fully_shard) another rank must
---keep a copy of each rank's rows: prepare_model with `parallel_strategy_kwargs = {replicas = 1}`. Without it, and after the
---loss of a rank together with the one that kept its rows, the group restarts from its checkpoint. With a fixed number of
---workers another node of the job, or the lost one when it has come back, takes the place of a lost node; the others wait
---for it in their processes, and after RTRAIN_JOIN_TIMEOUT_S the group restarts. In local mode, and if a launcher has
---started each rank, a loss ends the run. Horovod equivalent: hvd.elastic.run and its State (no Ray equivalent).
---@param state TrainState
---@param fn fun(state: TrainState): ... called with the state
---@return any ... the results of fn
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    torch.manual_seed(1)
---    local model = train.torch.prepare_model(torch.nn.Linear(2, 1))
---    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
---    local state = train.state {model = model, optimizer = optimizer, step = 0}
---    return train.elastic(state, function()
---      while state.step < 5 do
---        optimizer:zero_grad()
---        model(torch.ones(4, 2)):mean():backward()
---        optimizer:step()
---        state.step = state.step + 1
---        train.report {step = state.step}
---        state:commit()
---      end
---      return state.step
---    end)
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.return_value == 5)
---```
local function elastic(state, fn)
  session.get('train.elastic')
  if not class.is(state, require('rtrain.state').TrainState) then
    errors.raise('argument', ('train.elastic: expected a state of train.state, got a %s'):format(type(state)))
  end
  if type(fn) ~= 'function' then
    errors.raise('argument', ('train.elastic: expected a function(state), got a %s'):format(type(fn)))
  end
  return train(state, fn, true)
end

-- The same for a loop that calls it itself, without a request of the script.
local function quietly(state, fn) return train(state, fn, false) end

return {elastic = elastic, quietly = quietly}
