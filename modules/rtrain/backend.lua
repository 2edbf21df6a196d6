-- rtrain/backend.lua: Backend: what the programs of a ProgramTrainer find in their environment besides torchrun's variables.

local class = require 'base.class'

---@class ProgramRank
---@field context table world_rank, world_size, local_rank, node_rank, attempt, …
---@field env table<string, string> the program's variables; on_start may change them
---@field addresses fun(): string[] 'host:port' of every rank, each on a port that is free there; all ranks call it

---How the programs of a ProgramTrainer find each other: a subclass is given as `backend_config`. Its functions run in the
---process of each rank, where it travels as a train function does. Ray equivalent: ray.train.backend.Backend, whose functions
---run once, in the controller.
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

---Before the program is started, on every rank.
---@param worker ProgramRank
function Backend:on_start(worker) end  -- luacheck: no unused args

---The program has been started.
---@param worker ProgramRank
function Backend:on_training_start(worker) end  -- luacheck: no unused args

---The program has ended, however. Not called where the rank's own process was killed.
---@param worker ProgramRank
function Backend:on_shutdown(worker) end  -- luacheck: no unused args

return Backend
