-- rtrain/data/files.lua: files that datasets are read from and written into: of this machine by path, and of object stores by
-- URI (s3://, gs://, abfs://, hdfs://).

local errors = require 'base.errors'
local system = require 'base._system'

local files = {}

local function arrow() return require 'base._arrow' end

---Whether a path is the URI of an object.
---@param path string
---@return boolean
function files.is_object(path) return system.is_object_uri(path) end

---Where a relative path was looked for, for a message; '' for another one.
---@param path string
---@return string text " (in the current folder, /home/me)", and whether it is in the folder of the script
function files.looked_in(path)
  if path:sub(1, 1) == '/' or path:match '^%a[%w+.-]*://' then return '' end
  local script = (rawget(_G, 'arg') or {})[0]
  local home = type(script) == 'string' and script:match '^(.*)/[^/]*$'
  local is_next_to_it = home and system.path_kind(home .. '/' .. path)
  return (' (in the current folder, %s%s)'):format(system.absolute '.', is_next_to_it and
    ('; it is in the folder of the script, %s: start there, or give the whole path'):format(home) or '')
end

---The absolute path; a URI as it is, without the '/' at its end.
---@param path string
---@return string
function files.absolute(path)
  if files.is_object(path) then return (path:gsub('/+$', '')) end
  return system.absolute((path:gsub('^file://', '')))
end

---What is there: 'file', 'folder' or 'other'; nil where there is nothing.
---@param path string
---@return string?
function files.kind(path)
  if files.is_object(path) then return arrow().object_kind(path) end
  return system.path_kind(path)
end

local function is_hidden(name) return name:match '^[._]' ~= nil end

local function walk(folder, out)
  for _, name in ipairs(system.list_folder(folder)) do
    local path = folder .. '/' .. name
    local kind = not is_hidden(name) and system.path_kind(path)
    if kind == 'folder' then
      walk(path, out)
    elseif kind == 'file' then
      out[#out + 1] = path
    end
  end
end

-- "s3://bucket/a.csv" of "s3://bucket/a.csv?region=eu-west-1"; a '?' in the name of a local file stays.
local function without_query(path) return files.is_object(path) and path:match '^[^?]*' or path end

---The last part of a path or URI.
---@param path string
---@return string
function files.name(path) return without_query(path):match '[^/]*$' end

-- Of the names below the folder none may be hidden.
local function has_hidden_part(uri, folder)
  for name in uri:sub(#folder + 1):gmatch '[^/]+' do
    if is_hidden(name) then return true end
  end
  return false
end

---All files below a folder, in the order of their names; what begins with '.' or '_' is left out.
---@param folder string
---@return string[]
function files.below(folder)
  local out = {}
  if not files.is_object(folder) then
    walk(folder, out)
    return out
  end
  local base = without_query(folder)
  for _, uri in ipairs(arrow().list_objects(folder)) do
    if not has_hidden_part(without_query(uri), base) then out[#out + 1] = uri end
  end
  return out
end

local function open_local(path)
  local file, why = io.open(path, 'rb')
  if not file then errors.raise('not_found', ('cannot read %s'):format(why)) end
  return file
end

---The bytes of a file.
---@param path string
---@param most? integer of its beginning, at most that many bytes
---@return string
---Errors: 'not_found', 'environment'.
function files.read(path, most)
  if files.is_object(path) then return arrow().read_object(path, most) end
  local file = open_local(path)
  local bytes = file:read(most or '*a')
  file:close()
  if bytes == nil and most == nil then errors.raise('environment', ("cannot read '%s'"):format(path)) end
  return bytes or ''
end

---A file of Lua to read from. An object is held in an unnamed file of this machine.
---@param path string
---@return file* file
---Errors: 'not_found', 'environment'.
function files.open(path)
  if files.is_object(path) then
    local copy = assert(io.tmpfile())
    assert(copy:write(files.read(path)))
    copy:seek('set', 0)
    return copy
  end
  return open_local(path)
end

---Makes a folder; an object store has none.
---@param path string
function files.make_folder(path)
  if not files.is_object(path) then system.make_folders(path) end
end

---The path of a file in a folder.
---@param folder string
---@param name string
---@return string
function files.join(folder, name)
  local base, query = folder:match '^([^?]*)(%?.*)$'
  if base and files.is_object(folder) then return ('%s/%s%s'):format(base, name, query) end
  return ('%s/%s'):format(folder, name)
end

---Removes a file that may not be there.
---@param path string
function files.remove(path)
  if files.is_object(path) then return pcall(arrow().remove_object, path) end
  os.remove(path)
end

return files
