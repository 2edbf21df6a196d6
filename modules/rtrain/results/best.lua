-- rtrain/results/best.lua: train.best(run): the best checkpoint of a run in the store.

local args = require 'base.args'
local Checkpoint = require 'rtrain.results.checkpoint'
local errors = require 'base.errors'

---Returns the best checkpoint that a run has kept: by its CheckpointConfig, without one the newest. For the REPL and
---for scripts that use a trained model.
---@param run string as for the commands: a name, a unique beginning of a name or id, 'last', or
---  'best:METRIC[:min|max]'
---@param options? {storage_path: string} folder or URI of the store (else $RTRAIN_STORAGE, else ~/rtrain_results)
---@return Checkpoint
---Errors: 'usage' if there is no such run, with the nearest name; 'not_found' if it has kept no checkpoint.
---
---```lua
---local train, torch = require 'rtrain', require 'torch'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local model = torch.nn.Linear(2, 1)
---    train.tempdir(function(dir)
---      torch.save({model = model:state_dict()}, dir .. '/state.pt')
---      train.report({loss = 0.5}, {checkpoint = train.Checkpoint.from_directory(dir)})
---    end)
---  end,
---}):fit()
---local storage_path, name = result.path:match '^(.*)/(.*)$'
---local model = torch.nn.Linear(2, 1)
---model:load_state_dict(train.best(name, {storage_path = storage_path}):load().model)
---```
local function best(run, options)
  if type(run) ~= 'string' then errors.raise('argument', ("best: expected a run's name, got %s"):format(type(run))) end
  options = args.options(options, {'storage_path'}, 'best')
  local host = require 'rtrain._host'
  for _, row in ipairs(host.checkpoints(host.storage_folder(options.storage_path), run, false)) do
    if row.best then return Checkpoint(row.path) end
  end
  errors.raise('not_found', ("best: the run '%s' has kept no checkpoint: train.report(metrics, {checkpoint = …}) reports one")
    :format(run))
end

return best
