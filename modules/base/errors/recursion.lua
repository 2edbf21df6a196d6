-- base/errors/recursion.lua: finds where a recursion began that has overflowed the stack.
--
-- A stack overflow in compiled code has no line and calls no message handler. But the compiler records which functions
-- it has compiled as recursive.

local util = require 'jit.util'

local recursion = {}

local function line_of(fn, pc) return ('%s:%d'):format(debug.getinfo(fn, 'S').short_src, util.funcinfo(fn, pc).currentline) end

local started, started_pc, latest

jit.attach(function(event, trace, fn, pc)
  if event == 'start' then
    started, started_pc = fn, pc
  elseif event == 'stop' and util.traceinfo(trace).linktype == 'up-recursion' then
    latest = line_of(started, started_pc)
  end
  if event ~= 'start' then started = nil end
end, 'trace')

---@return string? position of the function that was compiled last of those that call themselves
function recursion.place() return latest end

return recursion
