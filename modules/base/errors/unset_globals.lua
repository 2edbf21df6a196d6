-- base/errors/unset_globals.lua: finds globals that a script reads but nothing sets; Lua would read nil without an
-- error.
--
-- They are found in the code of the script and of the modules that it requires, before the first line runs. To refuse
-- no working program, a name is ignored if the code tests it (`if unittest then`, `x or 1`, `type(x)`) or reads it in a
-- function passed to pcall. All names are ignored if globals may be set invisibly: by `_G` other than in `_G.name`,
-- getfenv, setfenv, load, loadstring, loadfile, dofile, module, or a require of a computed name or of a module that is
-- not found.

local bytecode = require 'base.errors.bytecode'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local pythonisms = require 'base.errors.pythonisms'
local read_file = require 'base.read_file'

local unset_globals = {}

local CONSTANT = "%s:%d: Python's %s is written %s"

-- Globals of other Lua versions, which a portable script may read.
local OF_OTHER_LUAS = {_ENV = true, bit32 = true, rawlen = true, utf8 = true, warn = true}

local MODULES = {
  torch = 'torch', nn = 'torch.nn', F = 'torch.nn.functional', optim = 'torch.optim', train = 'rtrain', ray = 'rtrain',
  rtrain = 'rtrain', vision = 'vision', torchvision = 'vision', transforms = 'vision.transforms',
  datasets = 'vision.datasets', argparse = 'argparse', json = 'json',
}

-- Returns the words of a text that may be variable names: no fields after a dot or colon, no words in strings and
-- comments.
local function names_in(text)
  local names = {}
  for line in text:gmatch '[^\n]+' do
    for before, name in pythonisms.without_strings(line):gmatch '([^%w_]?)%f[%w_]([%a_][%w_]*)' do
      if before ~= '.' and before ~= ':' then names[name] = true end
    end
  end
  return names
end

-- Returns the first match of the pattern in the lines of a text.
local function find_in(text, pattern)
  for line in text:gmatch '[^\n]+' do
    local found = pythonisms.without_strings(line):match(pattern)
    if found then return found end
  end
end

-- Returns the table whose field of that name a text reads: `config.lr` → 'config'.
local function owner_in(text, name) return find_in(text, ('%%f[%%w_]([%%a_][%%w_]*)%%.%s%%f[^%%w_]'):format(name)) end

