-- rtrain/worker/run_flags.lua: RunFlags: flags of `rtrain run` that act on a train function: --seed, --deterministic,
-- --limit-batches, --overfit.

local run_flags = {}

---@class RunFlags
---@field seed? integer
---@field deterministic? boolean
---@field limit_batches? integer
---@field overfit? integer
---@field tryout? {probe: string, folder: string, wait_s: number} set by `rtrain check` and similar commands, with the
---  probe's options

-- A reference to the command's flags would be serialized as a part of their module, which workers do not have.
local function copy(asked)
  if not asked then return nil end
  local out = {}
  for key, value in next, asked do out[key] = value end
  return out
end

---Returns the flags of a command; nil if none of them was given.
---@param flags table of the command
---@return RunFlags?
function run_flags.of(flags)
  local is_asked = flags.seed or flags.deterministic or flags.limit_batches or flags.overfit or flags.tryout
  if not is_asked then return nil end
  return {seed = flags.seed, deterministic = flags.deterministic, limit_batches = flags.limit_batches, overfit = flags.overfit,
          tryout = copy(flags.tryout)}
end

---Applies the flags in a worker, before its train function.
---@param asked RunFlags?
---@param uses_torch boolean
function run_flags.apply(asked, uses_torch)
  if not asked then return end
  if asked.seed then
    math.randomseed(tonumber(asked.seed))
    require('torch').manual_seed(asked.seed)
  end
  if asked.deterministic and uses_torch then
    require('rtrain.torch').enable_reproducibility(asked.seed or 0)
  end
  require('torch.utils.data.loop_limit').set(asked.overfit or asked.limit_batches, asked.overfit ~= nil)
end

---Called when the train function has ended: in local mode the process continues.
---@param asked RunFlags?
function run_flags.undo(asked)
  if asked then require('torch.utils.data.loop_limit').set(nil) end
end

---Applies the flags in the script's process, before the script: LibTorch is seeded when it is loaded.
---@param seed integer
function run_flags.seed_script(seed)
  math.randomseed(tonumber(seed))
  local open = package.preload['torch._C']
  package.preload['torch._C'] = function(...)
    local engine = open(...)
    engine.manual_seed(seed)
    return engine
  end
end

return run_flags
