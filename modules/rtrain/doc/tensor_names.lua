-- rtrain/doc/tensor_names.lua: the names of a tensor's methods: those of the engine, those written in Lua, and every
-- operator that takes a tensor.

local absent = require 'torch.absent'
local lua_name = require('rtrain.doc.operator').lua_name
local tensor_methods = require 'torch.methods'

-- Returns whether an operator is a method: it takes a tensor, and rtrain does not refuse the name.
local function is_method(name)
  if not pcall(absent.check, 'a Tensor', name) then return false end
  for _, signature in ipairs(require('torch._C').op_signatures(name)) do
    if signature:match '^[%w_]+%(Tensor ' or signature:find('Tensor self', 1, true) then return true end
  end
  return false
end

---@return string[] names sorted, as Lua writes them: repeat_
local function tensor_names()
  local C = require 'torch._C'
  local names, known = {}, {}
  local methods, attributes = C.tensor_members()
  for _, name in ipairs(attributes) do known[name] = true end
  local function add(name)
    if not known[name] then names[#names + 1] = name end
    known[name] = true
  end
  for _, list in ipairs{methods, tensor_methods.names()} do
    for _, name in ipairs(list) do add(name) end
  end
  for _, name in ipairs(C.op_names()) do
    if is_method(name) then add(lua_name(name)) end
  end
  table.sort(names)
  return names
end

return tensor_names
