-- rtrain/doc/stubs.lua: `rtrain doc --stubs FOLDER`: writes the whole library as declarations (LuaCATS, ---@meta) for
-- editors.
--
-- Each module has a file, and torch.Tensor has a separate one: language servers ignore files above 500 kB.

local catalog = require 'rtrain.doc.catalog'
local descriptions = require 'rtrain.doc.descriptions'
local declaration = require 'rtrain.doc.declaration'
local lookup = require 'rtrain.doc.lookup'
local members = require 'rtrain.doc.members'
local operator = require 'rtrain.doc.operator'
local page = require 'rtrain.doc.page'
local signature = require 'rtrain.doc.signature'
local source = require 'rtrain.doc.source'
local system = require 'base._system'
local write_file = require 'base.write_file'

local stubs = {}

-- Declarations of LibTorch's classes and of names without a class.
local BASICS = {
  '', "---'float32', 'int64', …: torch.float32 and its like are these strings.", '---@alias torch.dtype string',
  '', "---'cpu', 'cuda', 'cuda:0'.", '---@alias torch.device string',
  '', '---A random number generator: torch.Generator().', '---@class torch.Generator: userdata',
  '', '---Lengths of dimensions: a list counted from 1.', '---@class torch.Size: integer[]',
  '', '---Stands for None inside a list: torch.none.', '---@class torch.none: userdata',
}

local OPERATORS = {
  '---@operator add(torch.Tensor|number): torch.Tensor', '---@operator sub(torch.Tensor|number): torch.Tensor',
  '---@operator mul(torch.Tensor|number): torch.Tensor', '---@operator div(torch.Tensor|number): torch.Tensor',
  '---@operator mod(torch.Tensor|number): torch.Tensor', '---@operator pow(torch.Tensor|number): torch.Tensor',
  '---@operator unm: torch.Tensor', '---@operator len: integer', '---@field [any] torch.Tensor',
}

local function first_line(path)
  return {'---@meta ' .. path, '-- Written by `rtrain doc --stubs`.', ''}
end

local is_dtype = {}
for _, name in ipairs(require('torch.tensor.dtypes').NAMES) do is_dtype[name] = true end

local function value_type(thing)
  local value = thing.value
  return type(value) == 'string' and is_dtype[value] and 'torch.dtype' or type(value)
end

-- Returns a field of the module's class: a submodule or a value.
local function field_line(thing)
  local type = thing.kind == 'module' and thing.path or value_type(thing)
  return ('---@field %s %s'):format(thing.name, type)
end

local UNKNOWN = {{params = {{name = '...', type = 'any'}}, results = {{type = 'any', text = ''}}}}

local function calls_of(thing)
  local calls = page.calls(thing)
  return #calls > 0 and calls or UNKNOWN
end

-- Returns whether the method is inherited: a base class of the library documents it.
local function is_inherited(class, name)
  local base = rawget(class, '__base')
  return not rawget(class, name) or (base ~= nil and type(base[name]) == 'function')
end

local function add_methods(lines, thing, name)
  for _, method in ipairs(members.methods(thing)) do
    local separator = method.entry and method.entry.is_method == nil and '.' or ':'
    if method.entry or not is_inherited(thing.value, method.name) then
      local class = separator == ':' and thing.entry and thing.entry.doc.class or nil
      declaration.add_function(lines, name .. separator .. method.name, calls_of(method), method.entry, class)
    end
  end
end

