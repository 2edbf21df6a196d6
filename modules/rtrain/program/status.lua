-- rtrain/program/status.lua: what an unmodified program says of itself as one in a job of Kubeflow does (KEP-2779), which the
-- run's record takes as reports. Rank 0's program says it for all ranks.

local errors = require 'base.errors'
local number = require 'base.number'
local ordered = require 'base.ordered'
local report = require 'rtrain.functions.report'
local system = require 'base._system'

local status = {}

-- As Kubeflow's server.
local MAX_METRICS = 256
-- How Python writes what JSON has no number for.
local FLOATS = {nan = 0 / 0, inf = math.huge, ['-inf'] = -math.huge}

---What another launcher's endpoint would be: a program that finds these would post there.
status.DROPPED = {'KUBEFLOW_TRAINER_'}

-- Values are text; other text than a number stays text.
local function number_or_text(text)
  return FLOATS[text] or text:match '^[+-]?[%d.][%d.eE+-]*$' and number.read(text) or text
end

local function whole_number(fields, name, most)
  local value = fields[name]
  if value == nil then return nil end
  if type(value) == 'number' and value >= 0 and value <= most and value % 1 == 0 then return value end
  errors.raise('argument', ('trainerStatus.%s is %s: expected an integer from 0%s'):format(name, tostring(value),
    most < math.huge and (' to %d'):format(most) or ' on'))
end

local function add_metrics(out, metrics)
  if type(metrics) ~= 'table' then errors.raise('argument', 'trainerStatus.metrics is not a list') end
  if #metrics > MAX_METRICS then
    errors.raise('argument', ('trainerStatus.metrics has %d metrics: %d are taken at once'):format(#metrics, MAX_METRICS))
  end
  for i, metric in ipairs(metrics) do
    local name, value
    if type(metric) == 'table' then name, value = metric.name, metric.value end
    if type(name) ~= 'string' or name == '' or type(value) ~= 'string' then
      errors.raise('argument', ('trainerStatus.metrics[%d] is not {"name": string, "value": string}'):format(i - 1))
    end
    out[name] = number_or_text(value)
  end
end

---What a status says, as metrics: those of the program, `progress` (0 … 1) and `remaining_s`.
---@param body string JSON
---@return table? metrics in their order; nil where it says nothing
---Raises code 'argument' for what the protocol does not have.
function status.metrics_of(body)
  local document = system.from_json(body)
  if type(document) ~= 'table' then errors.raise('argument', 'a status is {"trainerStatus": {…}}') end
  local fields = document.trainerStatus
  if fields == nil then return nil end
  if type(fields) ~= 'table' then errors.raise('argument', 'trainerStatus is not an object') end
  local percent = whole_number(fields, 'progressPercentage', 100)
  local remaining = whole_number(fields, 'estimatedRemainingSeconds', math.huge)
  local out = ordered.new()
  if fields.metrics ~= nil then add_metrics(out, fields.metrics) end
  if percent and out.progress == nil then out.progress = percent / 100 end
  if remaining and out.remaining_s == nil then out.remaining_s = remaining end
  return next(out) ~= nil and out or nil
end

---Begins to listen, and says in the program's variables where.
---@param env table<string, string> of rank 0's program
---@return table endpoint
function status.serve(env)
  local endpoint = require('rtrain._program').serve_status()
  for _, name in ipairs {'SERVER', 'STATUS'} do  -- of SDKs that were written while the protocol was discussed
    env['KUBEFLOW_TRAINER_' .. name .. '_URL'] = endpoint:url()
    env['KUBEFLOW_TRAINER_' .. name .. '_TOKEN'] = endpoint:token_path()
  end
  return endpoint
end

---Reports what was posted and waits.
---@param endpoint table
---Raises what report() raises.
function status.take_all(endpoint)
  while true do
    local connection, body = endpoint:take()
    if not connection then return end
    local ok, metrics = xpcall(status.metrics_of, errors.wrap, body)
    if not ok then
      endpoint:refuse(connection, metrics.message)
    else
      if metrics then report.report_for_all(metrics) end
      endpoint:accept(connection)
    end
  end
end

return status
