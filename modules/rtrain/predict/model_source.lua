-- rtrain/predict/model_source.lua: finds the model of a training script by its name in the script, without training.
--
-- The script runs up to its first fit(). The name is searched in the script's return value, its globals and its locals,
-- and among the upvalues of its train function and, recursively, of the functions among them.

local class = require 'base.class'
local command_flags = require 'rtrain.run.command_flags'
local errors = require 'base.errors'
local frame = require 'base.errors.frame'
local Module = require('torch.nn.module').Module
local ordered = require 'base.ordered'
local read_file = require 'base.read_file'
local system = require 'base._system'
local write_file = require 'base.write_file'

local model_source = {}

-- Names that are used if no name is given, before the only model class of the script.
local USUAL = {'build_model', 'make_model', 'create_model'}

local function raise(...) errors.raise('usage', 'predict: ' .. (...):format(select(2, ...))) end

-- Writes the code that a run has kept to files in a folder.
local function write_sources(sources, folder)
  local script
  for _, source in ipairs(sources) do
    if source.kind ~= 'diff' then
      local path = folder .. '/' .. source.path
      local within = source.path:match '^(.*)/[^/]*$'
      if within then system.make_folders(folder .. '/' .. within) end
      write_file(path, source.text)
      if source.kind == 'script' then script = path end
    end
  end
  return script
end

-- Returns the local variables of the script's running chunk, each as {name, value}.
local function variables_of(chunk)
  for level = 2, math.huge do
    local info = debug.getinfo(level, 'f')
    if not info then return {} end
    if info.func == chunk then
      local found = frame.variables(level)  -- no tail call: `level` counts this frame
      return found
    end
  end
end

-- Runs the script up to its first fit(). Returns its result, the trainer, and the script's local variables at that
-- point.
local function run_script(path, arguments)
  local chunk, problem = loadfile(path)
  if not chunk then raise('%s', problem) end
  local trainer, variables = nil, {}
  command_flags.set {set = {}, tags = {}, on_fit = function(given)
    trainer, variables = given, variables_of(chunk)
    errors.raise('interrupted', 'fit() does not train here: the script is asked for its model')
  end}
  local kept = rawget(_G, 'arg')
  rawset(_G, 'arg', {[0] = path, unpack(arguments)})
  local ok, returned = xpcall(chunk, errors.wrap, unpack(arguments))
  rawset(_G, 'arg', kept)
  command_flags.set(nil)
  if not ok and not trainer then error(returned, 0) end
  return ok and returned or nil, trainer, variables
end

local function is_model_class(value)
  while class.is_class(value) do
    value = rawget(value, '__base')
    if value == Module then return true end
  end
  return false
end

local function is_model(value) return class.is(value, Module) end

