-- rtrain/nodes/plan.lua: makes the plan of a run on nodes from the options of the command line.

local environment = require 'rtrain.nodes.environment'
local errors = require 'base.errors'
local job_files = require 'rtrain.nodes.job_files'
local node_list = require 'rtrain.nodes.node_list'
local random_hex = require 'base.random_hex'
local real_path = require 'base.real_path'
local run_name = require 'rtrain.launch.run_name'
local system = require 'base._system'

local plan = {}

local FIRST_PORT, NUM_PORTS = 20000, 40000

local function port_of()
  local given = os.getenv 'RTRAIN_MASTER_PORT'
  local port = not given and FIRST_PORT + tonumber(random_hex(4), 16) % NUM_PORTS or tonumber(given)
  return port and port >= 1 and port <= 65535 and port
    or errors.raise('config', ("RTRAIN_MASTER_PORT = '%s': expected a port"):format(given))
end

-- A path of results is one of node 0, whose working folder is the job's: a relative one is below its home.
local function storage_there(storage)
  if storage == nil or storage:find '^[/~]' or system.is_object_uri(storage) then return storage end
  return '~/' .. storage
end

-- Returns the absolute path in $RTRAIN_DATA.
local function data_folder(home)
  local given = os.getenv 'RTRAIN_DATA'
  if not given or given == '' then return nil end
  return system.absolute((given:gsub('^~', home or '~')))
end

local function words_of(request, out, script)
  local words = {unpack(out.program)}
  local function add(...)
    for _, word in ipairs {...} do words[#words + 1] = word end
  end
  add('run', unpack(request.options))
  if out.name then add('--name', out.name) end
  if out.storage then add('--storage', out.storage) end
  add(script)
  if #request.args > 0 then add('--', unpack(request.args)) end
  return words
end

---@class NodesRequest
---@field nodes string --nodes
---@field script? string
---@field options string[] words of `rtrain run` for node 0, but for --name and --storage
---@field args string[] the script's
---@field command? string[] what the user has typed
---@field name? string
---@field storage? string
---@field with? string[]
---@field bundle? string
---@field detach boolean
---@field quiet boolean
---@field terminal boolean whether the run can have this process's terminal

---@param request NodesRequest
---@return NodesPlan
---Errors: 'usage', 'config' for wrong options.
function plan.of(request)
  local executable = real_path '/proc/self/exe'
  local out = {
    nodes = node_list.parse(request.nodes), job = random_hex(6), key = random_hex(32), port = port_of(),
    executable = executable, program = request.bundle and {'../rtrain', '--rtrain'} or {'../rtrain'},
    is_quiet = request.quiet, is_detached = request.detach, name = request.name, storage = storage_there(request.storage),
    command = request.command,
  }
  if request.detach and not out.name then out.name = run_name.make(request.script) end
  local home = os.getenv 'HOME'
  local data = data_folder(home)
  local script, place
  out.files, script, place = job_files.of {script = request.script, program = request.bundle or executable,
    with = request.with, data = data}
  out.environment = environment.script {python = environment.python(executable, os.getenv), home = home, data = data,
    data_place = place}
  if script then out.words = words_of(request, out, script) end
  return out
end

return plan
