-- rtrain/doc/site/library.lua: collects the documentation of the whole library: modules, their names, the methods of classes.

local catalog = require 'rtrain.doc.catalog'
local members = require 'rtrain.doc.members'
local page = require 'rtrain.doc.page'
local source = require 'rtrain.doc.source'
local tensor_methods = require 'torch.methods'

local library = {}

---@class LibraryModule
---@field path string 'torch.nn'
---@field address string of its page, below the site's folder
---@field page DocPage
---@field names LibraryName[] functions, classes, operators, enumerations
---@field values table[] constants: {name, text}
---@field modules table[] modules inside: {name, path, text}
---@field others table[] names of what an earlier module has: {name, path}

---@class LibraryName
---@field id string place on the page of its module: 'Linear'
---@field page DocPage
---@field methods LibraryName[]
---@field class? string its name in types, 'nn.Linear'

local FOLDER = 'api/'

local function address_of(path) return FOLDER .. path .. '.html' end

local function method_of(class_id, method)
  return {id = ('%s.%s'):format(class_id, method.name), page = page.of(method), methods = {}}
end

-- Returns the methods that a class itself defines with a comment.
local function methods_of(thing, id)
  local methods = {}
  for _, method in ipairs(members.methods(thing)) do
    if method.entry then methods[#methods + 1] = method_of(id, method) end
  end
  return methods
end

local function name_of(thing, id)
  local methods = thing.kind == 'class' and methods_of(thing, id) or {}
  return {id = id, page = page.of(thing), methods = methods, class = thing.entry and thing.entry.doc.class}
end

-- Tensors have a page of their own.
local TENSOR = 'torch.Tensor'

local function tensor_module()
  local tensor = catalog.member(catalog.module 'torch', 'Tensor')
  local names, seen = {}, {}
  local own = page.of(tensor)
  local function add(name)
    local method = not seen[name] and members.find(tensor, name)
    seen[name] = true
    if method and method.entry and method.kind == 'method' then
      names[#names + 1] = {id = name, page = page.of(method), methods = {}}
    end
  end
  for _, row in ipairs(own.methods) do add(row.name) end
  for _, name in ipairs(tensor_methods.names()) do add(name) end
  table.sort(names, function(a, b) return a.id < b.id end)
  return {path = TENSOR, address = address_of(TENSOR), page = own, names = names, values = {}, modules = {}, others = {}}
end

-- places: what a module has → its path there.
local function module_of(owner, places)
  local own = page.of(owner)
  local found = {path = owner.path, address = address_of(owner.path), page = own, names = {}, values = {}, modules = {},
                 others = {}}
  for _, row in ipairs(own.names) do
    local member = members.find(owner, row.name)
    if member.kind == 'module' then
      found.modules[#found.modules + 1] = {name = row.name, path = member.path, text = row.text or ''}
    elseif member.path == TENSOR then
      found.modules[#found.modules + 1] = {name = row.name, path = TENSOR, text = row.text or ''}
    elseif member.kind == 'value' and not member.entry then
      found.values[#found.values + 1] = {name = row.name, text = row.text or ''}
    elseif member.value ~= nil and places[member.value] then
      found.others[#found.others + 1] = {name = row.name, path = places[member.value]}
    else
      found.names[#found.names + 1] = name_of(member, row.name)
      if member.value ~= nil then places[member.value] = member.path end
    end
  end
  return found
end

-- Calls use(name) for each word of the types that a script gets from a name, and that its function takes.
local function each_type(name, use)
  local function look_at(list)
    for _, item in ipairs(list) do
      for word in (item.type or ''):gmatch '[%a_][%w_.]*' do use(word) end
    end
  end
  look_at(name.page.returns)
  if name.page.kind == 'function' then look_at(name.page.parameters) end
  for _, method in ipairs(name.methods) do look_at(method.page.returns) end
end

-- Returns the classes that types of the modules name and no module has, such as the result of get_context(), and those that
-- these name.
local function types_module(modules)
  local own = {name = 'Types', path = 'types', kind = 'module', signatures = {}, parameters = {}, returns = {}, fields = {},
               methods = {}, names = {}, examples = {},
               text = {'Classes that functions take and return, and that no module has under a name.'}}
  local found = {path = 'types', address = address_of 'types', page = own, names = {}, values = {}, modules = {},
                 others = {}}
  local known = {[TENSOR] = true}
  for _, module in ipairs(modules) do
    for _, name in ipairs(module.names) do known[name.class or name.id] = true end
  end
  local function add(class)
    if known[class] or not source.class(class) then return end
    known[class] = true
    local name = name_of(members.declared_class(class), class)
    found.names[#found.names + 1] = name
    each_type(name, add)
  end
  for _, module in ipairs(modules) do
    for _, name in ipairs(module.names) do each_type(name, add) end
  end
  table.sort(found.names, function(a, b) return a.id < b.id end)
  return found
end

---Returns the library, in the order of catalog.modules(), with torch.Tensor behind torch and at the end the types without a
---public name. Loads LibTorch for the signatures of operators. Raises code 'environment' without one.
---@return LibraryModule[]
function library.modules()
  local modules, places = {}, {}
  for _, owner in ipairs(catalog.modules()) do
    modules[#modules + 1] = module_of(owner, places)
    if owner.path == 'torch' then modules[#modules + 1] = tensor_module() end
  end
  modules[#modules + 1] = types_module(modules)
  return modules
end

return library