-- Returns whether a function is the script's and not rtrain's.
local function is_own(fn, folder)
  local source = debug.getinfo(fn, 'S').source
  return source:sub(1, 1) == '@' and system.absolute(source:sub(2)):sub(1, #folder + 1) == folder .. '/'
end

-- Adds the upvalues of a function, then those of the functions among them.
local function add_upvalues(fn, folder, names, seen)
  if seen[fn] or not is_own(fn, folder) then return end
  seen[fn] = true
  local functions = {}
  for i = 1, math.huge do
    local name, value = debug.getupvalue(fn, i)
    if name == nil then break end
    if names[name] == nil and value ~= nil then names[name] = value end
    if type(value) == 'function' then functions[#functions + 1] = value end
  end
  for _, inner in ipairs(functions) do add_upvalues(inner, folder, names, seen) end
end

-- Returns every name of the script that may mean a model, as an ordered map.
local function names_of(returned, trainer, variables, folder, globals)
  local names = ordered.new()
  if type(returned) == 'table' and not class.of(returned) and not class.is_class(returned) then
    for _, name in ipairs(ordered.names_of(returned)) do names[name] = returned[name] end
  end
  for _, name in ipairs(ordered.names_of(_G)) do
    if not globals[name] then names[name] = rawget(_G, name) end
  end
  for _, variable in ipairs(variables) do
    local name, value = unpack(variable)
    if value ~= nil and name:sub(1, 1) ~= '(' then names[name] = value end
  end
  local fn = trainer and rawget(trainer, 'train_loop_per_worker')
  if fn then add_upvalues(fn, folder, names, {}) end
  if type(returned) == 'function' then add_upvalues(returned, folder, names, {}) end
  return names
end

local function is_candidate(value) return is_model(value) or is_model_class(value) end

-- Returns the value that makes the model, and its name.
local function choose(names, wanted, returned, path)
  if wanted then
    local value = names[wanted]
    if type(value) == 'function' or is_candidate(value) then return value, wanted end
    local known = {}
    for name, other in ordered.items(names) do
      if type(other) == 'function' or is_candidate(other) then known[#known + 1] = name end
    end
    raise("%s has no function or class of a model named '%s'%s%s", path, wanted, errors.suggestion(wanted, known),
      #known > 0 and ': it has ' .. table.concat(known, ', ') or '')
  end
  if type(returned) == 'function' or is_candidate(returned) then return returned, 'what it returns' end
  for _, name in ipairs(USUAL) do
    if type(names[name]) == 'function' then return names[name], name end
  end
  local found = {}
  for name, value in ordered.items(names) do
    if is_candidate(value) then found[#found + 1] = name end
  end
  if #found == 1 then return names[found[1]], found[1] end
  raise(#found == 0 and "%s: no class of a model among the names that its train function uses: name a function that "
    .. 'returns the model, --model NAME' or '%s: several classes of models, name the one that is meant, --model NAME: %s',
    path, table.concat(found, ', '))
end

-- Makes the model: a function is called with the config, a class without arguments.
local function made(value, name, config)
  if is_model(value) then return value end
  local model
  if is_model_class(value) then model = value() else model = value(config) end
  if is_model(model) then return require('rtrain.torch').unwrap(model) end
  raise("'%s' returned %s, expected a model (nn.Module)", name, Module._describe(model))
end

-- Returns the texts of the code: those that a run has kept, or the script's file.
local function texts_of(request)
  if not request.sources then return {{path = request.script, text = read_file(request.script) or ''}} end
  local texts = {}
  for _, source in ipairs(request.sources) do
    if source.kind ~= 'diff' then texts[#texts + 1] = source end
  end
  return texts
end

---@class PredictScript
---@field names table<string, any> the names of the script and their values, an ordered map
---@field shown string its file, as shown in messages
---@field texts {path: string, text: string}[] its code and that of its modules

---Returns the model of a script, and the other names of the script.
---@param request table {script (a path) or sources (the code that a run keeps), args (the script's own), model (a
---  name), config, set}
---@return nn.Module model
---@return PredictScript script
---Errors: 'usage' for an ambiguous model; the errors of the script.
function model_source.load(request)
  local folder = request.sources and system.make_temp('rtrain-predict-') or nil
  local function load()
    local path = folder and write_sources(request.sources, folder) or request.script
    if not path then raise('no script is kept with it: name the one that makes its model, --script FILE') end
    local home = system.absolute(path):match '^(.*)/[^/]*$'
    package.path = home .. '/?.lua;' .. home .. '/?/init.lua;' .. package.path
    local globals = {}
    for name in next, _G do globals[name] = true end
    local returned, trainer, variables = run_script(path, request.args or {})
    local names = names_of(returned, trainer, variables, home, globals)
    local config = request.config or trainer and trainer.train_loop_config
    config = require('base.overrides').apply(config, request.set or {})
    local shown = request.script or path:match '[^/]*$'
    local value, name = choose(names, request.model, returned, shown)
    return made(value, name, config), {names = names, shown = shown, texts = texts_of(request)}
  end
  local ok, model, script = xpcall(load, errors.wrap)
  if folder then system.remove_tree(folder) end
  if not ok then error(model, 0) end
  return model, script
end

return model_source
