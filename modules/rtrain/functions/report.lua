-- rtrain/functions/report.lua: report() and get_checkpoint(), for the train function.

local args = require 'base.args'
local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local dataset_shards = require 'rtrain.functions.dataset_shards'
local errors = require 'base.errors'
local not_finite = require 'rtrain.session.not_finite'
local phases = require 'base.phases'
local plain_metrics = require 'rtrain.metrics.plain'
local script_order = require 'rtrain.metrics.script_order'
local session = require 'rtrain.session'
local timing = require 'rtrain.session.timing'
local validation = require 'rtrain.functions.validation'

local report = {}

local OPTIONS = {'checkpoint', 'checkpoint_dir_name', 'checkpoint_upload_mode', 'delete_local_checkpoint_after_upload',
                 'checkpoint_upload_fn', 'validation'}

local MODES = {'SYNC', 'ASYNC', 'NO_UPLOAD'}

local function check_types(options)
  if options.checkpoint ~= nil and not class.is(options.checkpoint, Checkpoint) then
    errors.raise('argument', 'report: checkpoint is not a Checkpoint: use train.Checkpoint.from_directory(dir)')
  end
  local fn = options.checkpoint_upload_fn
  if fn ~= nil and type(fn) ~= 'function' then
    errors.raise('argument', ('report: checkpoint_upload_fn is a %s: expected a function(checkpoint, dir_name) that returns '
      .. 'a Checkpoint'):format(type(fn)))
  end
  local delete = options.delete_local_checkpoint_after_upload
  if delete ~= nil and type(delete) ~= 'boolean' then
    errors.raise('argument', ('report: delete_local_checkpoint_after_upload is a %s: expected true or false')
      :format(type(delete)))
  end
  if options.checkpoint_upload_mode ~= nil then
    args.one_of('report: checkpoint_upload_mode', options.checkpoint_upload_mode, MODES)
  end
end

local function check_options(options)
  options = args.options(options, OPTIONS, 'report')
  check_types(options)
  if options.validation and options.checkpoint == nil then
    errors.raise('argument', 'report: validation without a checkpoint: there is nothing to validate')
  end
  return options
end

-- Returns whether the folder is from train.tempdir, so that an upload may take it over.
local function is_temporary(state, path)
  local known = state.tempdirs[path]
  if known ~= 'taken' then return known == true end
  errors.raise('argument', ('report: %s is being uploaded as the checkpoint of an earlier report of mode ASYNC'):format(path))
end

-- With ASYNC the folder must outlive the function of train.tempdir: the upload takes it over.
local function give_away(state, path, options)
  if options.checkpoint_upload_mode == 'ASYNC' and is_temporary(state, path) then state.tempdirs[path] = 'taken' end
end

-- Adds the trainer's metadata to the checkpoint's, without replacing values.
local function add_metadata(state, checkpoint)
  if checkpoint == nil or checkpoint.filesystem or next(state.metadata) == nil then return end
  local own = checkpoint:get_metadata()
  local merged, is_changed = own, false
  for name, value in next, state.metadata do
    if own[name] == nil then merged[name], is_changed = value, true end
  end
  if is_changed then checkpoint:set_metadata(merged) end
end

-- Returns the options for the host.
local function host_options(state, options)
  local mode = options.checkpoint_upload_mode or 'SYNC'
  local delete = options.delete_local_checkpoint_after_upload
  if delete == nil then delete = mode == 'ASYNC' end
  local path = options.checkpoint and options.checkpoint.path
  return {
    checkpoint = path,
    temporary = path ~= nil and is_temporary(state, path) and mode ~= 'NO_UPLOAD',
    checkpoint_dir_name = options.checkpoint_dir_name or '',
    checkpoint_upload_mode = mode,
    delete_local_checkpoint_after_upload = delete,
    validation = validation.spec(options.validation, state.validation_config),
    is_for_all = false,
  }
end

local function check_uploaded(uploaded)
  if class.is(uploaded, Checkpoint) then return uploaded end
  errors.raise('argument', ('report: checkpoint_upload_fn must return a Checkpoint, the one that is to be registered; it '
    .. 'returned %s'):format(uploaded == nil and 'nil' or 'a ' .. type(uploaded)))
end

-- Calls the user's upload function between the two halves of a report. The other ranks are notified if it fails.
local function upload_with(fn, worker, state, metrics, options, checkpoint)
  local name = worker.begin_upload(metrics, options)
  local temporary
  local ok, uploaded = xpcall(function()
    local given = check_uploaded(fn(checkpoint, name))
    temporary = is_temporary(state, given.path)
    return given
  end, errors.wrap)
  if not ok then
    worker.fail_upload(uploaded)
    error(uploaded, 0)
  end
  worker.end_upload(uploaded.path, temporary)
  give_away(state, uploaded.path, options)
