-- rtrain/display/json_lines.lua: JsonLines: the output of `rtrain run --json`: the events of a run as JSON lines.
--
-- Programs read the lines: modules/rtrain/guide/events.md documents the keys, tests/e2e/events.schema.json checks them.
-- Keys may be added; removing a key or changing its meaning requires a new `version`.

local class = require 'base.class'
local ordered = require 'base.ordered'
local system = require 'base._system'

local VERSION = 1

---@class JsonLines
local JsonLines = class('JsonLines')

---@class JsonLinesOptions
---@field fd integer descriptor that the lines are written to
---@field logging? LoggingConfig which messages are included, default all
---@field config? table train_loop_config

---@param spec RunSpec
---@param options JsonLinesOptions
function JsonLines:init(spec, options)
  self._spec, self._fd, self._logging = spec, options.fd, options.logging
  self._config = next(options.config or {}) ~= nil and options.config or ordered.new()
  self._attempt = 0
end

-- A line that cannot be written is dropped: the run must not wait for the reader.
function JsonLines:_write(name, time_ms, fields)
  local line = ordered.new {
    {'event', name}, {'time', system.time_text(time_ms)}, {'run', self._spec.name}, {'attempt', self._attempt},
  }
  for _, pair in ipairs(fields) do line[pair[1]] = pair[2] end
  system.write(self._fd, system.to_json(line) .. '\n')
end

---Called when the run has begun.
---@param run_id string
function JsonLines:begin(run_id)
  local spec = self._spec
  self:_write('run', system.now_ms(), {
    {'version', VERSION}, {'run_id', run_id}, {'path', ('%s/%s'):format(spec.storage_path, spec.name)},
    {'script', spec.script}, {'num_workers', spec.max_workers}, {'config', self._config},
  })
end

---Writes a message of rtrain.
---@param text string
---@param level? string 'info', 'warning' (default) or 'error'
function JsonLines:notice(text, level)
  level = level or 'warning'
  if self._logging and not self._logging:shows(level) then return end
  self:_write('notice', system.now_ms(), {{'level', level}, {'text', text}})
end

-- The events of the controller that are published, each with its public name and keys.
local EVENTS = {
  state = {'state', 'state', 'num_workers'},
  attempt_begun = {'attempt', 'first_index'},
  report = {'report', 'index', 'metrics', 'ranks', 'checkpoint'},
  validated = {'validated', 'checkpoint', 'status', 'metrics'},
  draining = {'draining', 'validations'},
  stacks = {'stacks', 'text'},
  stopping = {'stopping', 'kind', 'by', 'grace_s'},
  attempt_failed = {'attempt_failed', 'error', 'will_retry', 'delay_s', 'reason', 'next_attempt'},
  evicted = {'evicted', 'node'},
  straggler = {'straggler', 'rank', 'host', 'cause', 'lost_s', 'share', 'has_passed', 'text'},
  loop = {'progress', 'rank', 'batch', 'rate', 'batches', 'batch_size', 'samples', 'dataset_size'},
  output = {'output', 'rank', 'validation', 'stream', 'text'},
  finished = {'finished', 'status', 'run_id', 'path', 'reports', 'attempts', 'waited_s', 'metrics', 'checkpoint',
              'best_checkpoints', 'error', 'return_value'},
}

local function logged_of(event)
  local values = ordered.new()
  for i, name in ipairs(event.names) do values[name] = event.values[i] end
  return {{'rank', event.rank}, {'metrics', values}}
end

---Writes an event of the controller.
---@param event table
function JsonLines:show(event)
  self._attempt = math.max(self._attempt, event.attempt or 0)
  if event.type == 'notice' then return self:notice(event.text, event.level) end
  if event.type == 'logged' then return self:_write('log', event.time, logged_of(event)) end
  local shape = EVENTS[event.type]
  if shape == nil or event.is_progress then return end
  local fields = {}
  for i = 2, #shape do fields[i - 1] = {shape[i], event[shape[i]]} end
  self:_write(shape[1], event.time, fields)
end

---Does nothing: there is no screen to clear.
function JsonLines:clear() end

---Called when nothing happened for a while.
function JsonLines:tick() end

return JsonLines
