-- rtrain/launch/mpi_hosts.lua: derives the hosts of a job of mpirun, which states the numbers of processes and little
-- else.

local mpi_hosts = {}

---States the number of hosts and that of this host, as far as world_size, rank, tasks_on_node and local_rank determine
---them.
---
---If one process runs on each host, process numbers are host numbers. With several, only the number of hosts is
---certain: mpirun may distribute the processes by hosts or by slots.
---@param facts Facts
---Errors: 'config' if hosts have different numbers of processes and the number of hosts is not stated.
function mpi_hosts.state(facts)
  local values = facts.values
  local world_size, on_node = values.world_size, values.tasks_on_node
  if values.num_nodes == nil then
    if world_size % on_node ~= 0 then
      facts:refuse(facts.origins.world_size:match '^[^=]+', ('%d of the processes are on this host: start as many on each, '
        .. 'or set RTRAIN_NNODES to the number of hosts'):format(on_node))
    end
    facts:set('num_nodes', world_size / on_node, 'processes / processes on this host')
  end
  if values.num_nodes == world_size then facts:set('node_rank', values.rank, facts.origins.rank) end
end

return mpi_hosts
