-- rtrain/launch/launchers/ssh.lua: a process that `rtrain run --nodes` has started through ssh: one on each node.

local ssh = {name = 'ssh', rule = 'RTRAIN_LAUNCHER=ssh'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function ssh.detect(getenv, facts) return facts:get 'RTRAIN_LAUNCHER' == 'ssh' end

---@param getenv fun(name: string): string?
---@param facts Facts
function ssh.allocation(getenv, facts)
  facts:needed_integer('num_nodes', 'RTRAIN_NNODES', 1)
  facts:needed_integer('node_rank', 'RTRAIN_NODE_RANK', 0)
  if facts:text('job_id', 'RTRAIN_JOB_ID') == nil then facts:missing 'RTRAIN_JOB_ID' end
  local port = facts:integer('port', 'RTRAIN_MASTER_PORT', 1)
  local addr = facts:get 'RTRAIN_MASTER_ADDR'
  if addr then facts:set('master', {addr = addr, port = port}, facts:shown 'RTRAIN_MASTER_ADDR') end
  facts:integer('workers_per_node', 'RTRAIN_NODE_WORKERS', 1)
  facts:set('has_own_disks', true, 'nodes of ssh')
end

return ssh
