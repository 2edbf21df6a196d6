-- base/isolated_library.lua: loads a C library with separate copies of all its dependencies, including the C library.
--
-- Its allocations then use the copy's malloc, not rtrain's allocator. Only the thread that has opened it may call it,
-- and its results are plain data.

local errors = require 'base.errors'
local ffi = require 'ffi'

ffi.cdef [[
void *dlsym(void *handle, const char *name);
const char *gnu_get_libc_version(void);
]]

local isolated_library = {}

-- Since this version threads are part of the C library itself, and may be started in each copy of it.
local GLIBC_MINOR = 34

---Returns whether this process can load a second C library.
---@return boolean
function isolated_library.is_possible()
  return tonumber(ffi.string(ffi.C.gnu_get_libc_version()):match '^2%.(%d+)' or 0) >= GLIBC_MINOR
end

---Opens the library for the lifetime of the process.
---@param path string
---@param declarations string prototypes in C, each 'TYPE NAME(ARGUMENTS);' with the type int or const char *
---@return table<string, ffi.cdata*> functions by name
---Raises code 'environment' if it cannot be loaded.
function isolated_library.open(path, declarations)
  local handle = require('base._system').open_isolated(path)
  local types = {}
  for result, name, arguments in declarations:gmatch '([%w ]-[ %*]+)([%w_]+)(%b());' do
    types[name] = ('%s(*)%s'):format(result, arguments)
  end
  return setmetatable({}, {__index = function(functions, name)
    local address = ffi.C.dlsym(handle, name)
    if address == nil then
      errors.raise('environment', ('%s has no function %s: another version is needed'):format(path, name))
    end
    functions[name] = ffi.cast(types[name], address)
    return functions[name]
  end})
end

return isolated_library
