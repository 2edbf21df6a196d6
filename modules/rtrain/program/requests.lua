-- rtrain/program/requests.lua: the requests of a program to its worker, as lines of JSON on descriptor 3.
--
-- A request is {"call": NAME, …}. A request with an "id" is answered by {"id": …, "value": …} or by {"id": …, "error":
-- {code, message}}; a request without an id is not answered, and its error ends the program. JSON has no NaN and
-- infinities: {"$float": "nan"} and similar objects stand for them.

local Checkpoint = require 'rtrain.results.checkpoint'
local errors = require 'base.errors'
local session = require 'rtrain.session'

-- status_endpoint: whether the run's reports come from the endpoint. run_config: the run's configs.
local requests = {status_endpoint = false, run_config = {}}

local FLOATS = {nan = 0 / 0, inf = math.huge, ['-inf'] = -math.huge}

local function with_floats(value)
  if type(value) ~= 'table' then return value end
  local special = FLOATS[rawget(value, '$float')]
  if special then return special end
  for key, item in next, value do
    if type(item) == 'table' then value[key] = with_floats(item) end
  end
  return value
end

local function on_context()
  local context = session.get('a program').context
  local out = {}
  for _, name in ipairs {'world_size', 'world_rank', 'local_rank', 'local_world_size', 'node_rank', 'experiment_name',
                         'storage_path', 'run_path', 'attempt'} do
    out[name] = context[name]
  end
  out.run_config = requests.run_config
  return out
end

local function on_report(request)
  if requests.status_endpoint then
    errors.raise('user', "report(): this run's reports are what rank 0 posts to its status endpoint (--status-endpoint), which "
      .. 'counts for all ranks: leave the option away, or record numbers with log()')
  end
  local options
  if request.checkpoint then
    options = {
      checkpoint = Checkpoint.from_directory(request.checkpoint),
      checkpoint_dir_name = request.checkpoint_dir_name,
      checkpoint_upload_mode = request.checkpoint_upload_mode,
      delete_local_checkpoint_after_upload = request.delete_local_checkpoint_after_upload,
    }
  end
  require('rtrain.functions.report').report(with_floats(request.metrics), options)
end

local function on_get_checkpoint()
  local checkpoint = require('rtrain.functions.report').get_checkpoint()
  return checkpoint and checkpoint.path
end

local function on_stop_requested() return require('rtrain.functions.stop').stop_requested() end

local function on_log(request)
  require('rtrain.functions.log').log(with_floats(request.metrics), request.step and {step = request.step} or nil)
end

local function on_annotate(request)
  require('rtrain.functions.log').annotate(request.text, {severity = request.severity})
end

local CALLS = {
  context = on_context, report = on_report, get_checkpoint = on_get_checkpoint, stop_requested = on_stop_requested,
  log = on_log, annotate = on_annotate,
}

---Executes a request.
---@param request table
---@return any value plain data
---Raises the error of the call; code 'user' for an unknown call.
function requests.carry_out(request)
  local call = CALLS[request.call]
  if not call then
    errors.raise('user', ('a program asked for %s, which there is not'):format(tostring(request.call)))
  end
  return call(request)
end

return requests
