-- rtrain/launch/launchers/local.lua: no launcher: this process and this node alone.

local slurm_job = require 'rtrain.launch.slurm_job'

local local_ = {name = 'local', rule = 'no launcher has left its variables'}

---@return boolean
function local_.detect() return true end

---@param getenv fun(name: string): string?
---@param facts Facts
function local_.allocation(getenv, facts)
  facts:set('num_nodes', 1, 'this node')
  slurm_job.state(facts)
  slurm_job.warn_outside_step(facts)
end

return local_
