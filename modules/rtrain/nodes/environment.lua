-- rtrain/nodes/environment.lua: what of this machine's environment also holds on the nodes: the Python environment in which
-- rtrain finds LibTorch, and $RTRAIN_DATA.

local shell = require 'rtrain.launch.submit.shell'
local system = require 'base._system'

local environment = {}

-- Returns the folder of the environment that pip or conda has installed the executable in; nil without one.
local function environment_of(executable)
  local prefix = executable:match '^(.+)/bin/[^/]+$'
  for _, mark in ipairs(prefix and {'pyvenv.cfg', 'conda-meta'} or {}) do
    if system.path_kind(('%s/%s'):format(prefix, mark)) then return prefix end
  end
end

---Returns the Python environment in which the executable looks for libraries first.
---@param executable string
---@param getenv fun(name: string): string?
---@return string? folder
function environment.python(executable, getenv)
  for _, folder in ipairs {environment_of(executable) or '', getenv 'VIRTUAL_ENV' or '', getenv 'CONDA_PREFIX' or ''} do
    if folder ~= '' then return folder end
  end
end

-- Returns the words for a path: below the node's home what is below this machine's, and the path itself.
local function places_of(folder, home)
  local words = {}
  if home and home ~= '' and folder:sub(1, #home + 1) == home .. '/' then
    words[1] = '"$HOME"/' .. shell.word(folder:sub(#home + 2))
  end
  words[#words + 1] = shell.word(folder)
  return table.concat(words, ' ')
end

local PYTHON = [=[
for folder in %s; do
  if ls -d "$folder"/lib/python*/*-packages/torch >/dev/null 2>&1; then
    export VIRTUAL_ENV="$folder" PATH="$folder/bin:$PATH"
    break
  fi
done
]=]

---Returns the script that sets the variables on a node, in the job's working folder. What a node sets itself goes before
---RTRAIN_DATA of this machine.
---@param given {python?: string, home?: string, data?: string, data_place?: string} python: a folder of this machine; data:
---  $RTRAIN_DATA, data_place: where it is below the job's folder, if its files were sent
---@return string script
---
---```lua
---local environment = require 'rtrain.nodes.environment'
---local script = environment.script {python = '/home/me/venv', home = '/home/me', data = '/data'}
---assert(script:find('for folder in "$HOME"/venv /home/me/venv', 1, true) and script:find 'export RTRAIN_DATA=/data\n')
---```
function environment.script(given)
  local out = {}
  if given.python then out[#out + 1] = PYTHON:format(places_of(given.python, given.home)) end
  if given.data_place then
    out[#out + 1] = ('export RTRAIN_DATA="$PWD"/../%s\n'):format(shell.word(given.data_place))
  elseif given.data then
    out[#out + 1] = ('[ -n "${RTRAIN_DATA-}" ] || export RTRAIN_DATA=%s\n'):format(shell.word(given.data))
  end
  return table.concat(out)
end

return environment
