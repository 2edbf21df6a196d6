-- rtrain/report.lua: report() and get_checkpoint(), for the train function.

local args = require 'rtrain.args'
local Checkpoint = require 'rtrain.checkpoint'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local session = require 'rtrain.session'

local report = {}

local OPTIONS = {'checkpoint', 'checkpoint_dir_name', 'checkpoint_upload_mode', 'delete_local_checkpoint_after_upload',
                 'checkpoint_upload_fn', 'validation'}

local LATER = {
  checkpoint_upload_fn = 'the files are copied to the storage path',
  validation = 'validate in the train function and report the result',
}

local function to_number(tensor, key)
  if tensor:dim() == 0 then return tensor:item() end
  errors.raise('argument', ('report: metrics.%s is a tensor of shape {%s}: report numbers, such as its :mean():item()')
    :format(key, table.concat(tensor.shape, ', ')))
end

-- The value with every 0-dim tensor replaced by its number. Tables are copied only where they hold one.
local function without_tensors(value, is_tensor, key)
  if type(value) == 'userdata' and is_tensor(value) then return to_number(value, key) end
  if type(value) ~= 'table' then return value end
  local changed
  for k, item in next, value do
    local plain = without_tensors(item, is_tensor, key == '' and tostring(k) or key .. '.' .. tostring(k))
    if plain ~= item then
      changed = changed or {}
      changed[k] = plain
    end
  end
  if not changed then return value end
  local copy = setmetatable({}, getmetatable(value))
  for k, item in next, value do
    if changed[k] ~= nil then item = changed[k] end
    rawset(copy, k, item)
  end
  return copy
end

local function plain_metrics(metrics)
  if type(metrics) ~= 'table' then
    errors.raise('argument', ('report: expected a table of metrics, got %s'):format(type(metrics)))
  end
  -- Without an engine there are no tensors.
  local engine = package.loaded['torch._C']
  if type(engine) ~= 'table' then return metrics end
  local ordered = require 'rtrain.ordered'
  if not ordered.is(metrics) then return without_tensors(metrics, engine.is_tensor, '') end
  local copy = ordered.new()
  for key, value in ordered.items(metrics) do copy[key] = without_tensors(value, engine.is_tensor, key) end
  return copy
end

local function check_options(options)
  options = args.options(options, OPTIONS, 'report')
  for _, name in ipairs(OPTIONS) do
    if LATER[name] and options[name] then
      errors.raise('unsupported', ('report: %s is not in this version: %s'):format(name, LATER[name]))
    end
  end
  local mode = options.checkpoint_upload_mode
  if mode ~= nil and mode ~= 'SYNC' then
    errors.raise('unsupported',
      ("report: checkpoint_upload_mode = '%s': 'SYNC' is the mode of this version"):format(tostring(mode)))
  end
  if options.delete_local_checkpoint_after_upload then
    errors.raise('unsupported', 'report: delete_local_checkpoint_after_upload is not in this version: use train.tempdir')
  end
  if options.checkpoint ~= nil and not class.is(options.checkpoint, Checkpoint) then
    errors.raise('argument', 'report: checkpoint is no Checkpoint: use train.Checkpoint.from_directory(dir)')
  end
  if options.checkpoint_dir_name ~= nil and options.checkpoint == nil then
    errors.raise('argument', 'report: checkpoint_dir_name without a checkpoint')
  end
  return options
end

---Reports metrics, and a checkpoint if there is one. Every rank calls it equally often; rank 0's metrics are the run's.
---Without a checkpoint it returns at once; with one it returns when the checkpoint is committed, which takes the reports of
---this number from all ranks.
---@param metrics table plain data; 0-dim tensors are converted
---@param options? {checkpoint: Checkpoint, checkpoint_dir_name: string} name of the folder under checkpoints/, else
---  checkpoint_000000 and so on
---Counterpart: ray.train.report. Raises code 'argument' for what is no plain data and 'checkpoint', 'environment' or
---'timeout' when the checkpoint cannot be committed.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function(config)
---    for epoch = 1, config.epochs do
---      train.tempdir(function(dir)
---        torch.save({epoch = epoch}, dir .. '/state.pt')
---        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
---      end)
---    end
---  end,
---  train_loop_config = {epochs = 3},
---}):fit()
---assert(result.metrics.epoch == 3 and #result.metrics_dataframe == 3)
---assert(torch.load(result.checkpoint.path .. '/state.pt').epoch == 3)
---```
function report.report(metrics, options)
  local state = session.get('train.report()')
  metrics = plain_metrics(metrics)
  options = check_options(options)
  local worker = require 'rtrain._worker'
  if options.checkpoint == nil then
    worker.report(metrics, {})
    return
  end
  local path = options.checkpoint.path
  local committed = worker.report(metrics, {
    checkpoint = path,
    temporary = state.tempdirs[path] == true,
    checkpoint_dir_name = options.checkpoint_dir_name,
  })
  if committed then state.checkpoint = Checkpoint(committed) end
end

---The checkpoint to go on from: the one the attempt started with, then the last one that this rank attached itself.
---Counterpart: ray.train.get_checkpoint.
---@return Checkpoint? checkpoint nil when there is none
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local first = 1
---    local checkpoint = train.get_checkpoint()
---    if checkpoint then
---      first = checkpoint:with_directory(function(dir) return torch.load(dir .. '/state.pt').epoch end) + 1
---    end
---    for epoch = first, 3 do
---      if epoch == 3 and first == 1 then error('lost half way') end
---      train.tempdir(function(dir)
---        torch.save({epoch = epoch}, dir .. '/state.pt')
---        train.report({epoch = epoch, first = first}, {checkpoint = train.Checkpoint.from_directory(dir)})
---      end)
---    end
---  end,
---  run_config = train.RunConfig {failure_config = train.FailureConfig {max_failures = 1}},
---}):fit()
---assert(result.metrics.epoch == 3 and result.metrics.first == 3)
---```
function report.get_checkpoint() return session.get('train.get_checkpoint()').checkpoint end

return report
