-- torch/default_group.lua: how the default process group is formed at its first use.
--
-- Where a trainer's train function runs, the ranks are known but no group is formed before a collective needs one. Who knows
-- the ranks enters itself here; torch itself does not know trainers.

local default_group = {}

local form
local is_forbidden = false

---Enters what forms the group of this process.
---@param fn fun() called while there is no group, by whatever needs one; it may leave it at that
function default_group.form_by(fn) form = fn end

---Forms the group where there is none yet and something is entered that can. Every rank gets here, or none may.
function default_group.ensure()
  if is_forbidden then require('base.errors').raise('user', 'no collective here: the other ranks do not take part') end
  if form and not require('torch._C').distributed.is_initialized() then form() end
end

---Calls a function that this rank alone calls: a collective in it raises, where it would wait for the others.
---@param fn fun()
function default_group.forbid(fn)
  is_forbidden = true
  local ok, problem = pcall(fn)
  is_forbidden = false
  if not ok then error(problem, 0) end
end

return default_group
