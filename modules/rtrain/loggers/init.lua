-- rtrain/loggers/init.lua: train.loggers: callbacks that pass on what a run records to the trackers that people have.

---Callbacks for RunConfig.callbacks that pass on what a run records to other programs, while it goes on. A step never
---waits for them: a thread of the script's process reads the run store, as `rtrain show` does. What cannot be sent stays
---there; it is sent later, at the run's end (for at most 10 s), or by `rtrain export`. A tracker that fails is one notice.
---
---```lua
---local train = require 'rtrain'
---local config = train.RunConfig {callbacks = {train.loggers.TensorBoard {log_dir = '/tmp/curves'}}}
---assert(#config.callbacks == 1)
---```
---@class rtrain.loggers
---@field MLflow MLflow
---@field Wandb Wandb
---@field TensorBoard TensorBoard
---@field Http Http
return require 'base.namespace'('train.loggers', {
  modules = {
    MLflow = 'rtrain.loggers.mlflow',
    Wandb = 'rtrain.loggers.wandb',
    TensorBoard = 'rtrain.loggers.tensorboard',
    Http = 'rtrain.loggers.http',
  },
})
