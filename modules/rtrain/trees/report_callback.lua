-- rtrain/trees/report_callback.lua: reports and checkpoints of rounds, for the callbacks of both tree libraries.

local args = require 'base.args'
local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

local report_callback = {}

report_callback.OPTIONS = {'metrics', 'filename', 'frequency', 'checkpoint_at_end', 'results_postprocessing_fn',
                           'checkpoint_upload_mode'}

local function check(name, options)
  local frequency = options.frequency
  if frequency ~= nil and (type(frequency) ~= 'number' or frequency < 0 or frequency % 1 ~= 0) then
    errors.raise('argument', ('%s: frequency = %s: expected an integer of at least 0'):format(name, tostring(frequency)))
  end
  local metrics = options.metrics
  if metrics ~= nil and type(metrics) ~= 'string' and type(metrics) ~= 'table' then
    errors.raise('argument', ("%s: metrics is a %s, expected a name, a list of names, or a table {reported = 'data-metric'}")
      :format(name, type(metrics)))
  end
end

---Returns the options, with their defaults.
---@param name string name of the class, for messages
---@param filename string
---@param options? table
---@return table
function report_callback.options(name, filename, options)
  options = args.options(options, report_callback.OPTIONS, name)
  check(name, options)
  local given = {frequency = 0, checkpoint_at_end = true, filename = filename}
  for key, value in next, options do given[key] = value end
  return given
end

local function chosen(name, all, wanted)
  if wanted == nil then return all end
  local out = ordered.new()
  local function take(reported, metric)
    if all[metric] == nil then
      errors.raise('argument', ("%s: there is no metric '%s'%s"):format(name, metric,
        errors.suggestion(metric, ordered.names_of(all))))
    end
    out[reported] = all[metric]
  end
  if type(wanted) == 'string' then
    take(wanted, wanted)
  elseif #wanted > 0 then
    for _, metric in ipairs(wanted) do take(metric, metric) end
  else
    for _, reported in ipairs(ordered.names_of(wanted)) do take(reported, wanted[reported]) end
  end
  return out
end

-- Only rank 0 saves: all ranks have the same model. The other ranks report without a checkpoint.
local function send(options, metrics, save)
  local report = require('rtrain.functions.report').report
  if save == nil or require('rtrain.functions.context').get_context():get_world_rank() ~= 0 then return report(metrics) end
  require 'rtrain.functions.tempdir'(function(folder)
    save(folder .. '/' .. options.filename)
    report(metrics, {
      checkpoint = Checkpoint.from_directory(folder), checkpoint_upload_mode = options.checkpoint_upload_mode,
    })
  end)
end

---Reports a round, with a checkpoint if one is due, if the run is to stop, and at the end.
---@param name string name of the class, for messages
---@param options table a result of report_callback.options
---@param round {index: integer, metrics: table<string, number>, save: fun(path: string)} index: 0-based
---@param is_last? boolean
---@return boolean is_stopping whether the run is to stop, so that the training must end
function report_callback.report(name, options, round, is_last)
  local metrics = chosen(name, round.metrics, options.metrics)
  if options.results_postprocessing_fn then metrics = options.results_postprocessing_fn(metrics) end
  local is_stopping = require('rtrain.functions.stop').stop_requested()
  local is_due = options.frequency > 0 and (round.index + 1) % options.frequency == 0
  local is_end = is_last and options.checkpoint_at_end
  send(options, metrics, (is_due or is_end or is_stopping) and round.save or nil)
  return is_stopping
end

---Loads the model of a checkpoint.
---@param name string name of the class, for messages
---@param checkpoint Checkpoint
---@param filename string
---@param load fun(path: string): any
---@return any model
function report_callback.model_of(name, checkpoint, filename, load)
  if not class.is(checkpoint, Checkpoint) then
    errors.raise('argument', ('%s.get_model: expected a Checkpoint, got a %s'):format(name, type(checkpoint)))
  end
  return checkpoint:with_directory(function(folder) return load(folder .. '/' .. filename) end)
end

return report_callback
