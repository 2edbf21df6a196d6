-- rtrain/doc/catalog.lua: which public name is what: finds 'nn.Linear', 'x:view', 'report' in the library as it runs.
--
-- Walks the tables that users see, so that a name is known exactly when a script can use it. LibTorch is loaded only for
-- operators that modules/torch/operators does not describe.

local class = require 'base.class'
local descriptions = require 'rtrain.doc.descriptions'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local source = require 'rtrain.doc.source'
local tensor_methods = require 'torch.methods'
local tensor_names = require 'rtrain.doc.tensor_names'
local written_name = require 'rtrain.doc.written_name'

local catalog = {}

---@class DocThing
---@field path string 'torch.nn.Linear'
---@field kind string 'module', 'class', 'function', 'method', 'field', 'operator', 'value'
---@field value? any what a script gets; absent for operators, methods of tensors and fields
---@field entry? DocEntry its comment
---@field name string the last part of the path
---@field operator? string the operator behind it, where that has another name
---@field owner? DocThing the module or class that it belongs to

local TENSOR = 'torch.Tensor'

local ROOTS = {'rtrain', 'torch', 'vision', 'argparse'}

-- What a script requires by its own name: its parent does not hand it out.
local REQUIRED = {['rtrain.class'] = true}

---Whether the module is had by its own name alone.
---@param path string
---@return boolean
function catalog.is_required(path) return REQUIRED[path] == true end

local function is_module(value)
  if type(value) ~= 'table' or class.is_class(value) or class.of(value) then return false end
  local meta = getmetatable(value)
  if meta and meta.__names then
    -- A namespace of strings alone is an enumeration.
    for _, name in ipairs(meta.__names(value)) do
      if type(rawget(value, name)) ~= 'string' then return true end
    end
    return false
  end
  for _, field in next, value do
    if type(field) == 'function' then return true end
  end
  return false
end

