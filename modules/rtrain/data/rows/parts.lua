-- rtrain/data/rows/parts.lua: chooses a rank's part of a plan's input, if the number of resulting rows is not known.

local fragments = require 'rtrain.data.rows.fragments'
local intervals = require 'rtrain.data.rows.intervals'
local Permutation = require 'rtrain.data.rows.permutation'
local torch = require 'torch'

local parts = {}

-- Fragments are assigned whole if each rank gets at least FRAGMENTS of them; otherwise the rows are cut into PIECES for
-- each rank.
local FRAGMENTS, PIECES = 4, 64

-- Returns the rows in pieces: the fragments, if there are many, else pieces with equal numbers of rows.
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

---Returns the rank's rows, among those to which `slices` of an execution refer: pieces in a fixed random order, so that
---all ranks keep about the same number of rows after any filter.
---@param plan data.Plan
---@param part {rank: integer, world_size: integer}
---@param context data.ExecutionContext
---@return data.Interval[]|nil slices nil if the plan's rows cannot be counted before it runs
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
