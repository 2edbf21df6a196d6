-- rtrain/launch/far_job.lua: what node 0 of `rtrain run --nodes` and the user's machine say to each other in files.
--
-- In the job's folder (rtrain.nodes.remote) node 0 reads the command that the user has typed, and writes the names of its
-- runs. The user's machine has a file for each such run (rtrain.nodes.far_runs), until a run of its own gets that name.

local read_file = require 'base.read_file'
local system = require 'base._system'

local far_job = {}

-- Returns the path of a file in the job's folder, whose `work` is the working folder; nil in other jobs.
local function path_of(allocation, folder, name)
  local is_far = allocation.engine == 'ssh' and folder:match '([^/]*)/work$' == allocation.job_id
  return is_far and folder:gsub('work$', name) or nil
end

---@param allocation Allocation
---@param folder string? this process's working folder; nil in other jobs than those of --nodes
---@return string[]? words nil where the user has typed the command of this process
---
---```lua
---local far_job = require 'rtrain.launch.far_job'
---assert(far_job.command({engine = 'local'}, '/home/me') == nil)
---```
function far_job.command(allocation, folder)
  local path = path_of(allocation, folder, 'command')
  local text = path and read_file(path)
  return text and system.from_json(text) or nil
end

---Adds a run's name to those of the job.
---@param allocation Allocation
---@param folder string? this process's working folder; nil in other jobs than those of --nodes
---@param name string
function far_job.add_run(allocation, folder, name)
  local path = path_of(allocation, folder, 'runs')
  local file = path and io.open(path, 'a')
  if not file then return end  -- the run does not need it
  file:write(name, '\n')
  file:close()
end

---Returns the file in which the user's machine notes where that run is.
---@param name string of the run
---@return string path
function far_job.path_of_run(name)
  local state = os.getenv 'XDG_STATE_HOME'
  if not state or state == '' then state = (os.getenv 'HOME' or '') .. '/.local/state' end
  return ('%s/rtrain/nodes/%s'):format(state, name)
end

---Forgets where a run is, since one of that name begins on this machine.
---@param name string
function far_job.forget(name) os.remove(far_job.path_of_run(name)) end

return far_job
