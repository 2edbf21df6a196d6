-- rtrain/worker/run_flags.lua: what `rtrain run` asks of a train function, whatever its script says: --seed, --deterministic,
-- --limit-batches, --overfit.

local run_flags = {}

---@class RunFlags
---@field seed? integer
---@field deterministic? boolean
---@field limit_batches? integer
---@field overfit? integer
---@field tryout? {probe: string, folder: string, wait_s: number} of `rtrain check` and the like, with what the probe takes

-- A table of the command's flags would travel as a part of that module, which workers do not have.
local function copy(asked)
  if not asked then return nil end
  local out = {}
  for key, value in next, asked do out[key] = value end
  return out
end

---Those of a command; nil where none of them was given.
---@param flags table of the command
---@return RunFlags?
function run_flags.of(flags)
  local is_asked = flags.seed or flags.deterministic or flags.limit_batches or flags.overfit or flags.tryout
  if not is_asked then return nil end
  return {seed = flags.seed, deterministic = flags.deterministic, limit_batches = flags.limit_batches, overfit = flags.overfit,
          tryout = copy(flags.tryout)}
end

---Carries them out in a worker, before its train function.
---@param asked RunFlags?
---@param uses_torch boolean
function run_flags.apply(asked, uses_torch)
  if not asked then return end
  if asked.seed then
    math.randomseed(asked.seed)
    require('torch').manual_seed(asked.seed)
  end
  if asked.deterministic and uses_torch then
    require('rtrain.torch').enable_reproducibility(asked.seed or 0)
  end
  require('torch.utils.data.loop_limit').set(asked.overfit or asked.limit_batches, asked.overfit ~= nil)
end

---The train function has ended: in local mode the process goes on.
---@param asked RunFlags?
function run_flags.undo(asked)
  if asked then require('torch.utils.data.loop_limit').set(nil) end
end

---The script's own process, before the script: LibTorch is seeded when it is loaded.
---@param seed integer
function run_flags.seed_script(seed)
  math.randomseed(seed)
  local open = package.preload['torch._C']
  package.preload['torch._C'] = function(...)
    local engine = open(...)
    engine.manual_seed(seed)
    return engine
  end
end

return run_flags
