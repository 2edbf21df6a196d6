-- rtrain/data/executor/stats.lua: Stats: rows, bytes, time and wait of each operator in an execution.

local class = require 'base.class'
local count = require 'rtrain.data.executor.count'
local monotonic = require('base._system').monotonic

---Statistics of each operator of an execution so far; prints as text. Ray equivalent: Dataset.stats().
---@class data.Stats
local Stats = class('Stats')

function Stats:init() self._entries, self._started, self.wait_s, self.total_s = {}, monotonic(), 0, 0 end

---Adds entries for the operators of a stage.
---@param names string[]
---@param is_stage? boolean whether they run fused, so that an operator's time is contained in that of the next
---@return table[] entries
function Stats:add_stage(names, is_stage)
  local out = {}
  for i, name in ipairs(names) do
    local entry = count.new()
    entry.name, entry.is_first, entry.is_fused = name, i == 1, is_stage
    out[i], self._entries[#self._entries + 1] = entry, entry
  end
  return out
end

---Adds the counts of one request.
---@param entries table[] a result of add_stage
---@param counts table[]
function Stats:merge(entries, counts)
  for i, entry in ipairs(entries) do count.add(entry, counts[i]) end
end

---Called when the execution has ended.
function Stats:finish() self.total_s = monotonic() - self._started end

---Returns one row for each operator, in order: {operator, rows, blocks, bytes, time_s, wait_s}. time_s is the
---operator's own time, over all threads; wait_s is how long it waited for its input.
---@return table[]
function Stats:to_table()
  local out = {}
  for i, entry in ipairs(self._entries) do
    local before = entry.is_fused and not entry.is_first and self._entries[i - 1].total_s or 0
    out[i] = {operator = entry.name, rows = entry.rows, blocks = entry.blocks, bytes = entry.bytes,
              time_s = math.max(0, entry.total_s - before), wait_s = before}
  end
  return out
end

local UNITS = {{2 ^ 30, 'GiB'}, {2 ^ 20, 'MiB'}, {2 ^ 10, 'KiB'}}

local function bytes_text(bytes)
  for _, unit in ipairs(UNITS) do
    if bytes >= unit[1] then return ('%.1f %s'):format(bytes / unit[1], unit[2]) end
  end
  return ('%d bytes'):format(bytes)
end

local function seconds_text(seconds)
  if seconds >= 1 then return ('%.2f s'):format(seconds) end
  if seconds >= 0.001 then return ('%.2f ms'):format(seconds * 1e3) end
  return ('%.2f us'):format(seconds * 1e6)
end

function Stats:__tostring()
  local lines = {}
  for i, row in ipairs(self:to_table()) do
    lines[#lines + 1] = ('Operator %d %s: %d blocks produced'):format(i - 1, row.operator, row.blocks)
    lines[#lines + 1] = ('* Output num rows: %d'):format(row.rows)
    lines[#lines + 1] = ('* Output size: %s'):format(bytes_text(row.bytes))
    lines[#lines + 1] = ('* Time: %s, waited for input: %s'):format(seconds_text(row.time_s), seconds_text(row.wait_s))
    lines[#lines + 1] = ''
  end
  lines[#lines + 1] = ('Dataset: %s in total, the consumer waited %s'):format(seconds_text(self.total_s),
    seconds_text(self.wait_s))
  return table.concat(lines, '\n')
end

return Stats