end

local function send(state, metrics, options)
  local worker = require 'rtrain._worker'
  if options == nil then return worker.report(metrics) end
  options = check_options(options)
  add_metadata(state, options.checkpoint)
  local fn = options.checkpoint_upload_fn
  if fn and options.checkpoint and options.checkpoint_upload_mode ~= 'NO_UPLOAD' then
    return upload_with(fn, worker, state, metrics, host_options(state, options), options.checkpoint)
  end
  options = host_options(state, options)
  worker.report(metrics, options)
  if options.checkpoint then give_away(state, options.checkpoint, options) end
end

---@class ReportOptions
---@field checkpoint? Checkpoint
---@field checkpoint_dir_name? string the folder under checkpoints/, by default checkpoint_000000 and so on; rank 0's
---  name is used
---@field checkpoint_upload_mode? 'SYNC'|'ASYNC'|'NO_UPLOAD' default SYNC
---@field delete_local_checkpoint_after_upload? boolean default true for ASYNC, else false; without effect with NO_UPLOAD
---@field checkpoint_upload_fn? fun(checkpoint: Checkpoint, dir_name: string): Checkpoint called in place of the
---  copying, in every mode by the train function's own thread, since no other thread may run Lua; returns the
---  Checkpoint to register, a folder inside the run's. Without effect with NO_UPLOAD
---@field validation? boolean|ValidationTaskConfig validate the checkpoint during the training, by the trainer's
---  validation_config

---Reports metrics, and optionally a checkpoint. Every rank must call it the same number of times; the run's metrics are
---those of rank 0. Without a checkpoint it returns at once. A checkpoint is committed when every rank has made the
---report of this number and all files are staged; in the modes SYNC and NO_UPLOAD report() returns then, in ASYNC at
---once. One upload runs at a time: the next report with a checkpoint waits for the one before. Unfinished uploads are
---awaited when the train function returns.
---
---A rank's files are copied first (SYNC, ASYNC); a folder of train.tempdir is moved instead, and no longer exists
---afterwards. The files of all ranks are merged into one folder; of files with the same name that of the lowest rank is
---kept, with a warning if they differ.
---@param metrics table plain data; 0-dim tensors are converted. They are shown in the order of the script
---@param options? ReportOptions
---Ray equivalent: ray.train.report. Raises code 'argument' for a value that is not plain data and 'checkpoint',
---'environment' or 'timeout' if the checkpoint cannot be committed; a failed upload of mode ASYNC ends the attempt with
---that error.
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
  if state.virtual then
    metrics = state.virtual:report(metrics)
    if metrics == nil then return end
  end
  local plain = plain_metrics(metrics, 'report')
  not_finite.see_metrics(plain)
  local depth = phases.enter(phases.CHECKPOINT)
  send(state, script_order(plain, 2), options)
  phases.leave(depth)
  dataset_shards.record(state)
  timing.record(state)
  if state.pump then state.pump() end
  if state.trial then state.trial:after_report(plain, options ~= nil and options.checkpoint ~= nil) end
  if state.probe then state.probe:after_report() end
end

---Makes a report of rank 0, without a checkpoint, that counts for every rank; the other ranks do not report.
---@param metrics table plain data, in order
---Raises code 'argument' if the metrics are too large.
function report.report_for_all(metrics)
  local state = session.get('a status')
  not_finite.see_metrics(metrics)
  require('rtrain._worker').report(metrics, {
    temporary = false, checkpoint_upload_mode = 'SYNC', delete_local_checkpoint_after_upload = false, checkpoint_dir_name = '',
    is_for_all = true,
  })
  if state.trial then state.trial:after_report(metrics, false) end
end

---Returns the checkpoint to continue from: first the checkpoint that the attempt started with, then the last committed
---checkpoint that this rank attached itself. After a report of mode ASYNC that may still be the one before.
---Ray equivalent: ray.train.get_checkpoint.
---@return Checkpoint? checkpoint nil if there is none
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
function report.get_checkpoint()
  local state = session.get('train.get_checkpoint()')
  session.take_place()
  local own = require('rtrain._worker').last_checkpoint()
  if own and not (state.checkpoint and state.checkpoint.path == own) then state.checkpoint = Checkpoint(own) end
  return state.checkpoint
end

return report
