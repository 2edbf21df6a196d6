-- rtrain/program/status.lua: the endpoint of Kubeflow's status protocol (KEP-2779), for unmodified programs. The run
-- records the posts of rank 0's program as reports of all ranks.

local errors = require 'base.errors'
local number = require 'base.number'
local ordered = require 'base.ordered'
local report = require 'rtrain.functions.report'
local system = require 'base._system'

local status = {}

-- The limit of Kubeflow's server.
local MAX_METRICS = 256
-- Python's spellings of values that JSON lacks.
local FLOATS = {nan = 0 / 0, inf = math.huge, ['-inf'] = -math.huge}

---Variables of another launcher's endpoint, to which the program would post otherwise.
status.DROPPED = {'KUBEFLOW_TRAINER_'}

-- Values are strings; those that are not numbers stay strings.
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

---Returns a status as metrics: those of the program, `progress` (0 … 1) and `remaining_s`.
---@param body string JSON
---@return table? metrics in their order; nil for an empty status
---Raises code 'argument' for a body that the protocol does not allow.
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

---Begins to listen, and sets the address in the program's variables.
---@param env table<string, string> variables of rank 0's program
---@return table endpoint
function status.serve(env)
  local endpoint = require('rtrain._program').serve_status()
  for _, name in ipairs {'SERVER', 'STATUS'} do  -- names in SDKs that predate the final protocol
    env['KUBEFLOW_TRAINER_' .. name .. '_URL'] = endpoint:url()
    env['KUBEFLOW_TRAINER_' .. name .. '_TOKEN'] = endpoint:token_path()
  end
  return endpoint
end

---Reports the waiting posts.
---@param endpoint table
---Raises the errors of report().
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
