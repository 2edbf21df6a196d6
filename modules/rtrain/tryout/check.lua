-- rtrain/tryout/check.lua: makes the document of `rtrain check` from the files that its ranks have written.

local errors = require 'base.errors'
local files = require 'rtrain.tryout.files'
local LoaderWait = require 'rtrain.tryout.loader_wait'

local check = {}

local function row_of(found)
  return {rank = found.rank, device = found.device, batches = found.batches, forward = found.forward,
          backward = found.backward, peak_bytes = found.peak_bytes}
end

---@param folder string
---@param script string
---@return table document {script, num_workers, model, memory, ranks}
---Raises code 'user' if no rank has finished a train function, or rank 0 has neither looped over a loader nor made a
---step of an optimizer.
function check.document(folder, script)
  local first = files.first(folder, script)
  if first.batches == 0 then
    errors.raise('user', 'no loader in the train function: looked for ' .. LoaderWait.LOOKED_FOR)
  end
  local out = {script = script, ranks = {}, memory = first.memory}
  local found, rank = first, 0
  while found do
    table.insert(out.ranks, row_of(found))
    rank = rank + 1
    found = files.read(folder, ('rank-%d'):format(rank))
  end
  out.num_workers = rank
  if first.layers then
    out.model = {class = first.class, layers = first.layers, parameters = first.parameters, trainable = first.trainable}
  end
  return out
end

return check
