-- rtrain/launch/mpi_hosts.lua: derives the nodes of a job of mpirun, which states the numbers of processes and little
-- else.

local mpi_hosts = {}

---States the number of nodes and that of this node, as far as world_size, rank, tasks_on_node and local_rank determine
---them.
---
---If one process runs on each node, process numbers are node numbers. With several, only the number of nodes is
---certain: mpirun may distribute the processes by nodes or by slots.
---@param facts Facts
---Errors: 'config' if nodes have different numbers of processes and the number of nodes is not stated.
function mpi_hosts.state(facts)
  local values = facts.values
  local world_size, on_node = values.world_size, values.tasks_on_node
  if values.num_nodes == nil then
    if world_size % on_node ~= 0 then
      facts:refuse(facts.origins.world_size:match '^[^=]+', ('%d of the processes are on this node: start as many on each, '
        .. 'or set RTRAIN_NNODES to the number of nodes'):format(on_node))
    end
    facts:set('num_nodes', world_size / on_node, 'processes / processes on this node')
  end
  if values.num_nodes == world_size then facts:set('node_rank', values.rank, facts.origins.rank) end
end

return mpi_hosts
