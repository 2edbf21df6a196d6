-- rtrain/loggers/wandb.lua: train.loggers.Wandb.

local checks = require 'rtrain.loggers.checks'
local Logger = require 'rtrain.loggers.logger'

---Writes the run as an offline run of W&B, while it goes on: `wandb sync FOLDER/wandb/offline-run-…` sends it, also to
---a server of one's own, and reads the file up to where it is. rtrain itself sends nothing and needs no key. Reports and
---steps of train.log are rows of its history; `report` and `step` are their horizontal axes. train_loop_config is its
---config. Images, audio and histograms of rank 0 are included. Ray equivalent: WandbLoggerCallback with
---WANDB_MODE=offline.
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function() train.report {loss = 0.5} end,
---  run_config = train.RunConfig {callbacks = {train.loggers.Wandb {project = 'digits'}}},
---}):fit()
---assert(io.popen('ls ' .. result.path .. '/wandb'):read '*l':find '^offline%-run%-')
---```
---@class Wandb: UserCallback
---@overload fun(options?: {project: string, entity: string, group: string, run_name: string, dir: string}): Wandb
---@field project? string default 'uncategorized'
---@field entity? string user or team; default: that of the key with which `wandb sync` sends it
---@field group? string
---@field run_name? string default: the run's name
---@field dir? string its folder `wandb` gets the run; default: the run's folder
local Wandb = Logger:extend('Wandb')

---@param options? table
function Wandb:init(options)
  local given = self:_checked(options, {
    project = checks.text, entity = checks.text, group = checks.text, run_name = checks.text, dir = checks.text,
  })
  given.kind = 'wandb'
  self._tracker = given
end

function Wandb:_rest_command(run) return ('rtrain export --format json %s'):format(run) end

return Wandb
