-- rtrain/functions/log.lua: train.log and train.annotate: record numbers and notes of a rank, in addition to its
-- reports.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local number = require 'base.number'
local plain_metrics = require 'rtrain.metrics.plain'
local session = require 'rtrain.session'

local log = {}

local MAX_KEY_BYTES = 256
local MAX_TEXT_BYTES = 65536
local MAX_DEPTH = 60
local SEVERITIES = {'info', 'warning', 'error'}

local function check_key(key, prefix)
  if type(key) ~= 'string' then
    errors.raise('argument', ('log: the key %s%s is not text: expected {name = number}'):format(prefix, tostring(key)))
  end
  if key == '' then errors.raise('argument', 'log: a key is empty: give the number a name, such as {loss = 0.5}') end
  if #prefix + #key > MAX_KEY_BYTES then
    errors.raise('argument', ('log: a key has %d bytes, at most %d are allowed'):format(#prefix + #key, MAX_KEY_BYTES))
  end
end

local function number_of(value, name)
  if not number.of(value) then
    errors.raise('argument', ('log: metrics.%s is a %s: expected a number, a tensor without dimensions, or a table of these')
      :format(name, type(value)))
  end
  if not number.is_exact(value) then
    errors.raise('argument', ('log: metrics.%s = %s has more digits than a series keeps (53 bits): report() keeps them')
      :format(name, number.text(value)))
  end
  return number.of(value)
end

local function is_map(value) return type(value) == 'table' and class.of(value) == nil and value[1] == nil end

-- Adds the numbers of a map; those of nested maps get the names of report(), such as 'val/loss'.
local function add_numbers(metrics, prefix, depth, out)
  for key, value in next, metrics do
    check_key(key, prefix)
    local name = prefix .. key
    if is_map(value) then
      if depth == MAX_DEPTH then
        errors.raise('argument', ('log: metrics.%s: nested too deeply, or a table within itself'):format(name))
      end
      add_numbers(value, name .. '/', depth + 1, out)
    else
      if out[name] ~= nil then errors.raise('argument', ("log: there are two metrics with the name '%s'"):format(name)) end
      out[name] = number_of(value, name)
    end
  end
end

-- Returns the metrics as numbers: tensors without dimensions become numbers, and nested tables get names by their
-- paths. Any other value raises an error with its name.
local function plain(metrics)
  local out = {}
  add_numbers(plain_metrics(metrics, 'log'), '', 1, out)
  return out
end

local function check_metrics(metrics)
  if type(metrics) ~= 'table' then
    errors.raise('argument', ('log: expected a table of numbers, got %s'):format(type(metrics)))
  end
  for key in next, metrics do
    if type(key) == 'string' and (key == '' or #key > MAX_KEY_BYTES) then check_key(key, '') end
  end
end

local function step_of(options)
  if options == nil then return nil end
  local step = args.options(options, {'step'}, 'log').step
  if step == nil then return nil end
  if not number.of(step) or step % 1 ~= 0 then
    errors.raise('argument', ('log: step = %s: expected an integer'):format(tostring(step)))
  end
  return number.of(step)
end

---Records numbers of this step, on any rank and at any rate. Never waits and does not involve other ranks; the run's
---metrics are those of report(). `rtrain metrics RUN --series NAME` shows the points.
---
---Points are sent twice a second and stored compressed; if the worker is killed, those of the last half second are
---lost. At most a million points can wait to be stored; further points are dropped, and the run's record says how many.
---@param metrics table<string, number|table> name → number; tensors without dimensions are converted, and the numbers
---  of nested tables are named by their paths, 'val/loss', as in report()
---@param options? {step: integer} default one more than the step before, from 0 in each attempt
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    for step = 1, 100 do
---      train.log({loss = 1 / step, lr = 0.1}, {step = step})
---    end
---    train.report {steps = 100}
---  end,
---}):fit()
---assert(result.metrics.steps == 100)
---```
function log.log(metrics, options)
  local virtual = session.get('train.log()').virtual
  check_metrics(metrics)
  if virtual and virtual:is_further() then return end
  local worker = require 'rtrain._worker'
  local step = step_of(options)
  if worker.log(metrics, step) == nil then return end
  worker.log(plain(metrics), step)
end

---Writes a note with its time into the run's record; `rtrain show` lists the notes. Ray equivalent: ray.train.annotate.
---@param text string at most 64 KiB
---@param options? {severity: 'info'|'warning'|'error', rank_zero_only: boolean} default 'info', and true: ignores the
---  notes of other ranks
---
---```lua
---local train = require 'rtrain'
---train.TorchTrainer({
---  train_loop_per_worker = function()
---    train.annotate('learning rate lowered by hand', {severity = 'warning'})
---    train.report {loss = 0.5}
---  end,
---}):fit()
---```
function log.annotate(text, options)
  local state = session.get('train.annotate()')
  options = args.options(options, {'severity', 'rank_zero_only'}, 'annotate')
  if type(text) ~= 'string' or text == '' then
    errors.raise('argument', ('annotate: expected a string, got %s'):format(text == '' and 'an empty one' or type(text)))
  end
  if #text > MAX_TEXT_BYTES then
    errors.raise('argument', ('annotate: the text has %d bytes, at most %d are allowed'):format(#text, MAX_TEXT_BYTES))
  end
  local severity = args.one_of('annotate: severity', options.severity or 'info', SEVERITIES)
  if options.rank_zero_only ~= false and state.context.world_rank ~= 0 then return end
  if state.virtual and state.virtual:is_further() then return end
  require('rtrain._worker').annotate(text, severity)
end

return log
