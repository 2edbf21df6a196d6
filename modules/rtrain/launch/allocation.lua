-- rtrain/launch/allocation.lua: the resources that a launcher allotted to this job, and the place of this process in
-- the job.

local errors = require 'base.errors'
local Facts = require 'rtrain.launch.facts'
local system = require 'base._system'

local allocation = {}

local FIRST_PORT, NUM_PORTS = 20000, 40000
local MOST_PROCESSES = 100000  -- a larger number is a mistake

---The place of this process among those that a launcher has started. A field is nil if the launcher does not state it.
---@class Allocation
---@field engine string 'slurm', 'openmpi', … or 'local'; for a site's launcher its own name
---@field rule string why this launcher was chosen: the variables that decided
---@field num_nodes? integer nodes of the job. nil: the agents of all nodes have arrived when their tasks_on_node sum
---  to world_size
---@field node_rank? integer number of this node, from 0. nil: nodes are numbered by their lowest rank
---@field hosts? string[] names in the launcher's order; they may not be resolvable
---@field world_size? integer processes that the launcher started, on all nodes
---@field rank? integer number of this process among them
---@field tasks_on_node integer processes that the launcher started on this node; 1 means a node agent
---@field local_rank integer number of this process among those on this node
---@field is_rank boolean whether each process is a rank of the run; false: there is one process a node, which starts
---  its workers
---@field workers_per_node? integer workers that the launcher requests on each node (PET_NPROC_PER_NODE)
---@field has_own_disks? boolean whether nodes may have no folder in common: checkpoints are fetched to node 0
---@field job_id? string the launcher's name of the job
---@field step_id? string what distinguishes several starts in one job
---@field group? string job and step: a name that only the processes of this start share
---@field restart_count? integer how often the launcher has started this job again; nil if unknown
---@field is_batch boolean whether a scheduler runs the job: the run is named after it, and a restart continues the
---  run
---@field time_left_command? string for a shell: prints the remaining time of the job, in Slurm's format
---@field requeue_command? string for a shell: starts the job again after the run has ended with status 75 (preempted)
---@field evict_command? string for a shell: reports to the launcher the node "$host" that the run has evicted, and
---  "$reason"
---@field master? {addr: string, port?: integer} the address of node 0 according to the launcher
---@field port integer port at which node 0 listens
---@field cores? integer cores that the launcher allotted on this node: rtrain does not lease them again
---@field devices? string[] allotted entries of CUDA_VISIBLE_DEVICES, which rtrain does not lease again either
---@field origins table<string, string> field → 'VARIABLE=value'
---@field warnings string[]

-- 'RANK = 2'
local function text_of(facts, field) return ((facts.origins[field] or field):gsub('=', ' = ', 1)) end

-- `what`: 'ranks'
local function check_below(facts, field, limit, what)
  local value, count = facts.values[field], facts.values[limit]
  if value == nil or count == nil or value < count then return end
  errors.raise('config', ('%s: with %s the %s are 0 to %d'):format(text_of(facts, field), text_of(facts, limit), what,
    count - 1))
end

local function check_not_above(facts, field, limit)
  local value, most = facts.values[field], facts.values[limit]
  if value == nil or most == nil or value <= most then return end
  errors.raise('config', ('%s is more than %s'):format(text_of(facts, field), text_of(facts, limit)))
end

local function check_size(facts, field)
  if (facts.values[field] or 0) <= MOST_PROCESSES then return end
  errors.raise('config', ('%s: a job has at most %d processes'):format(text_of(facts, field), MOST_PROCESSES))
end

local function check(facts)
  local values = facts.values
  for _, field in ipairs {'world_size', 'num_nodes', 'tasks_on_node'} do check_size(facts, field) end
  check_below(facts, 'rank', 'world_size', 'ranks')
  check_below(facts, 'node_rank', 'num_nodes', 'nodes')
  check_below(facts, 'local_rank', 'tasks_on_node', 'local ranks')
  check_not_above(facts, 'num_nodes', 'world_size')
  check_not_above(facts, 'tasks_on_node', 'world_size')
  if values.hosts and values.num_nodes and #values.hosts ~= values.num_nodes then
    errors.raise('config', ('%s names %d nodes, %s'):format(text_of(facts, 'hosts'), #values.hosts,
      text_of(facts, 'num_nodes')))
  end
end

local function default(facts, field, value, origin)
  if facts.values[field] == nil then facts:set(field, value, origin) end
end

local function group_of(values)
  if values.job_id == nil then return nil end
  local group = values.step_id and ('%s.%s'):format(values.job_id, values.step_id) or values.job_id
  return (group:gsub('[^%w_.@-]', '_'))
end

-- Returns a port that is the same on all nodes of one start, and different for most other jobs.
local function port_of(group) return FIRST_PORT + tonumber(system.hash(group):sub(-8), 16) % NUM_PORTS end

---Returns the allocation that a launcher states, checked and complete.
---@param launcher table with `name` and `allocation(getenv, facts)`
---@param rule string
---@param getenv fun(name: string): string?
---@param parent fun(): integer returns the process that started this one
---@return Allocation
---Errors: 'config' for inconsistent values, with variable and value.
function allocation.of(launcher, rule, getenv, parent)
  local facts = Facts(launcher.name, getenv, parent)
  launcher.allocation(getenv, facts)
  local values = facts.values
  default(facts, 'tasks_on_node', 1, 'one process a node')
  default(facts, 'local_rank', 0, 'one process a node')
  if values.rank == 0 or values.num_nodes == 1 then default(facts, 'node_rank', 0, 'the first node') end
  default(facts, 'is_batch', false, 'no scheduler')
  check(facts)
  local group = group_of(values)
  default(facts, 'port', port_of(group or ''), 'a hash of job and step')
  local out = {engine = launcher.name, rule = rule, group = group, origins = facts.origins, warnings = facts.warnings}
  out.is_rank = values.world_size ~= nil and values.world_size ~= values.num_nodes
  for field, value in next, values do out[field] = value end
  return out
end

return allocation
