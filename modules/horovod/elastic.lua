-- horovod/elastic.lua: hvd.elastic: training that survives the loss of ranks, over train.elastic.

local errors = require 'base.errors'
local objects = require 'horovod.objects'
local ordered = require 'base.ordered'
local parts = require 'rtrain.state.parts'
local session = require 'rtrain.session'
local TrainState = require('rtrain.state').TrainState

local elastic = {}

---The state from which training continues: model, optimizer and plain values as fields. `state:commit()` marks a step.
---Horovod equivalent: hvd.elastic.State.
---@class State: TrainState
---@overload fun(given: table): State
local State = TrainState:extend('State')
elastic.State = State

---@param given table name → model, optimizer, another part or a plain value
function State:init(given)
  TrainState.init(self, given)
  rawset(self, '_keeps_copies', true)
end

---The same under its name in scripts for PyTorch. Horovod equivalent: hvd.elastic.TorchState.
---@class TorchState: State
---@overload fun(given: table): TorchState
local TorchState = State:extend('TorchState')
elastic.TorchState = TorchState

---The same under its name in scripts with only plain values. Horovod equivalent: hvd.elastic.ObjectState.
---@class ObjectState: State
---@overload fun(given: table): ObjectState
local ObjectState = State:extend('ObjectState')
elastic.ObjectState = ObjectState

---Registers functions that are called when the group has changed, before the training continues.
---@param callbacks (fun())[]
function State:register_reset_callbacks(callbacks)
  local known = rawget(self, '_reset_callbacks') or {}
  for _, fn in ipairs(callbacks) do known[#known + 1] = fn end
  rawset(self, '_reset_callbacks', known)
end

---Does nothing: the run changes the group at a commit, and needs no checks between commits.
function State:check_host_updates() end  -- luacheck: ignore

---Gives all ranks rank 0's models, optimizers and plain values. `elastic.run` calls it first.
function State:sync()
  for _, model in ordered.items(parts.modules(self)) do objects.broadcast_parameters(model:state_dict(), 0) end
  for _, optimizer in ordered.items(parts.optimizers(self)) do objects.broadcast_optimizer_state(optimizer, 0) end
  parts.set_values(self, objects.broadcast_object(parts.values(self), 0))
end

-- After the return to the last commit.
local function begin_again(state)
  for _, optimizer in ordered.items(parts.optimizers(state)) do
    if optimizer._forget_passes then optimizer:_forget_passes() end
  end
  for _, reset in ipairs(rawget(state, '_reset_callbacks') or {}) do reset() end
end

---Returns a train function, `fn(state, ...)`, that continues from the last commit when ranks are lost, as train.elastic
---does. A commit copies parameters and the optimizers' state, so several steps may precede it. Horovod equivalent:
---hvd.elastic.run.
---@param fn fun(state: State): any the other arguments are passed on
---@return fun(state: State): any
---
---```lua
---local hvd, torch, train = require 'horovod', require 'torch', require 'rtrain'
---local result = train.HorovodTrainer({
---  train_loop_per_worker = function()
---    hvd.init()
---    local model = torch.nn.Linear(2, 1)
---    local optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model:parameters(), {lr = 0.1}))
---    local run = hvd.elastic.run(function(state)
---      while state.batch < 3 do
---        optimizer:zero_grad()
---        model(torch.ones(4, 2)):mean():backward()
---        optimizer:step()
---        state.batch = state.batch + 1
---        state:commit()
---      end
---      return state.batch
---    end)
---    return run(hvd.elastic.TorchState {model = model, optimizer = optimizer, batch = 0})
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.return_value == 3)
---```
function elastic.run(fn)
  if type(fn) ~= 'function' then errors.raise('argument', 'elastic.run: expected a function(state), got ' .. type(fn)) end
  return function(state, ...)
    local arguments, count, is_first, is_joining = {...}, select('#', ...), true, session.is_joining()
    return require('rtrain').elastic(state, function()
      if not is_first then
        begin_again(state)
      elseif not is_joining then
        state:sync()
        state:commit()
      end
      is_first = false
      return fn(state, unpack(arguments, 1, count))
    end)
  end
end

return require 'base.namespace'('horovod.elastic', {
  absent = {ElasticSampler = 'the loaders of train.torch.prepare_data_loader follow the group'},
}, elastic)
