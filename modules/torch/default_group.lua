-- torch/default_group.lua: how the default process group is formed at its first use.
--
-- Where a trainer's train function runs, the ranks are known but no group is formed before a collective needs one. Who knows
-- the ranks enters itself here; torch itself does not know trainers.

local default_group = {}

local form

---Enters what forms the group of this process.
---@param fn fun() called while there is no group, by whatever needs one; it may leave it at that
function default_group.form_by(fn) form = fn end

---Forms the group where there is none yet and something is entered that can. Every rank gets here, or none may.
function default_group.ensure()
  if form and not require('torch._C').distributed.is_initialized() then form() end
end

return default_group
