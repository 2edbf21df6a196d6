-- rtrain/launch/engines/kubernetes.lua: a pod of an Indexed Job or of a JobSet: one process a pod.
--
-- RTRAIN_NNODES says that the pods of the Job are one run: an Indexed Job is also used for independent tasks.

local kubernetes = {name = 'kubernetes', rule = 'JOB_COMPLETION_INDEX and RTRAIN_NNODES are set'}

local PORT = 29400  -- a pod has a network of its own: nobody else listens there

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function kubernetes.detect(getenv, facts) return facts:has('JOB_COMPLETION_INDEX', 'RTRAIN_NNODES') end

-- The pods of one Job differ in the number behind their names: train-0.train, train-1.train.
local function hosts_of(addr, num_nodes)
  local before, after = addr:match '^([^.]*%-)0(%..*)$'
  if before == nil then return nil end
  local hosts = {}
  for i = 0, num_nodes - 1 do hosts[i + 1] = before .. i .. after end
  return hosts
end

---@param getenv fun(name: string): string?
---@param facts Facts
function kubernetes.allocation(getenv, facts)
  local num_nodes = facts:needed_integer('num_nodes', 'RTRAIN_NNODES', 1)
  facts:needed_integer('node_rank', 'JOB_COMPLETION_INDEX', 0)
  local addr = facts:get 'RTRAIN_MASTER_ADDR'
  if addr then
    local port = facts:integer('port', 'RTRAIN_MASTER_PORT', 1)
    if port == nil then
      port = PORT
      facts:set('port', PORT, 'of rtrain in a pod')
    end
    facts:set('master', {addr = addr, port = port}, facts:shown 'RTRAIN_MASTER_ADDR')
    local hosts = hosts_of(addr, num_nodes)
    if hosts then facts:set('hosts', hosts, facts:shown 'RTRAIN_MASTER_ADDR') end
  elseif num_nodes > 1 then
    facts:missing 'RTRAIN_MASTER_ADDR'
  end
  if facts:text('job_id', 'RTRAIN_JOB_ID') then facts:set('is_batch', true, facts.origins.job_id) end
end

return kubernetes
