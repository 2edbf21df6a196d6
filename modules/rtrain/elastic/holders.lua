-- rtrain/elastic/holders.lua: which rank has which rows after a loss, and how the ranks that need them get them.

local all_gather_object = require('torch.distributed.objects').all_gather_object
local class = require 'base.class'
local host = require 'rtrain._elastic'
local messages = require 'rtrain.elastic.messages'
local rows = require 'rtrain.state.rows'

---@class elastic.Holders
local Holders = class 'Holders'

---Asks all ranks of a new group whose rows they have. A collective.
---@param context table
---@param replica elastic.Replica that of the group before the loss
function Holders:init(context, replica)
  self._rank, self._world_size, self._size = context.world_rank, context.world_size, 0
  self._sizes, self._before, self._kept = {}, {}, {}
  for i, place in ipairs(all_gather_object({}, replica:place())) do
    self._sizes[i], self._before[i], self._kept[i] = place.size, place.rank, place.kept
    self._size = math.max(self._size, place.size)
  end
  self._holders, self._are_copies = host.row_holders(self._sizes, self._before, self._kept)
end

---Returns whether the ranks have all rows. They have not after the loss of a rank and of the one that kept its rows, and
---after a loss while the rows were being divided or copied again.
---@return boolean
function Holders:are_complete() return self._holders ~= nil end

---Returns whether the ranks that are left keep the rows that they should. The group has the size of the one before.
---@param keepers integer[] the rank that keeps each rank's rows
---@return boolean
function Holders:are_kept_by(keepers) return host.keeps_rows(self._sizes, self._before, self._kept, keepers) end

---@return boolean whether the group has another size than before
function Holders:is_resized() return self._size ~= self._world_size end

---@param rank integer
---@return boolean whether a new process has this rank
function Holders:is_new(rank) return self._before[rank + 1] < 0 end

-- Sends the rows that the rank `from` had before and the rank `to` needs. Returns them on that rank, nil on the others.
local function pass(self, replica, param, from, to)
  local wanted = rows.range(param, to, self._world_size)
  if not rows.are_needed(wanted, rows.range(param, from, self._size)) then return nil end
  local holder = self._holders[from + 1]
  if self._rank ~= holder then return self._rank == to and messages.receive(holder) or nil end
  local given = rows.within(replica:rows_of(param, self._are_copies[from + 1]), wanted)
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
