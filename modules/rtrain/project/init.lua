-- rtrain/project/init.lua: `rtrain init`: creates a folder with a script that runs unchanged.

local errors = require 'base.errors'
local host = require 'rtrain._host'
local readme = require 'rtrain.project.readme'
local system = require 'base._system'
local write_file = require 'base.write_file'

local project = {}

local STUBS = '.rtrain/stubs'

local GITIGNORE = [[
# Declarations for editors: rtrain doc --stubs .rtrain/stubs writes them again.
.rtrain/
rtrain_results/
]]

-- Settings of a Lua language server: LuaJIT, and the library's declarations.
local LUARC = [[
{
  "runtime.version": "LuaJIT",
  "workspace.library": [".rtrain/stubs"],
  "workspace.checkThirdParty": false
}
]]

---@class ProjectFile
---@field path string below the folder
---@field text string
---@field about string description in the printed list

-- Raises code 'usage' unless it is the folder of a language model; returns its absolute path.
local function model_folder(path)
  local folder = system.absolute(path)
  local function has(file) return system.path_kind(folder .. '/' .. file) == 'file' end
  if not has 'config.json' then
    errors.raise('usage', ("init: --model: '%s' has no config.json: expected the folder of a model"):format(path))
  end
  return folder
end

-- The script as the folder has it: two templates are examples, whose first line names their place.
local function script_of(template, text, model)
  text = text:gsub('examples/[%w_]+%.lua', 'train.lua', 1)
  if template == 'finetune' then
    if not model then
      errors.raise('usage', 'init: finetune needs --model FOLDER: a folder with config.json, model.safetensors and a tokenizer')
    end
    local quoted = ('%q'):format(model_folder(model)):gsub('%%', '%%%%')
    return (text:gsub("model = ''", 'model = ' .. quoted, 1):gsub(' %-%-set model=FOLDER', '', 1))
  end
  if model then errors.raise('usage', ("init: --model belongs to the template finetune, not to '%s'"):format(template)) end
  return text
end

---Returns the files of a template, without the declarations for editors. Raises code 'usage' for an unknown template, and
---for one that needs a model without it.
---@param template string 'mnist', 'cifar', 'tabular', 'gpt', 'pretrain', 'finetune' or 'blank'
---@param title string the heading of README.md
---@param model? string for 'finetune': the folder of a language model
---@return ProjectFile[]
---
---```lua
---local files = require('rtrain.project').files('blank', 'hello')
---assert(files[1].path == 'train.lua' and files[1].text:find 'TorchTrainer')
---```
function project.files(template, title, model)
  local script = host.template_text(template)
  if not script then
    errors.raise('usage', ("init: unknown template '%s'%s"):format(template,
      errors.suggestion(template, host.template_names())))
  end
  script = script_of(template, script, model)
  return {
    {path = 'train.lua', text = script, about = 'the training script'},
    {path = 'README.md', text = readme(title, script), about = 'how to run it, and what to try next'},
    {path = '.gitignore', text = GITIGNORE, about = ''},
    {path = '.luarc.json', text = LUARC, about = "for a Lua language server: the library's types and texts"},
  }
end

local function refuse_files(folder, files)
  if system.path_kind(folder) == 'file' then errors.raise('usage', ("init: '%s' is a file"):format(folder)) end
  local taken = {}
  for _, file in ipairs(files) do
    if system.path_kind(folder .. '/' .. file.path) then taken[#taken + 1] = file.path end
  end
  if #taken == 0 then return end
  errors.raise('usage', ("init: '%s' has %s already: nothing was written; choose another folder"):format(folder,
    table.concat(taken, ', ')))
end

local function print_files(folder, files, num_stubs)
  io.write(folder, '\n')
  local function line(path, about) io.write(('  %-14s%s\n'):format(path, about == '' and '' or '  ' .. about)) end
  for _, file in ipairs(files) do line(file.path, file.about) end
  line(STUBS .. '/', ('%d declarations for editors'):format(num_stubs))
  io.write('next: ')
  if folder ~= '.' then io.write('cd ', system.shell_word(folder), ' && ') end
  io.write('rtrain run train.lua\n')
end

---Runs the command: writes the files and prints them. Raises code 'usage', before anything is written, if the folder
---has one of them; 'environment' if a file cannot be written, and removes the others.
---@param request {template: string, folder: string, model: string|nil}
function project.run(request)
  local folder = request.folder:match '^(.-)/*$'
  if folder == '' then folder = '/' end
  local title = system.absolute(folder):match '([^/]+)/*$' or 'rtrain'
  local files = project.files(request.template, title, request.model)
  refuse_files(folder, files)
  local had_stubs, stubs = system.path_kind(folder .. '/' .. STUBS), require 'rtrain.doc.stubs'
  local written, num_stubs = xpcall(function()
    system.make_folders(folder)
    for _, file in ipairs(files) do write_file(folder .. '/' .. file.path, file.text) end
    return stubs.write(folder .. '/' .. STUBS)
  end, errors.wrap)
  if not written then
    for _, file in ipairs(files) do os.remove(folder .. '/' .. file.path) end
    if not had_stubs then system.remove_tree(folder .. '/' .. STUBS) end
    error(num_stubs, 0)
  end
  print_files(folder, files, num_stubs)
end

return project
