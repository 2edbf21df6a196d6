-- rtrain/data/rows/parts.lua: a rank's part of what goes into a plan, where the number of rows that come out is not known.

local fragments = require 'rtrain.data.rows.fragments'
local intervals = require 'rtrain.data.rows.intervals'
local Permutation = require 'rtrain.data.rows.permutation'
local torch = require 'torch'

local parts = {}

-- How many fragments a rank must get at least for them to be dealt out whole, else how many pieces of them.
local FRAGMENTS, PIECES = 4, 64

-- The rows in pieces: fragments, where there are many, else equally many rows.
local function pieces_of(plan, world_size, num_rows, context)
  local out, first = {}, 0
  local list = plan:last_global() == 0 and plan.source:fragments(context) or {}
  if #list >= FRAGMENTS * world_size then
    for i, fragment in ipairs(fragments.counted(plan.source, list)) do
      out[i] = {first, first + fragment.rows}
      first = first + fragment.rows
    end
    return out
  end
  local size = math.max(1, math.ceil(num_rows / (PIECES * world_size)))
  for start = 0, num_rows - 1, size do out[#out + 1] = {start, math.min(start + size, num_rows)} end
  return out
end

---The rank's rows, of those that `slices` of an execution count: pieces in a fixed random order, so that all ranks have about
---as many rows left, whatever a filter goes by.
---@param plan data.Plan
---@param part {rank: integer, world_size: integer}
---@param context data.ExecutionContext
---@return data.Interval[]|nil slices nil where the plan has no rows that can be counted before it runs
function parts.slices(plan, part, context)
  local num_rows = plan:sliceable_rows()
  if num_rows == nil then return nil end
  local pieces, shuffled = pieces_of(plan, part.world_size, num_rows, context), {}
  for i, place in ipairs(Permutation(#pieces, 0):row_at(torch.arange(#pieces)):tolist()) do
    local piece = pieces[place + 1]
    shuffled[i] = {piece[1], piece[2]}
  end
  local first = math.floor(num_rows * part.rank / part.world_size)
  local last = math.floor(num_rows * (part.rank + 1) / part.world_size)
  return intervals.union{intervals.slice(shuffled, first, last - first)}
end

return parts
