-- rtrain/repl/completion.lua: completes a line that is being typed: names, methods, paths inside quotes.

local class = require 'base.class'
local frame = require 'base.errors.frame'
local member_names = require 'base.member_names'
local system = require 'base._system'
local tokens = require 'rtrain.repl.tokens'

local KEYWORDS = {'and', 'break', 'do', 'else', 'elseif', 'end', 'false', 'for', 'function', 'goto', 'if', 'in', 'local',
                  'nil', 'not', 'or', 'repeat', 'return', 'then', 'true', 'until', 'while'}
local COMMANDS = {'%edit', '%help', '%time', ':reload'}

---@class ReplCompletion
---@field insert string the common continuation of all choices
---@field choices string[] sorted; shown if there are several
---@field typed string the beginning of each choice that the line ends with

local function is_tensor(value)
  local engine = package.loaded['torch._C']
  return type(value) == 'userdata' and type(engine) == 'table' and engine.is_tensor(value)
end

-- Computed at the first use: some hundreds of operators.
local tensor_methods

local function names_of_tensor(separator)
  if separator == '.' then return (select(2, require('torch._C').tensor_members())) end
  tensor_methods = tensor_methods or require 'rtrain.doc.tensor_names'()
  return tensor_methods
end

-- Returns torch's names without LibTorch, the described operators, and all operators once LibTorch is loaded.
local function names_of_torch(torch)
  local names = require('rtrain.doc.catalog').names(torch)
  local engine = package.loaded['torch._C']
  local operators = type(engine) == 'table' and engine.op_names() or require('rtrain.doc.descriptions').names 'torch'
  for _, name in ipairs(operators) do names[#names + 1] = name end
  return names
end

local function own_fields(names, object)
  for name in next, object do
    if type(name) == 'string' then names[#names + 1] = name end
  end
  return names
end

local function is_namespace(value)
  local meta = type(value) == 'table' and getmetatable(value)
  return type(meta) == 'table' and meta.__names ~= nil
end

local function field_of(object, name)
  if is_tensor(object) or is_namespace(object) or object == package.loaded.torch then return object[name] end
  if type(object) == 'string' then return string[name] end
  return frame.field(object, name)
end

-- Keeps only callable names, for use after a colon.
local function callable_names(object, names)
  local kept = {}
  for _, name in ipairs(names) do
    local found, value = pcall(field_of, object, name)
    if found and type(value) == 'function' then kept[#kept + 1] = name end
  end
  return kept
end

local function all_names_of(object)
  if object == package.loaded.torch then return names_of_torch(object) end
  if is_namespace(object) then return getmetatable(object).__names(object) end
  if type(object) == 'string' then return own_fields({}, string) end
  local names = (class.of(object) or type(object) == 'table') and member_names(object) or {}
  return type(object) == 'table' and own_fields(names, object) or names
end

local function names_of(object, separator)
  if is_tensor(object) then return names_of_tensor(separator) end
  local names = all_names_of(object)
  return separator == ':' and callable_names(object, names) or names
end

-- Returns the object for 'model.layers.' or 'x:'; nil if there is none.
local function owner_of(path)
  local first, rest = path:match '^([%a_][%w_]*)(.*)$'
  if not first then return nil end
  local object = rawget(_G, first)
  for name in rest:gmatch '[.:]([%a_][%w_]*)' do
    local found, value = pcall(field_of, object, name)
    if not found or value == nil then return nil end
    object = value
  end
  return object
end

local function starting_with(names, prefix)
  local found, seen = {}, {}
  for _, name in ipairs(names) do
    local is_hidden = name:sub(1, 1) == '_' and prefix:sub(1, 1) ~= '_'
    if name:sub(1, #prefix) == prefix and not is_hidden and not seen[name] and name:match '^[%%:]?[%w_]+$' then
      seen[name], found[#found + 1] = true, name
    end
  end
  table.sort(found)
  return found
end

-- Returns the common beginning, never cut in the middle of a UTF-8 character.
local function common_start(choices)
  local start = choices[1] or ''
  for _, choice in ipairs(choices) do
    while choice:sub(1, #start) ~= start do start = start:sub(1, -2) end
  end
  while start ~= '' and (choices[1]:byte(#start + 1) or 0) >= 0x80 and (choices[1]:byte(#start + 1) or 0) < 0xC0 do
    start = start:sub(1, -2)
  end
  return start
end

local function completion(choices, typed)
  return {insert = common_start(choices):sub(#typed + 1), choices = choices, typed = typed}
end

local function in_names(line)
  local path, typed = line:match '([%a_][%w_.:]*[.:])([%w_]*)$'
  if path then
    local owner = owner_of(path:sub(1, -2))
    return completion(owner == nil and {} or starting_with(names_of(owner, path:sub(-1)), typed), typed)
  end
  typed = line:match '[%a_][%w_]*$' or ''
  local names = own_fields({}, _G)
  for _, word in ipairs(KEYWORDS) do names[#names + 1] = word end
  return completion(starting_with(names, typed), typed)
end

-- Appends '/' to a folder's name, and closes the quote after the only matching file.
local function in_path(typed, quote)
  local folder, name = typed:match '^(.-)([^/]*)$'
  local place = system.absolute(folder == '' and '.' or folder)
  local listed, entries = pcall(system.list_folder, place)
  local choices = {}
  for _, entry in ipairs(listed and entries or {}) do
    local is_hidden = entry:sub(1, 1) == '.' and name:sub(1, 1) ~= '.'
    if entry:sub(1, #name) == name and not is_hidden then
      choices[#choices + 1] = entry .. (system.path_kind(place .. '/' .. entry) == 'folder' and '/' or '')
    end
  end
  local found = completion(choices, name)
  if #choices == 1 and choices[1]:sub(-1) ~= '/' then found.insert = found.insert .. quote end
  return found
end

---Returns the completions of a line.
---@param line string up to the cursor
---@return ReplCompletion
---
---```lua
---local completion = require 'rtrain.repl.completion'
---assert(completion 'string.forma'.insert == 't' and completion 'string.re'.choices[1] == 'rep')
---```
return function(line)
  local list = tokens(line)
  local last = list[#list]
  if last and last.is_open then
    if last.kind == 'comment' then return completion({}, '') end
    local quote = last.text:match "^['\"]" or ''
    return in_path(last.text:sub(#(last.text:match '^%[=*%[' or quote) + 1), quote)
  end
  local command = line:match '^[%%:]%a*$'
  if command then return completion(starting_with(COMMANDS, command), command) end
  if line:match '^%%edit%s' then return in_path(line:match '^%%edit%s+(.*)$', '') end
  return in_names(line)
end
