-- text/generation/unsharded.lua: calls a function while the parameters of a sharded model are whole, so that the ranks may
-- call the model as often as each needs.

local errors = require 'base.errors'

---@param model nn.Module
---@param fn function
---@param ... any its arguments
---@return any result the first one of fn
return function(model, fn, ...)
  local gathered = {}
  for _, module in ipairs(model:modules()) do
    if module.unshard and module:unshard() then gathered[#gathered + 1] = module end
  end
  if #gathered == 0 then return (fn(...)) end
  local ok, result = xpcall(fn, errors.wrap, ...)
  for _, module in ipairs(gathered) do module:reshard() end
  if not ok then error(result, 0) end
  return result
end
