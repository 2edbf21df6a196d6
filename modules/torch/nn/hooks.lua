-- torch/nn/hooks.lua: functions that run before and after a module's forward.

local hooks = {}

---Adds a hook to the module. `when` is 'before' or 'after'.
---@param module nn.Module
---@param when string
---@param fn function
---@return {remove: fun()} handle
function hooks.add(module, when, fn)
  local fields = module._fields
  fields._hooks = fields._hooks or {before = {}, after = {}}
  local list = fields._hooks[when]
  list[#list + 1] = fn
  return {
    remove = function()
      for i, other in ipairs(list) do
        if other == fn then return table.remove(list, i) end
      end
    end,
  }
end

---Runs forward with the module's hooks.
---@param module nn.Module
---@param all {before: function[], after: function[]}
---@param ... any what the module was called with
---@return any ... what forward returned, or what a hook put in its place
function hooks.call(module, all, ...)
  local inputs = {n = select('#', ...), ...}
  for _, fn in ipairs(all.before) do
    local replaced = fn(module, inputs)
    if replaced ~= nil then inputs = {n = #replaced, unpack(replaced)} end
  end
  local outputs = {module:forward(unpack(inputs, 1, inputs.n))}
  for _, fn in ipairs(all.after) do
    local replaced = fn(module, inputs, #outputs <= 1 and outputs[1] or outputs)
    if replaced ~= nil then outputs = {replaced} end
  end
  return unpack(outputs)
end

return hooks
