-- rtrain/doc/catalog.lua: the modules of the library at run time, and the kind of each public name in them.
--
-- The catalog walks the tables that users see, so it knows a name exactly if a script can use it. LibTorch is loaded
-- only for operators that modules/torch/operators does not describe.

local class = require 'base.class'
local descriptions = require 'rtrain.doc.descriptions'
local ordered = require 'base.ordered'
local source = require 'rtrain.doc.source'
local thing = require 'rtrain.doc.thing'

local catalog = {}

local ROOTS = {'rtrain', 'torch', 'vision', 'text', 'xgboost', 'lightgbm', 'horovod', 'argparse', 'json'}
local is_root = {}
for _, name in ipairs(ROOTS) do is_root[name] = true end

-- Modules that a script requires directly: no root module contains them.
local REQUIRED = {['base.class'] = true}

---Returns whether a path begins with the name.
---@param name string
---@return boolean
function catalog.is_root(name) return is_root[name] == true end

---Returns whether the module is available only under its own name.
---@param path string
---@return boolean
function catalog.is_required(path) return REQUIRED[path] == true end

local function is_module(value)
  if type(value) ~= 'table' or class.is_class(value) or class.of(value) then return false end
  local meta = getmetatable(value)
  if meta and meta.__names then
    -- A namespace that contains only strings is an enumeration.
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

---Returns the public names of a module's table, sorted. For torch these are the names without LibTorch; operators are
---added.
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

---Returns whether a module's table has the public name.
---@param value table
---@param wanted string
---@return boolean
function catalog.has(value, wanted)
  for _, name in ipairs(catalog.names(value)) do
    if name == wanted then return true end
  end
  return false
end

-- Returns the comment of a thing in the files of its module: classes before functions.
local function entry_below(module, name)
  local found
  for _, candidate in ipairs(source.modules()) do
    local below = candidate == module or candidate:sub(1, #module + 1) == module .. '.'
    local entry = below and source.find(candidate, name)
    -- The other files of a class repeat its name without a text.
    if entry and entry.doc.class and #entry.doc.paragraphs > 0 then return entry end
    found = found or entry or nil
  end
  return found
end

-- Returns the module whose files define a name.
local function place_of(owner, name)
  local meta = getmetatable(owner.value)
  return meta and meta.__place and meta.__place(name) or owner.path
end

local function kind_of(value)
  if class.is_class(value) then return 'class' end
  if is_module(value) then return 'module' end
  return type(value) == 'function' and 'function' or 'value'
end

-- Returns the operator behind a name of a module, without LibTorch: F.conv2d is torch.conv2d.
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

---Returns the thing that a module's table has under a name of catalog.names.
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
  -- For a callable module, the comment of its function says how to call it.
  if kind == 'module' then return thing(owner, name, kind, value, source.of_call(value)) end
  if kind == 'value' and type(value) ~= 'table' then return thing(owner, name, kind, value) end
  local plain = name:gsub('_with_indices$', '')
  local entry = kind == 'function' and source.of_function(value) or entry_below(place_of(owner, name), plain)
  -- F.relu is torch.relu with an additional option.
  if kind == 'function' and not entry then entry = descriptions.find('torch', name) end
  return thing(owner, name, kind, value, entry)
end

---Returns a module by its path.
---@param path string
---@return DocThing
function catalog.module(path)
  if REQUIRED[path] then return thing(nil, path, 'module', require(path)) end
  local found
  for part in path:gmatch '[^.]+' do
    local value = found and found.value[part] or require(part)
    found = thing(found, part, 'module', value)
  end
  return found
end

-- Returns every module: the first level of all roots before deeper levels.
local function all_modules()
  local modules, is_known = {}, {}
  for _, root in ipairs(ROOTS) do modules[#modules + 1] = catalog.module(root) end
  local i = 1
  while modules[i] do
    local owner = modules[i]
    if is_known[owner.value] then
      table.remove(modules, i)  -- a second name, or a module that contains itself
    else
      is_known[owner.value], i = true, i + 1
      for _, name in ipairs(catalog.names(owner.value)) do
        if not operator_behind(owner.value, name) and kind_of(owner.value[name]) == 'module' then
          modules[#modules + 1] = catalog.member(owner, name)
        end
      end
    end
  end
  return modules
end

---Returns every module of the library.
---@return DocThing[]
function catalog.modules()
  catalog._modules = catalog._modules or all_modules()
  return catalog._modules
end

return catalog
