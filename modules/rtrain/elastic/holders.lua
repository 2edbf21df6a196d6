-- rtrain/elastic/holders.lua: which rank has which rows after a loss, and how the ranks that need them get them.

local all_gather_object = require('torch.distributed.objects').all_gather_object
local class = require 'base.class'
local messages = require 'rtrain.elastic.messages'
local rows = require 'rtrain.state.rows'

---@class elastic.Holders
local Holders = class 'Holders'

-- Returns for each rank of the group before the loss a rank that has its rows, and which of them are kept ones.
local function holders_of(before, previous, world_size)
  local rank_of, is_kept = {}, {}
  for rank = 0, world_size - 1 do
    if before[rank] >= 0 then rank_of[before[rank]] = rank end
  end
  for rank = 0, world_size - 1 do
    local kept = previous[rank]
    if kept >= 0 and not rank_of[kept] then rank_of[kept], is_kept[kept] = rank, true end
  end
  return rank_of, is_kept
end

---Asks all ranks of a new group whose rows they have. A collective.
---@param context table
---@param replica elastic.Replica that of the group before the loss
function Holders:init(context, replica)
  self._rank, self._world_size = context.world_rank, context.world_size
  self._sizes, self._before, self._size = {}, {}, 0
  local previous = {}
  for i, place in ipairs(all_gather_object({}, replica:place())) do
    self._sizes[i - 1], self._before[i - 1], previous[i - 1] = place.size, place.rank, place.previous
    self._size = math.max(self._size, place.size)
  end
  self._rank_of, self._is_kept = holders_of(self._before, previous, context.world_size)
end

---Returns whether the ranks have all rows. They have not after the loss of a rank and of the one that kept its rows, and
---after a loss while the rows were being divided again.
---@return boolean
function Holders:are_complete()
  for rank = 0, self._world_size - 1 do
    if not self:is_new(rank) and self._sizes[rank] ~= self._size then return false end
  end
  for rank = 0, self._size - 1 do
    if not self._rank_of[rank] then return false end
  end
  return true
end

---@return boolean whether the group has another size than before
function Holders:is_resized() return self._size ~= self._world_size end

---@param rank integer
---@return boolean whether a new process has this rank
function Holders:is_new(rank) return self._before[rank] < 0 end

-- Sends the rows that the rank `from` had before and the rank `to` needs. Returns them on that rank, nil on the others.
local function pass(self, replica, param, from, to)
  local wanted = rows.range(param, to, self._world_size)
  if not rows.are_needed(wanted, rows.range(param, from, self._size)) then return nil end
  local holder = self._rank_of[from]
  if self._rank ~= holder then return self._rank == to and messages.receive(holder) or nil end
  local given = rows.within(replica:rows_of(param, self._is_kept[from]), wanted)
  if to == holder then return given end
  messages.send(given, to)
end

---Sends the rows of a parameter that other ranks need. A collective.
---@param replica elastic.Replica
---@param param torch.Tensor
---@return rtrain.Rows[]|nil pieces that have all rows of this rank; nil if it has them already
function Holders:pass_on(replica, param)
  local own
  for to = 0, self._world_size - 1 do
    local pieces = (self:is_new(to) or self:is_resized()) and {} or nil
    for from = 0, pieces and self._size - 1 or -1 do pieces[#pieces + 1] = pass(self, replica, param, from, to) end
    if to == self._rank then own = pieces end
  end
  return own
end

return Holders