local function add_class(lines, thing, name)
  if not thing.entry then
    lines[#lines + 1] = ('\n%s = {}'):format(name)
    return
  end
  local more = thing.path == 'torch.nn.Module' and {'---@operator call(any): any'} or nil
  declaration.add_class(lines, name, page.calls(thing), thing.entry, more)
  add_methods(lines, thing, name)
end

-- Returns whether an operator is a function in Lua. Some ATen names mean something else or are refused: torch.random,
-- torch.rename.
local function is_function(value, name)
  if type(rawget(require 'torch._C', name)) == 'table' then return false end
  local ok, found = pcall(function() return value[name] end)
  return ok and type(found) == 'function'
end

local function members_of(owner)
  local out, seen = {}, {}
  local function add(name)
    local member = not seen[name] and members.find(owner, name)
    if member then out[#out + 1] = member end
    seen[name] = true
  end
  for _, name in ipairs(catalog.names(owner.value)) do add(name) end
  if owner.path == 'torch' then
    for _, name in ipairs(descriptions.names 'torch') do add(name) end
    for _, name in ipairs(require('torch._C').op_names()) do
      if is_function(owner.value, operator.lua_name(name)) then add(operator.lua_name(name)) end
    end
  end
  return out
end

-- Returns whether another module also declares the class: torch.GradScaler is torch.amp.GradScaler.
local function is_elsewhere(member, declared)
  local class = member.entry and member.entry.doc.class
  if not class then return false end
  local known = declared[class]
  declared[class] = true
  return known
end

local function module_lines(owner, declared)
  local lines, body = first_line(owner.path), {}
  local summary = source.summary(owner.path)
  if summary ~= '' then lines[#lines + 1] = '---' .. summary end
  lines[#lines + 1] = '---@class ' .. owner.path
  for _, member in ipairs(members_of(owner)) do
    local name = owner.name .. '.' .. member.name
    if member.kind == 'module' or member.kind == 'value' then
      lines[#lines + 1] = field_line(member)
    elseif member.path == 'torch.Tensor' or member.kind == 'class' and is_elsewhere(member, declared) then
      lines[#lines + 1] = ('---@field %s %s'):format(member.name, member.entry.doc.class)
    elseif member.kind == 'class' then
      add_class(body, member, name)
    else
      declaration.add_function(body, name, calls_of(member), member.entry)
    end
  end
  lines[#lines + 1] = ('local %s = {}'):format(owner.name)
  if owner.path == 'torch' then for _, line in ipairs(BASICS) do lines[#lines + 1] = line end end
  for _, line in ipairs(body) do lines[#lines + 1] = line end
  lines[#lines + 1] = '\nreturn ' .. owner.name
  return lines
end

local function tensor_lines()
  local thing = lookup 'torch.Tensor'
  local lines = first_line 'torch.Tensor'
  declaration.add_class(lines, 'local Tensor', {}, thing.entry, OPERATORS)
  for _, method in ipairs(members.methods(thing)) do
    declaration.add_function(lines, 'Tensor:' .. method.name, calls_of(method), method.entry, 'torch.Tensor')
  end
  lines[#lines + 1] = '\nreturn Tensor'
  return lines
end

-- Adds, from its comment, an alias or a class without a public name, such as the result of get_context().
local function add_documented_class(lines, entry)
  if entry.doc.alias then
    lines[#lines + 1] = ('\n---@alias %s %s'):format(entry.doc.alias, entry.doc.stands_for)
    return
  end
  local name = entry.doc.class:match '[%w_]+$'
  declaration.add_class(lines, 'local ' .. name, {}, entry)
  for _, other in ipairs(source.entries(entry.module)) do
    if other.owner == name and not other.name:match '^_' then
      local class = other.is_method and entry.doc.class or nil
      local separator = other.is_method and ':' or '.'
      declaration.add_function(lines, name .. separator .. other.name, {signature.of_comment(other)}, other, class)
    end
  end
end

-- Returns class → entry for all classes that comments declare.
local function class_entries()
  local classes = {}
  for _, module in ipairs(source.modules()) do
    for _, entry in ipairs(source.entries(module)) do
      local name = entry.doc.class or entry.doc.alias
      if name then classes[name] = entry end
    end
  end
  return classes
end

-- Calls found(name) for every word of the annotations that may be a class, in the order of the text.
local function each_type(text, found)
  for line in text:gmatch '%-%-%-@[^\n]*' do
    for name in line:gmatch '[%a_][%w_.]*' do found(name) end
  end
end

-- Returns the classes that annotations name but no file declares, and recursively those that these name.
local function other_classes(files)
  local entries, declared, lines = class_entries(), {}, first_line 'rtrain.types'
  for _, file in ipairs(files) do
    for class in file.text:gmatch '%-%-%-@class ([%w_.]+)' do declared[class] = true end
  end
  local function add(name)
    if declared[name] or not entries[name] then return end
    declared[name] = true
    local own = {}
    add_documented_class(own, entries[name])
    for _, line in ipairs(own) do lines[#lines + 1] = line end
    each_type(table.concat(own, '\n'), add)
  end
  for _, file in ipairs(files) do each_type(file.text, add) end
  return lines
end

---Returns the declarations of the whole library.
---@return {path: string, text: string}[] files
function stubs.files()
  local files, declared = {}, {}
  local function add(path, lines)
    files[#files + 1] = {path = path:gsub('%.', '/') .. '.lua', text = table.concat(lines, '\n') .. '\n'}
  end
  for _, module in ipairs(catalog.modules()) do add(module.path, module_lines(module, declared)) end
  add('torch.Tensor', tensor_lines())
  add('rtrain.types', other_classes(files))
  return files
end

---Writes the declarations. Creates folders and overwrites existing files. Raises code 'environment' if a file cannot be
---written.
---@param folder string
---@return integer count of files
function stubs.write(folder)
  local files = stubs.files()
  for _, file in ipairs(files) do
    local path = ('%s/%s'):format(folder, file.path)
    system.make_folders(path:match '^(.*)/')
    write_file(path, file.text)
  end
  return #files
end

return stubs
