-- rtrain/nodes/job_files.lua: the files that the nodes of a run need: rtrain, the script, its modules, its data.

local errors = require 'base.errors'
local requires = require 'rtrain.project.requires'
local shell = require 'rtrain.launch.submit.shell'
local system = require 'base._system'

local job_files = {}

local HASHED_AT_A_TIME = 200  -- files: the output of a command is limited
local HASH_TIMEOUT_S = 600
local HEAD_BYTES = 16
local LIBRARY = 'libstdc++.so.6'

---A file that each node gets.
---@class JobFile
---@field path string
---@field place string below the job's folder
---@field hash string SHA-256, in hexadecimal digits
---@field size integer bytes
---@field is_packed boolean whether packing would not make it smaller

local function below(path, folder) return path:sub(1, #folder + 1) == folder .. '/' and path:sub(#folder + 2) or nil end

local function folder_of(path) return path:match '^(.*)/[^/]*$' end

-- The run's working folder is what this one is here, if the script is below it: relative names mean the same.
local function root_of(script)
  local here = system.absolute '.'
  return below(script, here) and here or folder_of(script)
end

-- Returns where a path of this machine is below the job's folder: relative names, and those below $RTRAIN_DATA, mean the same.
local function place_of(roots, path)
  for _, root in ipairs(roots) do
    if path == root.folder then return root.place end
    local rest = below(path, root.folder)
    if rest then return ('%s/%s'):format(root.place, rest) end
  end
end

local function add_data(out, roots, path)
  local kind = system.path_kind(path)
  if kind == nil then errors.raise('usage', ('--with %s: there is no such file'):format(path)) end
  local place = place_of(roots, path)
  if place == nil then
    errors.raise('usage', ('--with %s is not below %s%s: the script would not find it there'):format(path, roots[1].folder,
      roots[2] and (' or $RTRAIN_DATA, %s'):format(roots[2].folder) or ''))
  end
  if kind ~= 'folder' then
    out[#out + 1] = {path = path, place = place}
    return
  end
  for _, name in ipairs(system.list_folder(path)) do add_data(out, roots, ('%s/%s'):format(path, name)) end
end

-- Adds the library that a package has next to the executable: the node's own may be older.
local function add_library(out, program)
  local path = program:gsub('/[^/]*$', '') .. '/../lib/rtrain/' .. LIBRARY
  if system.path_kind(path) == 'file' then out[#out + 1] = {path = path, place = 'lib/rtrain/' .. LIBRARY} end
end

local function hash_some(files, first, last)
  local words = {'sha256sum', '--'}
  for i = first, last do words[#words + 1] = files[i].path end
  local command = system.start_command(('{ %s; } 2>&1'):format(shell.command(words)))
  local has_ended, text = command:finish(HASH_TIMEOUT_S)
  command:release()
  local i = first
  for line in text:gmatch '[^\n]+' do
    local hash = line:match '^\\?(%x+) '
    if not hash or #hash ~= 64 or i > last then errors.raise('environment', 'sha256sum: ' .. line) end
    files[i].hash, i = hash, i + 1
  end
  if not has_ended or i <= last then
    errors.raise('environment', 'sha256sum has not told the hash of ' .. files[i].path)
  end
end

local function measure(file)
  local handle, problem = io.open(file.path, 'rb')
  if not handle then errors.raise('usage', 'cannot read ' .. problem) end
  file.size = handle:seek 'end'
  handle:seek 'set'
  file.is_packed = system.is_packed(file.path, handle:read(HEAD_BYTES) or '') and true or false
  handle:close()
end

-- The nodes list the names line by line.
local function check_names(files)
  for _, file in ipairs(files) do
    if file.place:find '%c' then
      errors.raise('usage', ('%s: its name has a control character'):format(system.terminal_text(file.path)))
    end
  end
end

---Returns the job's files, with what they are on the nodes.
---@param request {script?: string, program: string, with?: string[], data?: string} program: the executable, or the file of
---  --bundle; data: the absolute path in $RTRAIN_DATA
---@return JobFile[] files the first is the program
---@return string? script its place below the working folder
---@return string? data_place where files below `data` are, below the job's folder; nil if none are sent
---Errors: 'usage' for files that do not exist or are not below the working folder or `data`, 'environment' without sha256sum.
function job_files.of(request)
  local files, place, data_place = {{path = request.program, place = 'rtrain'}}, nil, nil
  add_library(files, request.program)
  if request.script then
    local script = system.absolute(request.script)
    local root, data = root_of(script), request.data
    place = below(script, root)
    files[#files + 1] = {path = script, place = 'work/' .. place}
    local folder = folder_of('work/' .. place)
    for _, module in ipairs(requires.of(script)) do
      files[#files + 1] = {path = module.path, place = ('%s/%s'):format(folder, module.place)}
    end
    local roots, first = {{folder = root, place = 'work'}, data and {folder = data, place = 'data'}}, #files + 1
    for _, path in ipairs(request.with or {}) do add_data(files, roots, system.absolute(path)) end
    for i = first, #files do
      if data and below(files[i].path, data) then data_place = place_of(roots, data) end
    end
  end
  check_names(files)
  for first = 1, #files, HASHED_AT_A_TIME do hash_some(files, first, math.min(first + HASHED_AT_A_TIME - 1, #files)) end
  for _, file in ipairs(files) do measure(file) end
  return files, place, data_place
end

return job_files
