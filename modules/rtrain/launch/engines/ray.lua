-- rtrain/launch/engines/ray.lua: a bundle of a placement group, in which the driver of `rtrain submit ray` has
-- started this process; or a process that was started by hand with the same variables.

local ray = {name = 'ray', rule = 'RTRAIN_NNODES, RTRAIN_NODE_RANK and RTRAIN_MASTER_ADDR are set'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function ray.detect(getenv, facts) return facts:has('RTRAIN_NNODES', 'RTRAIN_NODE_RANK', 'RTRAIN_MASTER_ADDR') end

---@param getenv fun(name: string): string?
---@param facts Facts
function ray.allocation(getenv, facts)
  facts:needed_integer('num_nodes', 'RTRAIN_NNODES', 1)
  facts:needed_integer('node_rank', 'RTRAIN_NODE_RANK', 0)
  local addr = facts:get 'RTRAIN_MASTER_ADDR'
  if addr == nil then facts:missing 'RTRAIN_MASTER_ADDR' end
  facts:set('master', {addr = addr, port = facts:integer('port', 'RTRAIN_MASTER_PORT', 1)},
    facts:shown 'RTRAIN_MASTER_ADDR')
  if facts:text('job_id', 'RTRAIN_JOB_ID') == nil then facts:missing 'RTRAIN_JOB_ID' end
  facts:set('is_batch', true, facts.origins.job_id)
  facts:devices()  -- the bundle's
end

return ray
