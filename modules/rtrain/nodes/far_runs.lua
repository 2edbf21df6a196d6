-- rtrain/nodes/far_runs.lua: which runs are on other machines: commands such as `rtrain logs RUN` are then called there.

local far_job = require 'rtrain.launch.far_job'
local write_file = require 'base.write_file'
local read_file = require 'base.read_file'
local remote = require 'rtrain.nodes.remote'
local ssh = require 'rtrain.nodes.ssh'
local system = require 'base._system'

local far_runs = {}

---Remembers where a run is.
---@param name string of the run
---@param plan NodesPlan
function far_runs.add(name, plan)
  local path = far_job.path_of_run(name)
  system.make_folders((path:gsub('/[^/]*$', '')))
  local node = plan.nodes[1]
  write_file(path, system.to_json {target = node.target, is_local = node.is_local, job = plan.job,
    program = plan.program, storage = plan.storage})
end

-- Returns where the first of these words that is a run's name leads.
local function find(words)
  for _, word in ipairs(words) do
    local is_name = system.run_name_problem(word) == nil
    local text = is_name and read_file(far_job.path_of_run(word))
    if text then return system.from_json(text) end
  end
end

---Returns the command that calls rtrain where the run is.
---@param words string[] of rtrain's command line: 'logs', '-f', 'train-1'
---@param terminal boolean whether the command gets this process's terminal
---@return string[]? command nil if no word is the name of such a run
function far_runs.command(words, terminal)
  local where = find(words)
  if not where then return nil end
  local call = {unpack(where.program)}
  for _, word in ipairs(words) do call[#call + 1] = word end
  if where.storage then call[#call + 1], call[#call + 2] = '--storage', where.storage end
  return ssh.words({target = where.target, host = where.target, is_local = where.is_local}, nil,
    remote.call(where.job, call), {terminal = terminal})
end

return far_runs
