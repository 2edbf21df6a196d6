-- luaunit.lua: the part of LuaUnit that the tests here use, for machines without LuaUnit. Prints a line for each test,
-- with
-- fields between tabs, for run.py: PASS name seconds, FAIL name seconds, SKIP name reason. An error follows its line.

local monotonic = require('rtrain.time').monotonic

local luaunit = {LuaUnit = {}}

local SKIPPED = {}  -- metatable of what skip() raises

local function shown(value)
  if type(value) == 'string' then return ('%q'):format(value) end
  if type(value) ~= 'table' or getmetatable(value) then return tostring(value) end
  local parts = {}
  for key, item in next, value do parts[#parts + 1] = ('%s=%s'):format(tostring(key), shown(item)) end
  table.sort(parts)
  return '{' .. table.concat(parts, ', ') .. '}'
end

local function equal(a, b)
  if a == b then return true end
  if type(a) ~= 'table' or type(b) ~= 'table' then return false end
  for key, value in next, a do
    if not equal(value, b[key]) then return false end
  end
  for key in next, b do
    if a[key] == nil then return false end
  end
  return true
end

-- Adds an assertion: its name, its text, and holds(...) → whether, and the values to show. It fails at the test's line.
local function assertion(name, what, holds)
  luaunit[name] = function(...)
    if holds(...) then return end
    local values = {}
    for i = 1, math.min(2, select('#', ...)) do values[i] = shown((select(i, ...))) end
    error(('%s: %s'):format(what, table.concat(values, ' and ')), 2)
  end
end

assertion('assertEquals', 'not equal', equal)
assertion('assertNotEquals', 'equal', function(a, b) return not equal(a, b) end)
assertion('assertIs', 'not the same', rawequal)
assertion('assertNotIs', 'the same', function(a, b) return not rawequal(a, b) end)
assertion('assertTrue', 'not true', function(a) return a == true end)
assertion('assertFalse', 'not false', function(a) return a == false end)
assertion('assertIsTrue', 'not true', function(a) return a == true end)
assertion('assertIsFalse', 'not false', function(a) return a == false end)
assertion('assertNil', 'not nil', function(a) return a == nil end)
assertion('assertNotNil', 'nil', function(a) return a ~= nil end)
for _, name in ipairs{'boolean', 'function', 'number', 'string', 'table', 'userdata'} do
  local camel = name:gsub('^%l', string.upper)
  for _, prefix in ipairs{'assert', 'assertIs'} do
    assertion(prefix .. camel, 'no ' .. name, function(a) return type(a) == name end)
  end
end
assertion('assertNotAlmostEquals', 'too near', function(a, b, margin) return math.abs(a - b) > (margin or 1e-12) end)
assertion('assertAlmostEquals', 'too far apart', function(a, b, margin) return math.abs(a - b) <= (margin or 1e-12) end)
assertion('assertStrContains', 'the first lacks the second', function(text, part, is_pattern)
  return text:find(part, 1, not is_pattern) ~= nil
end)
assertion('assertNotStrContains', 'the first has the second', function(text, part, is_pattern)
  return text:find(part, 1, not is_pattern) == nil
end)
assertion('assertStrMatches', 'the first is not as the second', function(text, pattern)
  return text:match('^' .. pattern .. '$') ~= nil
end)

function luaunit.assertErrorMsgContains(part, f, ...)
  local ok, err = pcall(f, ...)
  if ok then error('no error was raised, expected one that contains ' .. shown(part), 2) end
  if not tostring(err):find(part, 1, true) then
    error(('the error lacks %s: %s'):format(shown(part), tostring(err)), 2)
  end
end

function luaunit.assertError(f, ...)
  if pcall(f, ...) then error('no error was raised', 2) end
end

function luaunit.fail(text) error(text, 2) end
function luaunit.skip(reason) error(setmetatable({reason = reason}, SKIPPED), 0) end
function luaunit.skipIf(condition, reason) if condition then luaunit.skip(reason) end end

local function traced(err) return getmetatable(err) == SKIPPED and err or debug.traceback(tostring(err), 2) end

local function one_line(text) return (tostring(text):gsub('%s+', ' ')) end

-- Runs one test. Returns false if it fails.
local function run_test(class, name, label)
  local start = monotonic()
  local function call(method) return xpcall(function() if class[method] then class[method](class) end end, traced) end
  local ok, err = call 'setUp'
  if ok then ok, err = call(name) end
  local undone, trouble = call 'tearDown'
  if ok and not undone then ok, err = false, trouble end
  local seconds = ('%.3f'):format(monotonic() - start)
  if ok then
    print(table.concat({'PASS', label, seconds}, '\t'))
  elseif getmetatable(err) == SKIPPED then
    print(table.concat({'SKIP', label, one_line(err.reason)}, '\t'))
    return true
  else
    print(table.concat({'FAIL', label, seconds}, '\t'))
    print('  ' .. err:gsub('\n', '\n  '))
  end
  return ok
end

local function all_tests()
  local found = {}
  for class_name, class in next, _G do
    if type(class_name) == 'string' and class_name:match '^[Tt]est' and type(class) == 'table' then
      for name in next, class do
        if type(name) == 'string' and name:match '^[Tt]est' then
          found[#found + 1] = {class, name, class_name .. '.' .. name}
        end
      end
    end
  end
  table.sort(found, function(a, b) return a[3] < b[3] end)
  return found
end

-- Without names all tests run; otherwise those whose name begins with one of the names.
local function is_wanted(label)
  if #arg == 0 then return true end
  for _, name in ipairs(arg) do
    if label:sub(1, #name) == name then return true end
  end
  return false
end

---Runs the tests of all global tables Test…, sorted by name.
---@return integer status 0, or 1 when one fails
function luaunit.LuaUnit.run()
  io.stdout:setvbuf 'line'
  local status = 0
  for _, test in ipairs(all_tests()) do
    if is_wanted(test[3]) and not run_test(unpack(test)) then status = 1 end
  end
  return status
end

return setmetatable(luaunit, {__index = function(_, name)
  error(('tests/gpu/luaunit.lua has no %s: add it there'):format(tostring(name)), 2)
end})
