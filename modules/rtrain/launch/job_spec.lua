-- rtrain/launch/job_spec.lua: converts an Allocation over several nodes for the executable.
--
-- The fields are those of host/node/job_spec.h, which tests/unit/node/job_spec_test.cpp compares with the classes here.

local places = require 'rtrain.launch.place'

local job_spec = {}

---The ranks of this node, if the launcher has started their processes.
---@class JoinSpec
---@field socket string where they connect, in the runtime folder
---@field num_ranks integer of this node

---@class JobSpec
---@field num_tasks integer processes of the launcher: one on each node, or one for each rank
---@field task integer number of this process; 0 is the controller's
---@field local_task integer number among those of this node; 0 is its agent
---@field join? JoinSpec present if each process is a rank
---@field id string of this start of the job, the same on all nodes
---@field hosts string[] names in the launcher's order, as far as known
---@field master string address of task 0; '' if unknown
---@field port integer port at which task 0 listens
---@field cores? integer cores of this node that belong to the job
---@field most_workers? integer of this node
---@field has_own_disks boolean a node that does not see node 0's results works without them

---@param allocation Allocation
---@return JobSpec? job nil if the job has a single node
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
    most_workers = a.has_own_disks and a.workers_per_node or nil,
    has_own_disks = a.has_own_disks or false,
  }
end

return job_spec
