-- rtrain/loop/init.lua: train.loop: a training loop for those who do not want to write one, and its callbacks.

local namespace = require 'rtrain.namespace'

---@class train.loop
---@field Callback train.loop.Callback
---@field EarlyStopping train.loop.EarlyStopping
---@field ModelCheckpoint train.loop.ModelCheckpoint
---@field LearningRateMonitor train.loop.LearningRateMonitor
---@field ProgressBar train.loop.ProgressBar
---@overload fun(options: train.loop.Options): {epochs: integer, steps: integer, reason: string, metrics: table}
local loop = namespace('train.loop', {
  modules = {
    Callback = 'rtrain.loop.callback',
    EarlyStopping = 'rtrain.loop.early_stopping',
    ModelCheckpoint = 'rtrain.loop.model_checkpoint',
    LearningRateMonitor = 'rtrain.loop.learning_rate_monitor',
    ProgressBar = 'rtrain.loop.progress_bar',
  },
})

getmetatable(loop).__call = function(_, options)
  require('rtrain.session').get('train.loop')
  return require 'rtrain.loop.loop'(require 'rtrain.loop.options'(options)):run()
end

return loop
