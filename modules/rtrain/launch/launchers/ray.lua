-- rtrain/launch/launchers/ray.lua: a process that the driver of `rtrain submit ray` has started in a bundle of a
-- placement group, or that was started manually with the same variables.

local program = require 'rtrain.launch.submit.program'
local ray_driver = require 'rtrain.launch.submit.ray_driver'

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
  facts:devices()  -- those of the bundle
end

ray.submit_options = {
  'nodes', 'gpus_per_node', 'cpus_per_task', 'num_workers', 'name', 'storage', 'set', 'placement_strategy', 'address', 'python',
}

ray.needs_storage = 'any'  -- Ray's nodes have the environment of the cluster

ray.render = ray_driver.render

---Returns the driver, which replaces this process and waits for the run.
---@param spec SubmitSpec
---@param text string
---@return string[] words the program that replaces this process
---Errors: 'environment' without a Python that has ray.
function ray.submit(spec, text)
  local python = spec.python or 'python3'
  program.run({python, '-c', 'import ray'}, nil, "--python names the Python of Ray's environment")
  return {python, '-c', text}
end

return ray
