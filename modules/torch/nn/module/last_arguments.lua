-- torch/nn/module/last_arguments.lua: the last arguments of selected modules.
--
-- The references are weak: the arguments are available as long as the script holds them.

local last_arguments = {}

-- Module → {its arguments, n}. Module.__call looks it up at each call, which costs a few nanoseconds.
local kept = setmetatable({}, {__mode = 'k'})
last_arguments.kept = kept

---Starts to remember the arguments of the module's calls.
---@param module nn.Module
function last_arguments.keep(module) kept[module] = kept[module] or setmetatable({n = 0}, {__mode = 'v'}) end

---Called only by Module.__call.
---@param into table one of `kept`
---@param ... any
function last_arguments.note(into, ...)
  local count = select('#', ...)
  for i = 1, math.max(count, into.n) do into[i] = (select(i, ...)) end
  into.n = count
end

---@param module nn.Module
---@return any[]? arguments with n; nil if the module was not called, or an argument has been freed
function last_arguments.of(module)
  local found = kept[module]
  if not found or found.n == 0 then return nil end
  for i = 1, found.n do
    if found[i] == nil then return nil end
  end
  return found
end

return last_arguments
