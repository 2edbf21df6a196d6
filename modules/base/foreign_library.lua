-- base/foreign_library.lua: ForeignLibrary: a C library from PyPI that a Lua module calls through LuaJIT's FFI.
--
-- A wait of such a library for its sockets may fail when a signal interrupts it, for example that of `rtrain stack`. So
-- signals are blocked during its calls, and in the threads that it creates in them, except fault signals (SIGILL,
-- SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV).

local class = require 'base.class'
local errors = require 'base.errors'
local ffi = require 'ffi'
local isolated_library = require 'base.isolated_library'

ffi.cdef [[
typedef struct { uint64_t words[16]; } rt_sigset;
int pthread_sigmask(int how, const rt_sigset *set, rt_sigset *old);
]]

-- A call of the library may call back into Lua, which compiled code does not allow.
jit.off(true, true)

local SIG_SETMASK = 2
local FAULTS = {4, 5, 6, 7, 8, 11}
local blocked, before = ffi.new 'rt_sigset', ffi.new 'rt_sigset'
ffi.fill(blocked, ffi.sizeof(blocked), 0xff)
for _, signal in ipairs(FAULTS) do blocked.words[0] = bit.band(blocked.words[0], bit.bnot(bit.lshift(1ULL, signal - 1))) end

---Arguments: {name, check, last_error, code_of, isolated}. name: name of the Lua module, by which the library is found.
---check(functions, path) returns the version, or raises an error if another version is needed. last_error(functions)
---returns the library's message about its last call. code_of(text) returns the error code for that message. isolated:
---the C declarations of a library that should be loaded with a separate C library, if that is possible.
---@class ForeignLibrary
---@overload fun(options: table): ForeignLibrary
local ForeignLibrary = class('ForeignLibrary')

---@param options {name: string, check: (fun(functions: ffi.namespace*, path: string, version: string): string),
---  last_error: (fun(functions: ffi.namespace*): string), code_of: (fun(text: string): string), isolated?: string}
function ForeignLibrary:init(options) self._options = options end

---Returns the functions of the library. The first call loads it.
---@return ffi.namespace* functions
---Raises code 'environment', with advice, if the library is not found.
function ForeignLibrary:functions()
  if self._functions then return self._functions end
  local path, version = require('base._system').tree_library(self._options.name)
  local declarations = self._options.isolated
  self._is_isolated = declarations ~= nil and isolated_library.is_possible()
  local loaded = self._is_isolated and isolated_library.open(path, declarations) or ffi.load(path)
  self._version = self._options.check(loaded, path, version)
  self._functions = loaded
  return loaded
end

---@return string version '3.2.0'
function ForeignLibrary:version()
  self:functions()
  return self._version
end

---Returns whether the library was loaded with a separate C library.
---@return boolean
function ForeignLibrary:is_isolated()
  self:functions()
  return self._is_isolated
end

---Calls a function of the library that returns 0 on success.
---@param who string name of the function that the script called, for the message: 'xgboost.train'
---@param fn string
---@param ... any its arguments
---Raises the library's error message.
function ForeignLibrary:call(who, fn, ...)
  local call = self:functions()[fn]
  ffi.C.pthread_sigmask(SIG_SETMASK, blocked, before)
  local ok, code = pcall(call, ...)  -- an argument of a wrong type raises an error
  ffi.C.pthread_sigmask(SIG_SETMASK, before, nil)
  if not ok then errors.raise('argument', ('%s: %s'):format(who, code)) end
  if code == 0 then return end
  local text = self._options.last_error(self._functions)
  errors.raise(self._options.code_of(text), ('%s: %s'):format(who, text))
end

---Returns a function that the library can call back: it runs f with signals unblocked, and keeps its error until the
---library has returned.
---@param state {error: any} keeps the error; while it holds an error, f is not called
---@param otherwise any the result for the library after an error
---@param f fun(...: any): any
---@return fun(...: any): any
function ForeignLibrary.callback(state, otherwise, f)
  return function(...)
    if state.error then return otherwise end
    ffi.C.pthread_sigmask(SIG_SETMASK, before, nil)
    local ok, value = xpcall(f, errors.wrap, ...)
    ffi.C.pthread_sigmask(SIG_SETMASK, blocked, nil)
    if ok then return value end
    state.error = value
    return otherwise
  end
end

---Returns a handle that is freed with the last reference to it.
---@param handle ffi.cdata* void *
---@param free string
---@return ffi.cdata* handle
function ForeignLibrary:owned(handle, free)
  local functions = self:functions()
  return ffi.gc(handle, function(value) functions[free](value) end)
end

---Returns the strings of a list that the library has made.
---@param list ffi.cdata* const char **
---@param size ffi.cdata*|number
---@return string[]
function ForeignLibrary.strings(list, size)
  local out = {}
  for i = 0, tonumber(size) - 1 do out[i + 1] = ffi.string(list[i]) end
  return out
end

---Makes a list of strings for the library. The Lua strings must live as long as the list.
---@param list string[]
---@return ffi.cdata* strings const char *[]
function ForeignLibrary.string_list(list)
  local out = ffi.new('const char *[?]', math.max(#list, 1))
  for i, text in ipairs(list) do out[i - 1] = text end
  return out
end

return ForeignLibrary