---The public names of a module's table, sorted. Of torch those without LibTorch: operators come in addition.
---@param value table
---@return string[]
function catalog.names(value)
  local meta = getmetatable(value)
  local public = {}
  for _, name in ipairs(meta and meta.__names and meta.__names(value) or ordered.names_of(value)) do
    if not name:match '^_' then public[#public + 1] = name end
  end
  return public
end

local function has(names, wanted)
  for _, name in ipairs(names) do
    if name == wanted then return true end
  end
  return false
end

-- The comment of a thing in one of the files below its module: classes before functions.
local function entry_below(module, name)
  local found
  for _, candidate in ipairs(source.modules()) do
    local below = candidate == module or candidate:sub(1, #module + 1) == module .. '.'
    local entry = below and source.find(candidate, name)
    -- The other files of a class name it without saying more.
    if entry and entry.doc.class and #entry.doc.paragraphs > 0 then return entry end
    found = found or entry or nil
  end
  return found
end

-- The module in whose files a name is written.
local function place_of(owner, name)
  local meta = getmetatable(owner.value)
  return meta and meta.__place and meta.__place(name) or owner.path
end

local function thing(owner, name, kind, value, entry)
  return {path = owner and owner.path .. '.' .. name or name, name = name, kind = kind, value = value, entry = entry,
          owner = owner}
end

local function kind_of(value)
  if class.is_class(value) then return 'class' end
  if is_module(value) then return 'module' end
  return type(value) == 'function' and 'function' or 'value'
end

-- The operator that a module hands out under the name, asked without LibTorch: F.conv2d is torch.conv2d.
local function operator_behind(module, name)
  local meta = getmetatable(module)
  local named = meta and meta.__operators and meta.__operators(name)
  if named then return named end
  local value, engine = rawget(module, name), package.loaded['torch._C']
  if type(value) ~= 'function' then return nil end
  local is_engines = debug.getinfo(value, 'S').what == 'C' or engine ~= nil and engine[name] == value
  return is_engines and name or nil
end

local function tensor_class(owner)
  return thing(owner, 'Tensor', 'class', nil, source.find('torch.operators.tensor', 'Tensor'))
end

---The thing that a module's table has under the name, which catalog.names gave.
---@param owner DocThing
---@param name string
---@return DocThing
function catalog.member(owner, name)
  if owner.path == 'torch' and name == 'Tensor' then return tensor_class(owner) end
  local named = operator_behind(owner.value, name)
  if named then
    local entry = descriptions.find(owner.name, name) or descriptions.find('torch', named)
      or descriptions.find('Tensor', named)
    local found = thing(owner, name, 'operator', nil, entry)
    found.operator = named
    return found
  end
  local value = owner.value[name]
  local kind = kind_of(value)
  -- A module that can be called: its function says how.
  if kind == 'module' then return thing(owner, name, kind, value, source.of_call(value)) end
  if kind == 'value' and type(value) ~= 'table' then return thing(owner, name, kind, value) end
  local plain = name:gsub('_with_indices$', '')
  local entry = kind == 'function' and source.of_function(value) or entry_below(place_of(owner, name), plain)
  -- F.relu is torch.relu with an option.
  if kind == 'function' and not entry then entry = descriptions.find('torch', name) end
  return thing(owner, name, kind, value, entry)
end

---A module by its path.
---@param path string
---@return DocThing
function catalog.module(path)
  local found
  for part in path:gmatch '[^.]+' do
    local value = found and found.value[part] or require(part)
    found = thing(found, part, 'module', value)
  end
  return found
end

-- torch.matmul, torch.tensor: what the engine has. A description is enough to know it.
local function operator(owner, name)
  local entry = descriptions.find('torch', name)
  if entry then return thing(owner, name, 'operator', nil, entry) end
  local C = require 'torch._C'
  if type(C[name]) == 'function' or C.op(name) then return thing(owner, name, 'operator') end
end

-- A field that the class, or one that it extends, declares.
local function declared_field(owner, name)
  local entry = owner.entry
  while entry do
    for _, field in ipairs(entry.doc.fields) do
      if field.name == name then return thing(owner, name, 'field', field) end
    end
    entry = entry.doc.base and source.class(entry.doc.base)
  end
end

local function tensor_member(owner, name)
  local entry = descriptions.find('Tensor', name)
  if entry then return thing(owner, name, 'method', nil, entry) end
  if has(tensor_methods.names(), name) then
    local value = tensor_methods.find(name)
    return thing(owner, name, 'method', value, source.of_function(value))
  end
  local field = declared_field(owner, name)
  if field then return field end
  local found = operator(nil, name)
  return found and thing(owner, name, 'method', nil, found.entry)
end

-- Of a class that no module hands out: its comments are what there is.
local function described_methods(owner)
  local methods = {}
  for _, entry in ipairs(source.entries(owner.entry.module)) do
    if entry.owner and entry.name and entry.name ~= 'init' and not entry.name:match '^_' then
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

-- A class by the name that comments give it: 'TrainContext'.
local function declared_class(name)
  local entry = source.class(name)
  return entry and thing(nil, name, 'class', nil, entry)
end

-- What a function gives: train.state → TrainState.
local function result_class(owner)
  local result = owner.entry and owner.entry.doc.returns[1]
  return result and declared_class(result.type)
end

---The thing of that name in a module or class; nil when it has none.
---@param owner DocThing
---@param name string
---@return DocThing|nil
function catalog.find_in(owner, name)
  if owner.path == TENSOR then return tensor_member(owner, name) end
  if owner.kind == 'class' then return class_member(owner, name) end
  if owner.kind == 'value' then return declared_field(owner, name) end
  if owner.kind == 'function' then
    local result = result_class(owner)
    return result and class_member(result, name)
  end
  if owner.kind ~= 'module' then return nil end
  if has(catalog.names(owner.value), name) then return catalog.member(owner, name) end
  local path = owner.path .. '.' .. name
  if REQUIRED[path] then return thing(owner, name, 'module', require(path)) end
  return owner.path == 'torch' and operator(owner, name) or nil
end

-- Every module, the roots' first level before what lies deeper.
local function all_modules()
  local modules = {}
  for _, root in ipairs(ROOTS) do modules[#modules + 1] = catalog.module(root) end
  local i = 1
  while modules[i] do
    local owner = modules[i]
    for _, name in ipairs(catalog.names(owner.value)) do
      if not operator_behind(owner.value, name) and kind_of(owner.value[name]) == 'module' then
        modules[#modules + 1] = catalog.member(owner, name)
      end
    end
    i = i + 1
  end
  return modules
end

---Every module of the library.
---@return DocThing[]
function catalog.modules()
  catalog._modules = catalog._modules or all_modules()
  return catalog._modules
end

local function walk(found, parts, from)
  for i = from, #parts do
    local child = catalog.find_in(found, parts[i])
    if not child then return nil, found, parts[i] end
    found = child
  end
  return found
end

-- Where a name without its module is looked for first: these need no LibTorch.
local FIRST = {'rtrain', 'torch.nn', 'torch.optim', 'torch.optim.lr_scheduler', 'torch.utils.data', 'vision.models',
               'vision.transforms', 'vision.datasets'}

local function search_in(modules, parts)
  for _, owner in ipairs(modules) do
    if has(catalog.names(owner.value), parts[1]) then return owner end
  end
end

-- A field or method of rtrain's classes by its name alone: 'max_failures'.
local function member_of_any_class(name)
  for _, module in ipairs(source.modules()) do
    for _, entry in ipairs(module:match '^rtrain%f[.%z]' and source.entries(module) or {}) do
      local found = entry.doc.class and class_member(declared_class(entry.doc.class), name)
      if found then return found end
    end
  end
end

-- A name without its module: the first module that has it, then tensors and operators.
local function search(parts)
  local first = {}
  for i, path in ipairs(FIRST) do first[i] = catalog.module(path) end
  local owner = search_in(first, parts) or descriptions.find('torch', parts[1]) and catalog.module 'torch'
    or search_in(catalog.modules(), parts)
  if owner then return walk(owner, parts, 1) end
  local declared = declared_class(parts[1])
  if declared then return walk(declared, parts, 2) end
  if #parts > 1 then return nil end
  local torch = catalog.module 'torch'
  return catalog.find_in(tensor_class(torch), parts[1]) or operator(torch, parts[1]) or member_of_any_class(parts[1])
end

local function known_names(owner)
  if owner.path == TENSOR then return tensor_names() end
  if owner.kind == 'module' then return catalog.names(owner.value) end
  if owner.kind == 'function' then
    owner = result_class(owner)
    if not owner then return {} end
  end
  local names = {}
  for _, item in ipairs(owner.entry and owner.entry.doc.fields or {}) do names[#names + 1] = item.name end
  for _, method in ipairs(catalog.methods(owner)) do names[#names + 1] = method.name end
  return names
end

local function all_names()
  local names = {}
  for _, owner in ipairs(catalog.modules()) do
    for _, name in ipairs(catalog.names(owner.value)) do names[#names + 1] = name end
  end
  for _, name in ipairs(require('torch._C').op_names()) do names[#names + 1] = name end
  return names
end

local function refuse(text, owner, name)
  local names = owner and known_names(owner) or all_names()
  if owner and owner.path == 'torch' then
    for _, operator_name in ipairs(require('torch._C').op_names()) do names[#names + 1] = operator_name end
  end
  local what = owner and ("%s has no '%s'"):format(owner.path, name) or ("nothing is called '%s'"):format(text)
  errors.raise('not_found', what .. errors.suggestion(name or text, names))
end

---What a name means, however it is written: 'torch.nn.Linear', 'nn.Linear', 'Linear', 'x:view', 'ray.train.report'.
---Raises code 'not_found' with the nearest name.
---@param text string
---@return DocThing
function catalog.find(text)
  local parts, is_object = written_name(text)
  if #parts == 0 then errors.raise('usage', 'expected the name of a function, class or module') end
  local found, owner, name
  if has(ROOTS, parts[1]) then
    found, owner, name = walk(catalog.module(parts[1]), parts, 2)
  else
    found, owner, name = search(parts)
  end
  -- An object may be of a class that extends the usual one.
  found = found or is_object and member_of_any_class(parts[#parts]) or declared_class(text)
  return found or refuse(text, owner, name)
end

-- Whether the table of a class has public methods.
local function has_methods(of)
  for name, value in next, of do
    if type(value) == 'function' and not name:match '^_' and name ~= 'init' then return true end
  end
  return false
end

---The public methods that a class of Lua defines itself, or that a tensor has, by name.
---@param owner DocThing
---@param inherited? boolean where the class defines none itself, those of the nearest one that it extends and that does
---@return DocThing[]
function catalog.methods(owner, inherited)
  local methods = {}
  if owner.path == TENSOR then
    for _, name in ipairs(tensor_names()) do methods[#methods + 1] = catalog.find_in(owner, name) end
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

return catalog
