-- rtrain/data/files/tar.lua: reads the members of a tar archive from beginning to end: the formats ustar, GNU and pax,
-- plain or packed with gzip, Zstandard, bzip2 or xz.

local class = require 'base.class'
local errors = require 'base.errors'
local files = require 'rtrain.data.files'

local BLOCK = 512
-- A longer name or header is not a real one.
local MOST_HEADER_BYTES = 2 ^ 20

---A regular file in an archive.
---@class data.TarMember
---@field name string
---@field size integer bytes
---@field offset integer where its header begins in the unpacked archive

---An archive. Arguments: path, a file or a URI.
---@class data.Tar
---@overload fun(path: string): data.Tar
local Tar = class('Tar')

function Tar:init(path)
  self._path, self._file = path, files.open_text(path)
  self._is_plain = io.type(self._file) ~= nil
  if self._is_plain then
    self._size = self._file:seek 'end'
    self._file:seek('set', 0)
  end
  -- The place of the next byte, that of the current header, and how many bytes are between the data of the current
  -- member and the next header.
  self._at, self._header_at, self._left, self._padding = 0, 0, 0, 0
end

local function raise(self, what)
  errors.raise('argument', ("cannot read '%s', at byte %d%s: %s"):format(self._path, self._header_at,
    self._is_plain and '' or ' of the unpacked archive', what))
end

local function raise_short(self, name)
  raise(self, ("the end of %s is missing: the archive is not whole"):format(name))
end

local function read(self, count)
  if count == 0 then return '' end
  local bytes = self._file:read(count) or ''
  self._at = self._at + #bytes
  return bytes
end

local function skip(self, count)
  local there
  if self._is_plain then
    there = math.min(count, self._size - self._at)
    self._file:seek('cur', there)
  else
    there = self._file:skip(count)
  end
  self._at = self._at + there
  return there == count
end

-- Returns the number of a header's field: octal digits, or bytes after a byte 0x80.
local function number_of(self, field)
  if field:byte(1) == 0x80 then
    local value = 0
    for i = 2, #field do value = value * 256 + field:byte(i) end
    if value < 2 ^ 53 then return value end
  end
  local digits = field:match '^[ %z]*([0-7]*)[ %z]*$'
  if digits == nil then raise(self, 'a number of the header is wrong: the archive is damaged') end
  return digits == '' and 0 or tonumber(digits, 8)
end

-- The checksum counts its own field as spaces. Some old programs took bytes as signed.
local function check_sum(self, header)
  local unsigned, signed = 0, 0
  for i = 1, BLOCK do
    local byte = i > 148 and i <= 156 and 32 or header:byte(i)
    unsigned, signed = unsigned + byte, signed + (byte < 128 and byte or byte - 256)
  end
  local stated = number_of(self, header:sub(149, 156))
  if stated == unsigned or stated == signed then return end
  raise(self, self._header_at == 0 and 'it is not a tar archive' or 'the checksum of a header is wrong: the archive is damaged')
end

local function text_of(field) return field:match '^[^%z]*' end

local function name_of(header)
  local name, prefix = text_of(header:sub(1, 100)), text_of(header:sub(346, 500))
  local is_ustar = header:sub(258, 263) == 'ustar\0'
  return is_ustar and prefix ~= '' and prefix .. '/' .. name or name
end

-- Returns the data of a member that describes the next one.
local function read_description(self, size)
  if size > MOST_HEADER_BYTES then raise(self, ('a header of %d bytes: the archive is damaged'):format(size)) end
  local bytes = read(self, size)
  if #bytes < size or not skip(self, -size % BLOCK) then raise_short(self, 'a header') end
  return bytes
end

-- Adds the records "LENGTH KEY=VALUE\n" of a pax header.
local function add_pax(self, text, to)
  local at = 1
  while at <= #text do
    local length, first = text:match('^(%d+) ()', at)
    local last = length and at + tonumber(length) - 1
    local key, value
    if last and last <= #text and last >= first then key, value = text:sub(first, last):match '^([^=]*)=(.*)\n$' end
    if key == nil then raise(self, 'a pax header is damaged') end
    to[key], at = value, last + 1
  end
end

-- Returns the next header; nil at the end of the archive.
local function next_header(self)
  if not skip(self, self._left + self._padding) then raise_short(self, 'this file') end
  self._left, self._padding, self._header_at = 0, 0, self._at
  local header = read(self, BLOCK)
  if header == '' and self._at == 0 then raise(self, 'it is empty') end
  if header == '' or header == ('\0'):rep(BLOCK) then return nil end
  if #header < BLOCK then raise_short(self, 'a header') end
  check_sum(self, header)
  return header
end

-- Kinds without data, whatever size the header states: links, devices, folders, pipes.
local NO_DATA = {['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true, ['6'] = true}
local REGULAR = {['0'] = true, ['\0'] = true, ['7'] = true}

local function refuse_sparse(self, kind, described)
  if kind ~= 'S' and not described['GNU.sparse.major'] and not described['GNU.sparse.size'] then return end
  errors.raise('unsupported', ("cannot read '%s', at byte %d: a sparse file: pack it without --sparse"):format(self._path,
    self._header_at))
end

---Goes to the next regular file.
---@return data.TarMember? member nil at the end
---Errors: 'argument', with the file and the place, for an archive that is damaged or not whole.
function Tar:next()
  local described = {}
  while true do
    local header = next_header(self)
    if header == nil then return nil end
    local kind, size = header:sub(157, 157), number_of(self, header:sub(125, 136))
    if kind == 'L' then
      described.path = text_of(read_description(self, size))
    elseif kind == 'x' then
      add_pax(self, read_description(self, size), described)
    else
      refuse_sparse(self, kind, described)
      size = tonumber(described.size) or size
      if not NO_DATA[kind] then self._left, self._padding = size, -size % BLOCK end
      local name = described.path or name_of(header)
      described = {}
      if REGULAR[kind] and name:sub(-1) ~= '/' then return {name = name, size = size, offset = self._header_at} end
    end
  end
end

---Returns the bytes of the current file; only once.
---@return string
function Tar:read()
  local wanted = self._left
  local bytes = read(self, wanted)
  self._left = wanted - #bytes
  if self._left > 0 then raise_short(self, 'this file') end
  return bytes
end

---Closes the archive.
function Tar:close() self._file:close() end

return Tar
