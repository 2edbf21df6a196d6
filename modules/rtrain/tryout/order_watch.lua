-- rtrain/tryout/order_watch.lua: warns in a tried-out script where one assignment adds two names in the reverse of their
-- written order: `m.a, m.b = x, y` of an ordered map, and of a module whose class has its own registering functions.

local assignment = require 'base.assignment'
local ordered = require 'base.ordered'
local warnings = require 'base.warnings'

local order_watch = {}

-- At most a few functions of the script stand between an assignment and the table that stores it.
local DEEPEST = 12

-- The latest name that was added, with its object, and the functions and lines of the script on the stack.
local latest = {}

-- Places for which a warning was shown.
local said = {}

-- Returns the script's functions on the stack as {level, fn, line, place}; levels count from the caller's caller.
local function script_frames()
  local frames = {}
  for level = 3, DEEPEST do
    local info = debug.getinfo(level, 'fSl')
    if not info then break end
    if info.what ~= 'C' and info.currentline > 0 and not info.source:find '^@rtrain://' then
      frames[#frames + 1] = {level = level - 1, fn = info.func, line = info.currentline,
                            place = ('%s:%d: '):format(info.short_src, info.currentline)}
    end
  end
  return frames
end

local function was_running(frame)
  for _, before in ipairs(latest.frames) do
    if before.fn == frame.fn and before.line == frame.line then return true end
  end
  return false
end

local function warn(place, before, name)
  if said[place] then return end
  said[place] = true
  warnings.warn(("this assignment adds '%s' before '%s', since Lua stores from right to left; in Python '%s' is first: "
    .. 'give each a line of its own'):format(before, name, name), place)
end

local function on_store(container, name)
  local frames = script_frames()
  if latest.container == container then
    for _, frame in ipairs(frames) do
      if was_running(frame) and assignment.joins(frame.level, latest.name, name) then
        warn(frame.place, latest.name, name)
        break
      end
    end
  end
  latest = {container = container, name = name, frames = frames}
end

---Starts to warn, in this process.
function order_watch.begin()
  ordered.watch(on_store)
  require('torch.nn.module.written_order').watch(on_store)
end

return order_watch
