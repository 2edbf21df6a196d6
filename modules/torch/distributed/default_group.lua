-- torch/distributed/default_group.lua: forms the default process group at its first use.
--
-- In a trainer's train function the ranks are known, but no group is formed until a collective needs one. The code that
-- knows the ranks registers here; torch itself does not know trainers.

local default_group = {}

local NO_TRAINER = {is_joining = function() return false end, num_collectives = function() return 0 end}

local form, describe
local trainer = NO_TRAINER
local is_forbidden, is_left = false, false

---A rank's place in a group that is not formed yet.
---@class torch.GroupPlace
---@field rank fun(): integer
---@field world_size fun(): integer
---@field backend fun(): string backend for the tensors of this rank's device

---Registers the function that forms the group of this process.
---@param fn fun() called while there is no group, by code that needs one; it may decide not to form it
---@param place fun(): torch.GroupPlace|nil the place in the group that fn will form, without asking another rank; nil
---  if fn forms no group
---@param state? {is_joining: (fun(): boolean), num_collectives: (fun(): integer)} the trainer's knowledge of this rank:
---  whether it replaces a lost rank and does not have the others' state yet, and how many collectives it has called
function default_group.form_by(fn, place, state)
  form, describe, is_left = fn, place, false
  trainer = state or NO_TRAINER
end

---@return boolean whether the group is formed
function default_group.is_formed()
  local engine = package.loaded['torch._C']
  return type(engine) == 'table' and engine.distributed.is_initialized()
end

---Returns this rank's place in the group that the first collective will form; nil if the group is formed, or no
---function that forms it is registered. Asks no other rank.
---@return torch.GroupPlace|nil
function default_group.place()
  if describe == nil or default_group.is_formed() then return nil end
  return describe()
end

---Returns whether there is a group, or the first collective will form one. Asks no other rank.
---@return boolean
function default_group.is_there() return default_group.is_formed() or (not is_left and default_group.place() ~= nil) end

---Called when the script has destroyed the group: there is no group until one is needed again.
function default_group.leave() is_left = true end

---Returns whether this rank replaces a lost rank and does not have the others' state yet.
---@return boolean
function default_group.is_joining() return trainer.is_joining() end

---Returns how many collectives this rank has called, if the trainer counts them.
---@return integer
function default_group.num_collectives() return trainer.num_collectives() end

---Forms the group if there is none yet and a function that forms it is registered. Either all ranks call this, or none.
function default_group.ensure()
  if is_forbidden then require('base.errors').raise('user', 'no collective here: the other ranks do not take part') end
  if form and not default_group.is_formed() then
    form()
    is_left = false
  end
end

---Calls a function that only this rank calls: a collective in it raises an error, since it would wait for the others.
---@param fn fun()
function default_group.forbid(fn)
  is_forbidden = true
  local ok, problem = pcall(fn)
  is_forbidden = false
  if not ok then error(problem, 0) end
end

return default_group