-- Returns the script's names, and the standard names with the same first letter: `text` is not a misspelt `next`.
local function candidates_for(name, own)
  local names = {}
  for i, other in ipairs(own) do names[i] = other end
  for _, other in ipairs(ordered.names_of(_G)) do
    if other:sub(1, 1) == name:sub(1, 1) then names[#names + 1] = other end
  end
  return names
end

---Returns the name that was probably meant by a global without a value; nil if unknown.
---@param name string
---@param own string[] names that the script uses
---@param field? string the field that is read from it
---@return string? advice
function unset_globals.advice(name, own, field)
  if MODULES[name] then return ("local %s = require '%s' comes first"):format(name, MODULES[name]) end
  local advice = pythonisms.of_global(name, field)
  if advice then return 'in Lua: ' .. advice end
  local near = errors.suggestion(name, candidates_for(name, own))
  return near:find 'did you mean' and near:sub(3) or nil
end

-- Returns the chunks of a program: {fn, text, path, is_own, found}, the script first. `is_open` if a chunk may set
-- globals invisibly.
local function chunks_of(script, is_library)
  local chunks, seen, is_open = {script}, {}, false
  local function add_module(name)
    if seen[name] or is_library(name) or package.loaded[name] then return end
    seen[name] = true
    local path = package.searchpath(name, package.path)
    local text = path and read_file(path)
    if text then
      local is_own = script.folder ~= '' and path:sub(1, #script.folder + 1) == script.folder .. '/'
      chunks[#chunks + 1] = {fn = loadstring(text, '@' .. path), text = text, path = path, is_own = is_own}
    elseif package.searchpath(name, package.cpath) then
      script.found.set[name:match '^[^.]+'] = true  -- set by luaL_register
    else
      is_open = true
    end
  end
  script.found = bytecode.globals(script.fn)
  local at = 1
  while chunks[at] do
    local chunk = chunks[at]
    -- A syntax error is reported when the module is required.
    chunk.found = chunk.found or chunk.fn and bytecode.globals(chunk.fn) or {read = {}, set = {}, tested = {}, modules = {}}
    is_open = is_open or chunk.found.is_open
    for _, name in ipairs(chunk.found.modules) do add_module(name) end
    at = at + 1
  end
  return chunks, is_open
end

-- Returns the unset names that a chunk reads, each at its first line: {name, line}, sorted by line.
local function unset_in(chunk, is_known)
  local first, out = {}, {}
  for _, read in ipairs(chunk.found.read) do
    local name, line = unpack(read)
    if not is_known(name) and line < (first[name] or math.huge) then first[name] = line end
  end
  for _, name in ipairs(ordered.names_of(first)) do out[#out + 1] = {name, first[name]} end
  table.sort(out, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[1] < b[1]) end)
  return out
end

local function line_of(chunk, name, line, own)
  local constant = pythonisms.of_constant(name)
  if constant then return CONSTANT:format(chunk.path, line, name, constant) end
  local owner = owner_in(chunk.text, name)
  local field = find_in(chunk.text, ('%%f[%%w_]%s%%.([%%a_][%%w_]*)'):format(name))
  local advice = owner and owner ~= 'self' and ("did you mean '%s.%s'?"):format(owner, name)
    or unset_globals.advice(name, own, field) or 'its value is nil'
  return ("%s:%d: reads the global '%s', which nothing sets: %s"):format(chunk.path, line, name, advice)
end

-- Returns the names that a chunk may have meant: those it sets, and those that the program sets.
local function own_names(chunk, unset, is_set)
  local names = names_in(chunk.text)
  for name in next, is_set do names[name] = true end
  for _, entry in ipairs(unset) do names[entry[1]] = nil end
  return ordered.names_of(names)
end

---Returns the error of a script that reads globals which nothing sets.
---@param script {fn: function, text: string, path: string, folder: string} its chunk, not yet called; the folder of the modules
---  next to it, '' for none
---@param is_library fun(name: string): boolean whether a module is one of rtrain's
---@return string? message a line for each name; nil if there is no such name
---
---```lua
---local unset_globals = require 'base.errors.unset_globals'
---local text = 'local rate = 1; return {lr = rat}'
---local script = {fn = loadstring(text), text = text, path = 'train.lua', folder = ''}
---assert(unset_globals.message(script, function() return false end)
---  == "train.lua:1: reads the global 'rat', which nothing sets: did you mean 'rate'?")
---```
function unset_globals.message(script, is_library)
  script.is_own = true
  local chunks, is_open = chunks_of(script, is_library)
  local is_set, is_tested = {}, {}
  for _, chunk in ipairs(chunks) do
    for name in next, chunk.found.set do is_set[name] = true end
    for name in next, chunk.is_own and chunk.found.tested or {} do is_tested[name] = true end
  end
  local function is_known(name)
    if is_set[name] or rawget(_G, name) ~= nil then return true end
    return not pythonisms.of_constant(name) and (is_open or is_tested[name] or OF_OTHER_LUAS[name])
  end
  local lines = {}
  for _, chunk in ipairs(chunks) do
    local unset = chunk.is_own and unset_in(chunk, is_known) or {}
    local own = #unset > 0 and own_names(chunk, unset, is_set) or {}
    for _, entry in ipairs(unset) do lines[#lines + 1] = line_of(chunk, entry[1], entry[2], own) end
  end
  return #lines > 0 and table.concat(lines, '\n') or nil
end

---Returns the error of a function that reads one of Python's constants without setting it.
---@param fn function
---@return string? message with its line
function unset_globals.of_constants(fn)
  local found = bytecode.globals(fn)
  for _, read in ipairs(found.read) do
    local name, line = unpack(read)
    local constant = pythonisms.of_constant(name)
    if constant and not found.set[name] and rawget(_G, name) == nil then
      return CONSTANT:format(debug.getinfo(fn, 'S').short_src, line, name, constant)
    end
  end
end

return unset_globals
