-- rtrain/virtual/loop.lua: a loop over the batches of this process's virtual ranks: which of them has which batch.

local errors = require 'base.errors'
local loop_variables = require 'torch.utils.data.loop_variables'

local loop = {}

---Returns the lines of the loop in which a function calls.
---@param level integer of that function, as debug.getinfo counts: 1 is the caller
---@return table|nil lines nil if that is unknown
function loop.lines(level)
  local running = debug.getinfo(level + 1, 'fl')
  return running and loop_variables.lines(running.func, running.currentline) or nil
end

---Begins a loop.
---@param ranks rtrain.VirtualRanks
---@param given {seed: integer, step: integer, total: integer|nil, lines: table|nil, next_batch: fun(offset: integer): any}
---  seed: of the loop; step: number of the first one in the epoch; total: number of batches, if the last step may have
---  fewer than the others; next_batch: of the process's virtual rank of that number, from 0
---@return fun(): ... next_batch
---@return fun(): integer step the number of the present step, from 0
function loop.begin(ranks, given)
  local first, last = ranks:range()
  local num_ranks, count, step = last - first + 1, 0, -1
  local mine = {seed = given.seed, lines = given.lines}
  ranks:enter(mine)
  local function took(batch, ...)
    if (...) == nil then ranks:leave() else ranks:begin(batch) end
    return ...
  end
  local function next_batch()
    if not ranks:is_in(mine) then
      errors.raise('unsupported', 'virtual_workers: this loop was ended by one over other data, or by its own end: virtual '
        .. 'ranks have one loop at a time')
    end
    ranks:finish()
    local offset = count % num_ranks
    step, count = math.floor(count / num_ranks), count + 1
    local batch = {step = given.step + step, rank = first + offset, is_first = offset == 0,
                   is_last = offset == num_ranks - 1 or count == given.total}
    ranks:seed_making(batch.step, batch.rank)
    return took(batch, given.next_batch(offset))
  end
  return next_batch, function() return step end
end

return loop
