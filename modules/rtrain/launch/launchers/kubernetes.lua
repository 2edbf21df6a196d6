-- rtrain/launch/launchers/kubernetes.lua: a pod of an Indexed Job or of a JobSet: one process a pod.
--
-- RTRAIN_NNODES marks the pods of the Job as one run: an Indexed Job is also used for independent tasks.

local manifest = require 'rtrain.launch.submit.kubernetes_manifest'
local program = require 'rtrain.launch.submit.program'
local random_hex = require 'base.random_hex'
local shell = require 'rtrain.launch.submit.shell'

local kubernetes = {name = 'kubernetes', rule = 'JOB_COMPLETION_INDEX and RTRAIN_NNODES are set'}

local PORT = 29400  -- each pod has its own network, so the port is free

-- Writes the termination message of a pod, which `kubectl describe pod` shows. An event would need additional
-- permissions.
local TELL = [[if [ -w /dev/termination-log ]; then echo "$host: $reason" >> /dev/termination-log; fi]]

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function kubernetes.detect(getenv, facts) return facts:has('JOB_COMPLETION_INDEX', 'RTRAIN_NNODES') end

-- The pods of a Job differ in the number in their names: train-0.train, train-1.train.
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
  facts:set('evict_command', TELL, 'of rtrain in a pod')
  if facts:text('job_id', 'RTRAIN_JOB_ID') then facts:set('is_batch', true, facts.origins.job_id) end
end

kubernetes.submit_options = {
  'nodes', 'gpus_per_node', 'cpus_per_task', 'num_workers', 'time', 'name', 'storage', 'set', 'image', 'namespace', 'claim',
  'credentials', 'jobset',
}

kubernetes.has_own_files = true  -- the script is in the image
kubernetes.needs_storage = 'uri'

---@param spec SubmitSpec
---@return string text
function kubernetes.render(spec) return manifest.render(spec) end

local FOLLOW = [[
submitted job %s
  its pods             kubectl get pods%s --selector rtrain/run=%s
  output               kubectl logs%s --follow --selector rtrain/run=%s,batch.kubernetes.io/job-completion-index=0
  end, and remove all  kubectl delete%s %s,service,secret --selector rtrain/run=%s
]]

---Creates secret, service and job, and prints how to follow them.
---@param spec SubmitSpec
---Errors: 'environment' without kubectl, and if the cluster refuses the objects.
function kubernetes.submit(spec)
  local name = manifest.name_of(spec)
  local notice = manifest.notice(spec)
  if notice then io.stderr:write('rtrain: ', notice, '\n') end
  if spec.name == nil then name = ('%s-%s'):format(name, random_hex(3)) end
  local text = manifest.secret(spec, name, random_hex(32)) .. manifest.render(spec, name)
  program.run({'kubectl', 'create', '--filename', '-'}, text, 'submit where kubectl and its configuration are')
  local namespace = spec.namespace and ' --namespace ' .. shell.word(spec.namespace) or ''
  io.write(FOLLOW:format(name, namespace, name, namespace, name, namespace, spec.jobset and 'jobset' or 'job', name))
end

return kubernetes
