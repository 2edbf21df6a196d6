-- rtrain/loop/init.lua: train.loop: a ready-made training loop and its callbacks.

local namespace = require 'base.namespace'
local session = require 'rtrain.session'

---Trains a model, in the train function: epochs of batches, split over the workers, with validation, callbacks,
---accumulated and clipped gradients and mixed precision; each epoch is reported, with a checkpoint. A continued run
---starts in the middle of an epoch if necessary. With ScalingConfig.virtual_workers batches are counted as on each virtual
---worker, and callbacks get the first one of the process in a step. Lightning equivalent: lightning.pytorch.Trainer.fit.
---@param options train.loop.Options
---@return {epochs: integer, steps: integer, reason: string, metrics: table} done the progress and why the loop ended:
---  'max_epochs', 'max_steps', or the reason of a callback
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local data = torch.utils.data
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local x = torch.randn(64, 2)
---    local loader = data.DataLoader(data.TensorDataset(x, x:sum(1, {keepdim = true})), {batch_size = 8, shuffle = true})
---    local done = train.loop {
---      model = torch.nn.Linear(2, 1),
---      optimizer = function(model) return torch.optim.SGD(model:parameters(), {lr = 0.1}) end,
---      training_step = function(model, batch) return torch.nn.functional.mse_loss(model(batch[1]), batch[2]) end,
---      train_dataloader = loader,
---      max_epochs = 50,
---      callbacks = {train.loop.EarlyStopping {monitor = 'loss', stopping_threshold = 1e-3}},
---    }
---    return done.epochs
---  end,
---}):fit()
---assert(result.return_value < 50 and result.metrics.loss < 1e-3 and result.checkpoint)
---```
local function run(options)
  session.get('train.loop')  -- raises outside of a train function
  return require 'rtrain.loop.loop'(require 'rtrain.loop.options'(options)):run()
end

---@class train.loop
---@field Callback train.loop.Callback
---@field EarlyStopping train.loop.EarlyStopping
---@field ModelCheckpoint train.loop.ModelCheckpoint
---@field LearningRateMonitor train.loop.LearningRateMonitor
---@field ProgressBar train.loop.ProgressBar
---@overload fun(options: train.loop.Options): {epochs: integer, steps: integer, reason: string, metrics: table}
local loop = namespace('train.loop', {
  call = run,
  modules = {
    Callback = 'rtrain.loop.callback',
    EarlyStopping = 'rtrain.loop.early_stopping',
    ModelCheckpoint = 'rtrain.loop.model_checkpoint',
    LearningRateMonitor = 'rtrain.loop.learning_rate_monitor',
    ProgressBar = 'rtrain.loop.progress_bar',
  },
})

return loop
