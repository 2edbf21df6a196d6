-- rtrain/doc/members.lua: finds members of modules, classes, tensors and function results. Comments describe fields,
-- and classes that no module exposes.

local catalog = require 'rtrain.doc.catalog'
local descriptions = require 'rtrain.doc.descriptions'
local ordered = require 'base.ordered'
local source = require 'rtrain.doc.source'
local tensor_methods = require 'torch.methods'
local tensor_names = require 'rtrain.doc.tensor_names'
local thing = require 'rtrain.doc.thing'

local members = {}

local TENSOR = 'torch.Tensor'

---Returns the thing for an operator or function of the engine, such as torch.matmul. A description suffices to know it.
---@param owner DocThing|nil
---@param name string
---@return DocThing|nil
function members.operator(owner, name)
  local entry = descriptions.find('torch', name)
  if entry then return thing(owner, name, 'operator', nil, entry) end
  local C = require 'torch._C'
  if type(C[name]) == 'function' or C.op(name) then return thing(owner, name, 'operator') end
end

-- Returns a field that the class, or one of its base classes, declares.
local function declared_field(owner, name)
  local entry = owner.entry
  while entry do
    for _, field in ipairs(entry.doc.fields) do
      if field.name == name then return thing(owner, name, 'field', field) end
    end
    entry = entry.doc.base and source.class(entry.doc.base)
  end
end

local function is_tensor_method(wanted)
  for _, name in ipairs(tensor_methods.names()) do
    if name == wanted then return true end
  end
  return false
end

local function tensor_member(owner, name)
  local entry = descriptions.find('Tensor', name)
  if entry then return thing(owner, name, 'method', nil, entry) end
  if is_tensor_method(name) then
    local value = tensor_methods.find(name)
    return thing(owner, name, 'method', value, source.of_function(value))
  end
  local field = declared_field(owner, name)
  if field then return field end
  local found = members.operator(nil, name)
  return found and thing(owner, name, 'method', nil, found.entry)
end

-- Returns the methods of a class that no module exposes: those with comments.
local function described_methods(owner)
  local methods, is_other = {}, {}
  local entries = source.entries(owner.entry.module)
  for _, entry in ipairs(entries) do
    if entry.doc.class and entry ~= owner.entry then is_other[entry.doc.class:match '[%w_]+$'] = true end
  end
  for _, entry in ipairs(entries) do
    local is_method = entry.owner and not is_other[entry.owner]
    if is_method and entry.name and entry.name ~= 'init' and not entry.name:match '^_' then
      methods[#methods + 1] = thing(owner, entry.name, 'method', nil, entry)
    end
  end
  return methods
end

local function class_member(owner, name)
  local value = owner.value and owner.value[name]
  if type(value) == 'function' then
    return thing(owner, name, 'method', value, source.of_function(value))
  end
  for _, method in ipairs(not owner.value and described_methods(owner) or {}) do
    if method.name == name then return method end
  end
  return declared_field(owner, name)
end

---Returns a class by its name in comments: 'TrainContext'.
---@param name string
---@return DocThing|nil
function members.declared_class(name)
  local entry = source.class(name)
  return entry and thing(nil, name, 'class', nil, entry)
end

-- Returns the class of a function's result: train.state → TrainState.
local function result_class(owner)
  local result = owner.entry and owner.entry.doc.returns[1]
  return result and members.declared_class(result.type)
end

---Returns the thing of that name in a module or class; nil if it has none.
---@param owner DocThing
---@param name string
---@return DocThing|nil
function members.find(owner, name)
  if owner.path == TENSOR then return tensor_member(owner, name) end
  if owner.kind == 'class' then return class_member(owner, name) end
  if owner.kind == 'value' then return declared_field(owner, name) end
  if owner.kind == 'function' then
    local result = result_class(owner)
    return result and class_member(result, name)
  end
  if owner.kind ~= 'module' then return nil end
  if catalog.has(owner.value, name) then return catalog.member(owner, name) end
  return owner.path == 'torch' and members.operator(owner, name) or nil
end

-- Returns whether the table of a class has public methods.
local function has_methods(of)
  for name, value in next, of do
    if type(value) == 'function' and not name:match '^_' and name ~= 'init' then return true end
  end
  return false
end

---Returns the public methods that a Lua class defines itself, or those of a tensor, by name.
---@param owner DocThing
---@param inherited? boolean if the class defines no methods, return those of the nearest base class that does
---@return DocThing[]
function members.methods(owner, inherited)
  local methods = {}
  if owner.path == TENSOR then
    for _, name in ipairs(tensor_names()) do methods[#methods + 1] = members.find(owner, name) end
    return methods
  end
  if owner.kind ~= 'class' then return methods end
  if not owner.value then return described_methods(owner) end
  local of = owner.value
  while inherited and not has_methods(of) and rawget(of, '__base') do of = rawget(of, '__base') end
  for _, name in ipairs(ordered.names_of(of)) do
    if not name:match '^_' and type(rawget(of, name)) == 'function' and name ~= 'init' then
      methods[#methods + 1] = class_member(owner, name)
    end
  end
  return methods
end

---Returns a field or method of rtrain's classes by its bare name: 'max_failures'.
---@param name string
---@return DocThing|nil
function members.of_any_class(name)
  for _, module in ipairs(source.modules()) do
    local is_looked_at = module:match '^rtrain%f[.%z]' or module:match '^torch%.nn%.parallel%f[.%z]'
    for _, entry in ipairs(is_looked_at and source.entries(module) or {}) do
      local found = entry.doc.class and class_member(members.declared_class(entry.doc.class), name)
      if found then return found end
    end
  end
end

---Returns the names that find() knows, except those of operators.
---@param owner DocThing
---@return string[]
function members.names(owner)
  if owner.path == TENSOR then return tensor_names() end
  if owner.kind == 'module' then return catalog.names(owner.value) end
  if owner.kind == 'function' then
    owner = result_class(owner)
    if not owner then return {} end
  end
  local names = {}
  for _, item in ipairs(owner.entry and owner.entry.doc.fields or {}) do names[#names + 1] = item.name end
  for _, method in ipairs(members.methods(owner)) do names[#names + 1] = method.name end
  return names
end

return members
