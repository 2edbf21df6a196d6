-- Lua's access to callgrind's counting: counted.h through LuaJIT's FFI.
local ffi = require 'ffi'

ffi.cdef [[
void count_begin(void);
void count_end(const char *name);
int usleep(unsigned microseconds);
]]

-- Time in which the other rank, which is not counted, reaches the point where it waits for this one.
local HEAD_START_US = 1000

---@param library string the path of libcounted.so
---@return fun(name: string, warm: integer, calls: integer, body: fun()) count
return function(library)
  local counted = ffi.load(library)
  -- JIT compilation depends on the addresses of code.
  jit.off()
  jit.flush()

  ---Calls `body` `warm` times and then `calls` times, each of these in a separate dump. The garbage collector is
  ---stopped meanwhile.
  return function(name, warm, calls, body)
    for _ = 1, warm do body() end
    collectgarbage()
    collectgarbage 'stop'
    for _ = 1, calls do
      ffi.C.usleep(HEAD_START_US)
      counted.count_begin()
      body()
      counted.count_end(name)
    end
    collectgarbage 'restart'
  end
end
