-- rtrain/doc/source.lua: finds the documented things in the source text of rtrain's modules.

local comment = require 'rtrain.doc.comment'
local definition_of = require('base.class').definition
local host = require 'rtrain._host'

local source = {}

---@class DocEntry
---@field module string 'torch.nn.linear'
---@field name? string the name that the line under the comment defines
---@field owner? string the table before the name: 'Module' of `function Module:train()`
---@field is_method? boolean `function Owner:name()`
---@field names? table<string, boolean> the names that a loop defines: 'a, b: what they do'
---@field parameters? string the text between the parentheses
---@field line integer of the definition
---@field doc DocComment

---Returns the text with a capital first letter, unless it begins with a name in code: 'train.health: …'.
---@param text string
---@return string
function source.capitalized(text)
  if text:match '^[%w_]*[._][%w_]' then return text end
  return text:sub(1, 1):upper() .. text:sub(2)
end

-- Returns the subject of a definition in a line of code, as {owner, separator, name, parameters}.
local function subject_of(line)
  local owner, separator, name, parameters = line:match '^function ([%w_.]+)([.:])([%w_]+)%(([^)]*)%)'
  if owner then return {owner = owner, is_method = separator == ':' or nil, name = name, parameters = parameters} end
  name, parameters = line:match '^local function ([%w_]+)%(([^)]*)%)'
  if name then return {name = name, parameters = parameters} end
  name = line:match '^local ([%w_]+) = '
  if name then return {name = name} end
  owner, name = line:match '^([%w_]+)%.([%w_]+) = '
  if owner then return {owner = owner, name = name} end
  -- defined('name', …): files that define their functions in a table.
  return {name = line:match "^[%w_.]+%(?%s*'([%w_]+)'" or line:match "^[%w_.]+%([%w_]+%)%('([%w_]+)'"}
end

-- A comment above a loop lists the names that the loop defines, 'max_pool1d, max_pool2d: …'; the following text
-- describes all.
local function take_names(entry)
  local first = entry.doc.paragraphs[1] or ''
  local list, rest = first:match '^([%w_]+, [%w_, ]+): (.*)$'
  if not list then return end
  entry.names = {}
  for name in list:gmatch '[%w_]+' do entry.names[name] = true end
  entry.doc.paragraphs[1] = source.capitalized(rest)
end

local function read_entries(module, text)
  local entries, lines, number = {}, nil, 0
  for line in (text .. '\n'):gmatch '(.-)\n' do
    number = number + 1
    local said = line:match '^%-%-%-(.*)$'
    if said then
      lines = lines or {}
      lines[#lines + 1] = said
    elseif lines then
      local entry = subject_of(line)
      entry.module, entry.line, entry.doc = module, number, comment.read(lines)
      if line:match '^for ' then take_names(entry) end
      entries[#entries + 1] = entry
      lines = nil
    end
  end
  return entries
end

local entries_of, texts, paths = {}, {}, {}

local function load_text(module)
  if texts[module] == nil then
    local text, path = host.module_text(module)
    texts[module] = text or false
    if path then paths[path] = module end
  end
  return texts[module] or nil
end

---Returns the documented things of a module, in the order of its text; an empty list for a name that is not a module of
---rtrain.
---@param module string
---@return DocEntry[]
function source.entries(module)
  if not entries_of[module] then
    local text = load_text(module)
    entries_of[module] = text and read_entries(module, text) or {}
  end
  return entries_of[module]
end

local modules

---Returns the names of all modules, sorted.
---@return string[]
function source.modules()
  modules = modules or host.module_names()
  return modules
end

---Returns the module with this path below modules/: 'torch/nn/linear.lua'.
---@param path string
---@return string|nil module
function source.module_at(path)
  if not paths[path] then
    local module = path:gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.')
    load_text(module)
  end
  return paths[path]
end

---Returns the comment above the definition of a Lua function of rtrain.
---@param fn function
---@return DocEntry|nil
function source.of_function(fn)
  local info = debug.getinfo(definition_of(fn), 'S')
  local path = info.source:match '^@rtrain://(.*)$'
  local module = path and source.module_at(path)
  for _, entry in ipairs(module and source.entries(module) or {}) do
    if entry.line == info.linedefined then return entry end
  end
end

---Returns the comment of the function that runs when a module of rtrain is called (base.namespace's `call`).
---@param module table
---@return DocEntry|nil
function source.of_call(module)
  local meta = getmetatable(module)
  local called = meta and meta.__function
  return called and source.of_function(called)
end

---Returns the comment for a name in the module: a function of it, or a class by the last part of its name.
---@param module string
---@param name string
---@return DocEntry|nil
function source.find(module, name)
  for _, entry in ipairs(source.entries(module)) do
    local class = entry.doc.class
    if class and class:match '[%w_]+$' == name then return entry end
    if not class and (entry.name == name or entry.names and entry.names[name]) then return entry end
  end
end

local classes

---Returns the comment that declares a class.
---@param name string as it is declared: 'nn.Linear'
---@return DocEntry|nil
function source.class(name)
  if not classes then
    classes = {}
    for _, module in ipairs(source.modules()) do
      for _, entry in ipairs(source.entries(module)) do
        if entry.doc.class then classes[entry.doc.class] = entry end
      end
    end
  end
  return classes[name]
end

---Returns the class that is declared before this one in the same file.
---@param entry DocEntry
---@return DocEntry|nil
function source.class_before(entry)
  local before
  for _, other in ipairs(source.entries(entry.module)) do
    if other == entry then return before end
    if other.doc.class then before = other end
  end
end

---Returns the header comment of a module's file, which describes the file in one sentence.
---@param module string
---@return string summary '' if there is none
function source.summary(module)
  local line = (load_text(module) or ''):match '^%-%- ([^\n]*)'
  return line and (line:gsub('^[%w_/]+%.lua: ', '')) or ''
end

return source
