-- rtrain/backends/backend.lua: Backend: what is done with the workers of a trainer around their train function, or their
-- program.

local class = require 'base.class'

---@class ProgramRank
---@field context table world_rank, world_size, local_rank, node_rank, attempt, …
---@field env table<string, string> the program's variables; on_start may change them
---@field addresses fun(): string[] 'host:port' of every rank, each on a port that is free there; all ranks call it

---What is done around the train function. Of a DataParallelTrainer: a subclass is what `backend_cls` of its BackendConfig
---returns (`rtrain doc BackendConfig` has an example). Its functions run in the script, in the thread that called fit(), at
---each start of the workers, and have functions executed on them by a WorkerGroup. What they raise ends the attempt.
---Ray equivalent: ray.train.backend.Backend.
---
---Of a ProgramTrainer: an instance is given as `backend_config`, and its functions run in the process of each rank, where it
---travels as a train function does, with a ProgramRank in place of the group.
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

---Before the train function begins, or before the program is started.
---@param worker_group WorkerGroup|ProgramRank
---@param backend_config? BackendConfig
function Backend:on_start(worker_group, backend_config) end  -- luacheck: no unused args

---All workers are set up, and begin the train function next; of a program: it has been started.
---@param worker_group WorkerGroup|ProgramRank
---@param backend_config? BackendConfig
function Backend:on_training_start(worker_group, backend_config) end  -- luacheck: no unused args

---The train function has returned on all workers, or the attempt has failed: then the group executes nothing any more. Of a
---program: it has ended, however; not called where the rank's own process was killed.
---@param worker_group WorkerGroup|ProgramRank
---@param backend_config? BackendConfig
function Backend:on_shutdown(worker_group, backend_config) end  -- luacheck: no unused args

return Backend
