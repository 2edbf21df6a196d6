-- rtrain/launch/job_spec.lua: what the executable needs of an Allocation over several hosts.
--
-- The fields are those of host/node/job_spec.h, which tests/unit/node/job_spec_test.cpp compares with the classes here.

local places = require 'rtrain.launch.place'

local job_spec = {}

---The ranks of this host, whose processes the launcher has started.
---@class JoinSpec
---@field socket string where they come to, in the runtime folder
---@field num_ranks integer of this host

---@class JobSpec
---@field num_tasks integer processes of the launcher: one on each host, or one for each rank
---@field task integer number of this one; 0 is the controller's
---@field local_task integer among those of this host; 0 is its agent
---@field join? JoinSpec each process is a rank
---@field id string of this start of the job, the same on all hosts
---@field hosts string[] names in the launcher's order, as far as it tells them
---@field master string where task 0 is; '': the launcher does not say
---@field port integer where task 0 listens
---@field cores? integer of this host that the job has

---@param allocation Allocation
---@return JobSpec? job nil where one host is all there is
function job_spec.of(allocation)
  local a = allocation
  local num_tasks = a.is_rank and a.world_size or a.num_nodes or 1
  if num_tasks <= (a.is_rank and a.tasks_on_node or 1) then return nil end
  local id, restarts = a.group or '', a.restart_count or 0
  return {
    num_tasks = num_tasks,
    task = (a.is_rank and a.rank or not a.is_rank and a.node_rank) or 0,
    local_task = a.is_rank and a.local_rank or 0,
    join = a.is_rank and {socket = places.socket(a), num_ranks = a.tasks_on_node} or nil,
    id = restarts > 0 and ('%s.%d'):format(id, restarts) or id,
    hosts = a.hosts or {},
    master = a.master and a.master.addr or '',
    port = a.port,
    cores = a.cores,
  }
end

return job_spec
