-- rtrain/data/files/init.lua: files that datasets are read from and written to: on this machine by path, in object
-- stores by URI (s3://, gs://, abfs://, hdfs://).

local errors = require 'base.errors'
local real_path = require 'base.real_path'
local system = require 'base._system'

local files = {}

local function arrow() return require 'base._arrow' end

---Returns whether a path is the URI of an object.
---@param path string
---@return boolean
function files.is_object(path) return system.is_object_uri(path) end

---Returns a text for messages that says where a relative path was searched; '' for an absolute path.
---@param path string
---@return string text " (in the current folder, /home/me)", and a hint if the path exists in the folder of the script
function files.looked_in(path)
  if path:sub(1, 1) == '/' or path:match '^%a[%w+.-]*://' then return '' end
  local script = (rawget(_G, 'arg') or {})[0]
  local home = type(script) == 'string' and script:match '^(.*)/[^/]*$'
  local is_next_to_it = home and system.path_kind(home .. '/' .. path)
  return (' (in the current folder, %s%s)'):format(system.absolute '.', is_next_to_it and
    ('; it is in the folder of the script, %s: start there, or give the whole path'):format(home) or '')
end

---Returns the absolute path; a URI is returned without a '/' at its end.
---@param path string
---@return string
function files.absolute(path)
  if files.is_object(path) then return (path:gsub('/+$', '')) end
  return system.absolute((path:gsub('^file://', '')))
end

---Returns the type of the path: 'file', 'folder' or 'other'; nil if it does not exist.
---@param path string
---@return string?
function files.kind(path)
  if files.is_object(path) then return arrow().object_kind(path) end
  return system.path_kind(path)
end

---Returns whether a name begins with '.' or '_', like files without rows: '_SUCCESS', '.part.crc'.
---@param name string
---@return boolean
function files.is_hidden(name) return name:match '^[._]' ~= nil end

---Selects files below a folder. A state is a set, {[place] = true}. It summarizes the names between the folder and an
---entry, as far as they matter for the entries below.
---@class data.FileFilter
---@field start table<any, true> the state of the folder itself
---@field step fun(state: table<any, true>, name: string): table<any, true> returns the state of an entry; empty: the
---  entry and everything below it are excluded
---@field accepts fun(state: table<any, true>): boolean whether a file with that state is selected

local ALL = {start = {all = true}, accepts = function() return true end,
             step = function(state, name) return files.is_hidden(name) and {} or state end}

local function covers(state, other)
  for place in next, other do
    if not state[place] then return false end
  end
  return true
end

local function state_below(filter, names)
  local state = filter.start
  for name in names:gmatch '[^/]+' do state = filter.step(state, name) end
  return state
end

-- Returns whether another path reaches the files behind a link: the link leads back to a folder around it, or to a
-- folder that is read anyway.
local function is_read_elsewhere(walk, real, state)
  if walk.around[real] and covers(walk.around[real], state) then return true end
  local below = real:sub(1, #walk.root + 1) == walk.root .. '/' and real:sub(#walk.root + 1)
  return below and covers(state_below(walk.filter, below), state)
end

local function walk_folder(walk, path, real, state)
  local before = walk.around[real]
  walk.around[real] = state
  for _, name in ipairs(system.list_folder(path)) do
    local entry, found = path .. '/' .. name, walk.filter.step(state, name)
    local kind = next(found) ~= nil and system.path_kind(entry)
    if kind == 'folder' then
      local target = real_path(entry) or entry
      local is_link = target ~= real .. '/' .. name
      if not (is_link and is_read_elsewhere(walk, target, found)) then walk_folder(walk, entry, target, found) end
    elseif kind == 'file' and walk.filter.accepts(found) then
      walk.out[#walk.out + 1] = entry
    end
  end
  walk.around[real] = before
end

---Returns "s3://bucket/a.csv" for "s3://bucket/a.csv?region=eu-west-1"; a '?' in the name of a local file stays.
---@param path string
---@return string
function files.without_query(path) return files.is_object(path) and path:match '^[^?]*' or path end

---Returns the last part of a path or URI.
---@param path string
---@return string
function files.name(path) return files.without_query(path):match '[^/]*$' end

---Returns the files below a folder, sorted by name; by default without names that begin with '.' or '_'. A link to a
---folder that is read anyway is skipped, so that no file appears twice.
---@param folder string
---@param filter? data.FileFilter
---@return string[]
function files.below(folder, filter)
  filter = filter or ALL
  local out = {}
  if not files.is_object(folder) then
    local real = real_path(folder) or folder
    walk_folder({filter = filter, around = {}, root = real == '/' and '' or real, out = out}, folder, real, filter.start)
    return out
  end
  local base = files.without_query(folder)
  for _, uri in ipairs(arrow().list_objects(folder)) do
    local state = state_below(filter, files.without_query(uri):sub(#base + 1))
    if next(state) ~= nil and filter.accepts(state) then out[#out + 1] = uri end
  end
  return out
end

local function open_local(path)
  local file, why = io.open(path, 'rb')
  if not file then errors.raise('not_found', ('cannot read %s'):format(why)) end
  return file
end

---Returns the bytes of a file.
---@param path string
---@param most? integer reads at most that many bytes from its beginning
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

---Opens a file for reading, as a Lua file. An object is copied to an unnamed file on this machine.
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

-- Wraps a result of base._arrow.open_text in the methods of a Lua file that readers of text call.
local Unpacked = {}
Unpacked.__index = Unpacked

-- Bytes of a read. For an object each read is a request.
local PIECE, OBJECT_PIECE = 2 ^ 16, 2 ^ 20

-- Reads until the buffer has that many bytes, or contains `mark`; less at the end of the file.
local function fill(self, wanted, mark)
  local rest = self._bytes:sub(self._at + 1)
  local parts, size, is_found = {rest}, #rest, mark and rest:find(mark, 1, true)
  while size < wanted and not is_found do
    local more = self._text:read(math.max(math.min(wanted, OBJECT_PIECE) - size, self._piece))
    if more == nil then break end
    parts[#parts + 1], size = more, size + #more
    is_found = mark and more:find(mark, 1, true)
  end
  self._bytes, self._at = table.concat(parts), 0
end

---Returns the next bytes or, for '*l', the rest of the line without its end; nil at the end of the file.
---@param what integer|'*l'
---@return string?
function Unpacked:read(what)
  local mark = what == '*l' and '\n' or nil
  if mark and not self._bytes:find(mark, self._at + 1, true) then fill(self, math.huge, mark) end
  if not mark and #self._bytes - self._at < what then fill(self, what) end
  local first = self._at
  if first == #self._bytes then return nil end
  local line_end = mark and self._bytes:find(mark, first + 1, true)
  self._at = math.min(line_end or first + (mark and math.huge or what), #self._bytes)
  return self._bytes:sub(first + 1, line_end and line_end - 1 or self._at)
end

---Passes over the next bytes.
---@param count integer
---@return integer there fewer than `count` only at the end of the file
function Unpacked:skip(count)
  local here = math.min(#self._bytes - self._at, count)
  self._at = self._at + here
  return here + (here < count and self._text:skip(count - here) or 0)
end

---Closes the file.
function Unpacked:close() self._text:release() end

local function unpacked(path)
  return setmetatable({_text = arrow().open_text(path), _bytes = '', _at = 0,
                       _piece = files.is_object(path) and OBJECT_PIECE or PIECE}, Unpacked)
end

---Opens a text file, and decompresses gzip, Zstandard, bzip2 and xz while reading.
---@param path string
---@return file* file with read(number), read '*l' and close
---Errors: 'not_found', 'environment'; 'argument' if the compressed data is damaged.
function files.open_text(path)
  if files.is_object(path) then return unpacked(path) end
  local file = open_local(path)
  local head = file:read(16) or ''
  file:seek('set', 0)
  if head == '' or not system.is_packed(path, head) then return file end
  file:close()
  return unpacked(path)
end

---Creates a folder; does nothing in an object store.
---@param path string
function files.make_folder(path)
  if not files.is_object(path) then system.make_folders(path) end
end

---Returns the path of a file in a folder.
---@param folder string
---@param name string
---@return string
function files.join(folder, name)
  local base, query = folder:match '^([^?]*)(%?.*)$'
  if base and files.is_object(folder) then return ('%s/%s%s'):format(base, name, query) end
  return ('%s/%s'):format(folder, name)
end

---Removes a file if it exists.
---@param path string
function files.remove(path)
  if files.is_object(path) then return pcall(arrow().remove_object, path) end
  os.remove(path)
end

return files
