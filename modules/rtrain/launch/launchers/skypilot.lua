-- rtrain/launch/launchers/skypilot.lua: a task of SkyPilot: one process a node.

local skypilot = {name = 'skypilot', rule = 'SKYPILOT_NODE_RANK is set'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function skypilot.detect(getenv, facts) return facts:has 'SKYPILOT_NODE_RANK' end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch '%S+' do lines[#lines + 1] = line end
  return lines
end

---@param getenv fun(name: string): string?
---@param facts Facts
function skypilot.allocation(getenv, facts)
  facts:needed_integer('node_rank', 'SKYPILOT_NODE_RANK', 0)
  local hosts = facts:parsed('hosts', 'SKYPILOT_NODE_IPS', lines_of, 'addresses, one in each line')
  if hosts == nil then facts:missing 'SKYPILOT_NODE_IPS' end
  if facts:integer('num_nodes', 'SKYPILOT_NUM_NODES', 1) == nil then
    facts:set('num_nodes', #hosts, facts.origins.hosts)
  end
  facts:set('master', {addr = hosts[1]}, facts.origins.hosts)
  if facts:text('job_id', 'SKYPILOT_TASK_ID') then facts:set('is_batch', true, facts.origins.job_id) end
end

return skypilot
