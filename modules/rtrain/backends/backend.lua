-- rtrain/backends/backend.lua: Backend: functions that a trainer calls around its train function or its program.

local class = require 'base.class'

---@class ProgramRank
---@field context table world_rank, world_size, local_rank, node_rank, attempt, …
---@field env table<string, string> the program's variables; on_start may change them
---@field addresses fun(): string[] returns 'host:port' of every rank, each with a port that is free on its node; all
---  ranks must call it

---Functions that a trainer calls around the train function. For a DataParallelTrainer, `backend_cls` of its
---BackendConfig returns a subclass (`rtrain doc BackendConfig` has an example). The functions run in the script, in the
---thread that called fit(), at each start of the workers, and use a WorkerGroup to execute functions on the workers. An
---error that they raise ends the attempt. Ray equivalent: ray.train.backend.Backend.
---
---For a ProgramTrainer, `backend_config` is an instance. It is sent to the process of each rank as a train function is,
---and its functions run there, with a ProgramRank in place of the group.
---
---```lua
---local train = require 'rtrain'
---local Ring = train.Backend:extend('Ring')
---function Ring:on_start(worker)
---  local context = worker.context
---  worker.env.RING_NEXT = worker.addresses()[(context.world_rank + 1) % context.world_size + 1]
---end
---local result = train.ProgramTrainer({
---  command = {'sh', '-c', 'test -n "$RING_NEXT"'},
---  backend_config = Ring(),
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.error == nil)
---```
---@class Backend
---@overload fun(): Backend
local Backend = class('Backend')

---Called before the train function begins, or before the program is started.
---@param worker_group WorkerGroup|ProgramRank
---@param backend_config? BackendConfig
function Backend:on_start(worker_group, backend_config) end  -- luacheck: no unused args

---Called when all workers are set up, directly before the train function begins. For a program: called after it was
---started.
---@param worker_group WorkerGroup|ProgramRank
---@param backend_config? BackendConfig
function Backend:on_training_start(worker_group, backend_config) end  -- luacheck: no unused args

---Called after the train function has returned on all workers or the attempt has failed; the group executes no
---functions after a failure. For a program: called after it has ended, successfully or not, unless the rank's own
---process was killed.
---@param worker_group WorkerGroup|ProgramRank
---@param backend_config? BackendConfig
function Backend:on_shutdown(worker_group, backend_config) end  -- luacheck: no unused args

return Backend
