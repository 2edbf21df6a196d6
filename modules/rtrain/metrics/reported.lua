-- rtrain/metrics/reported.lua: reads the reports of rank 0 of a stored run, as a row for each report. Reading a million
-- rows takes about as long as creating a million tables.

local ffi = require 'ffi'
local new_table = require 'table.new'

local NUMBERS = ffi.typeof 'const double *'
local RUNS = ffi.typeof 'const int32_t *'  -- pairs: a list of names, the number of its reports
local OTHERS = -1  -- reports that have values other than numbers
local MAX_PLACES = 2 ^ 24  -- rows created at once

-- Returns a function (rows, first, last, numbers, at) → at that makes rows with these names from the numbers. LuaJIT
-- compiles the constructor to a copy of a table that has all the names.
local function row_maker(names)
  local fields = {}
  for i, name in ipairs(names) do fields[i] = ('[%q] = numbers[at + %d]'):format(name, i - 1) end
  local make = ([[
local rows, first, last, numbers, at = ...
for i = first, last do
  rows[i] = {%s}
  at = at + %d
end
return at]]):format(table.concat(fields, ', '), #names)
  return assert(loadstring(make, '=reported'))
end

local function add_block(rows, count, makers, num_runs, runs, numbers, others)
  runs, numbers = ffi.cast(RUNS, runs), ffi.cast(NUMBERS, numbers)
  local at, num_others = 0, 0
  for run = 0, 2 * (num_runs - 1), 2 do
    local names, last = runs[run], count + runs[run + 1]
    if names == OTHERS then
      for i = count + 1, last do
        num_others = num_others + 1
        rows[i] = others[num_others]
      end
    else
      at = makers[names](rows, count + 1, last, numbers, at)
    end
    count = last
  end
  return count
end

local function read(blocks, rows)
  local makers = setmetatable({}, {__index = function(made, number)
    made[number] = row_maker(blocks:names(number))
    return made[number]
  end})
  local function add(count, num_runs, ...)
    return num_runs and add_block(rows, count, makers, num_runs, ...)
  end
  local count = 0
  while count do count = add(count, blocks:next()) end
  return rows
end

-- Runs without garbage collection: all objects are in use, and repeated collections would take as long as making them.
local function without_collection(fn, ...)
  local was_running = collectgarbage 'isrunning'
  collectgarbage 'stop'
  local ok, result = pcall(fn, ...)
  if was_running then collectgarbage 'restart' end
  if not ok then error(result, 0) end
  return result
end

---@param storage string the storage folder
---@param name string of the run
---@return table[] rows by report
local function reported(storage, name)
  local blocks = require('rtrain._host').report_blocks(storage, name)
  local rows = without_collection(read, blocks, new_table(math.min(blocks:max_reports(), MAX_PLACES), 0))
  blocks:release()
  return rows
end

return reported
