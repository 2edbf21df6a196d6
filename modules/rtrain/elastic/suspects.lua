-- rtrain/elastic/suspects.lua: Suspects: the states of ranks that differed without a majority.
--
-- The group begins again from a checkpoint and makes the same steps. Whoever had the state that it then comes to was right,
-- and the others are named. The first rank writes the states into a file of the run, for the attempts to come.

local class = require 'base.class'
local index_of = require 'base.index_of'
local read_file = require 'base.read_file'
local system = require 'base._system'

---@class elastic.Suspects
local Suspects = class 'Suspects'

local function path_of(context) return context.run_path .. '/.suspects' end

---Writes down the states for the attempts to come.
---@param context table
---@param count integer of commits or steps in this attempt
---@param hashes table<integer, integer> by rank
function Suspects.keep(context, count, hashes)
  if context.world_rank > 0 then return end
  local text = {('%d'):format(count)}
  for rank = 0, context.world_size - 1 do text[#text + 1] = ('%d'):format(hashes[rank]) end
  pcall(system.write_file, path_of(context), table.concat(text, ' '))  -- a failure costs no more than the name
end

---Reads what an earlier attempt has written down.
---@param context table
function Suspects:init(context)
  self._context, self._hashes = context, {}
  local count, hashes = (read_file(path_of(context)) or ''):match '^(%d+) ([%d ]+)$'
  for hash in (hashes or ''):gmatch '%S+' do self._hashes[#self._hashes + 1] = tonumber(hash) end
  self._count = tonumber(count)
  if #self._hashes ~= context.world_size then self._hashes = {} end
end

---@return boolean
function Suspects:is_empty() return #self._hashes == 0 end

---Compares them with the state that all ranks have come to.
---@param hash integer of it
---@param count integer of commits or steps in this attempt
---@return boolean is_damaged whether this rank had another one
function Suspects:see(hash, count)
  local is_known = index_of(self._hashes, hash) ~= nil
  local is_damaged = is_known and self._hashes[self._context.world_rank + 1] ~= hash
  -- The attempt began at a later step than the one before, or at the same.
  if is_known or count >= self._count then
    self._hashes = {}
    if self._context.world_rank == 0 then os.remove(path_of(self._context)) end
  end
  return is_damaged
end

return Suspects
