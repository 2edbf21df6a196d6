-- oracle.lua: creates a luaunit class for a part of the oracle tests, with one test for each line of its golden file.
--
--   local lu = require 'luaunit'
--   require('oracle').define('TestOperators', 'operators')
--   os.exit(lu.LuaUnit.run(), true)

local lu = require 'luaunit'
local Case = require 'harness.case'
local newer = require 'newer'

-- One thread as on Python's side: sums have the same order, and no thread waits for another over small tensors.
require('torch').set_num_threads(1)

local oracle = {}

local FOLDER = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''

---Returns the cases of a part, in order.
---@param part string the file golden/<part>.txt
---@param read? fun(line: string): table makes a case of a line; default: Case.read
---@return table[] cases each with name, args, want, …
function oracle.cases(part, read)
  local out = {}
  for line in io.lines(FOLDER .. 'golden/' .. part .. '.txt') do out[#out + 1] = (read or Case.read)(line) end
  return out
end

---Creates a global class of tests, each named `test_<name of the case>`.
---@param class string
---@param part string
---@param read? fun(line: string): table as oracle.cases
---@return table[] cases
function oracle.define(class, part, read)
  local tests, cases = {}, oracle.cases(part, read)
  _G[class] = tests
  for _, case in ipairs(cases) do
    tests['test_' .. case.name] = function()
      local difference = newer.difference(case.name, part)
      if difference then lu.skip('in this LibTorch ' .. difference) end
      local problem = case:problem()
      if problem then lu.fail(problem) end
    end
  end
  return cases
end

return oracle
