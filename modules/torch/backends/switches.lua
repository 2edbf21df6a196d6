-- torch/backends/switches.lua: tables whose fields are LibTorch's switches, read and set like Python's module properties.

local args = require 'base.args'

---@param owner string 'torch.backends.cudnn'
---@param fields table the functions of the table
---@param properties table<string, {[1]: fun(): any, [2]: fun(value: any)}> name → get, set
---@return table switches
local function switches(owner, fields, properties)
  local names = {}
  for _, source in ipairs{fields, properties} do
    for name in next, source do names[#names + 1] = name end
  end
  table.sort(names)
  return setmetatable(fields, {
    __names = function() return names end,
    __index = function(_, name)
      if type(name) ~= 'string' then return nil end
      if not properties[name] then args.no_such(owner, name, names) end
      return properties[name][1]()
    end,
    __newindex = function(_, name, value)
      if not properties[name] then args.no_such(owner, name, names) end
      properties[name][2](value)
    end,
  })
end

---Returns get and set of a switch of torch._C.backends.
---@param name string 'cudnn.benchmark'
---@return table property
local function switch(name)
  local function functions() return require('torch._C').backends end
  return {function() return functions().get(name) end, function(value) functions().set(name, value) end}
end

return {switches = switches, switch = switch}
