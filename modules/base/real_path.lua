-- base/real_path.lua: resolves a path and its symlinks.

local ffi = require 'ffi'

local LONGEST = 4096  -- PATH_MAX

local function declare() ffi.cdef 'char *realpath(const char *path, char *resolved);' end

---Returns the absolute path without links, '.' and '..'.
---@param path string
---@return string? real nil if the path does not exist
---
---```lua
---local real_path = require 'base.real_path'
---assert(real_path '/proc/../' == '/' and real_path '/no/such/file' == nil)
---```
local function real_path(path)
  pcall(declare)  -- raises an error if it was declared before
  local buffer = ffi.new('char[?]', LONGEST)
  return ffi.C.realpath(path, buffer) ~= nil and ffi.string(buffer) or nil
end

return real_path
