-- Runs the examples in the documentation comments of the library's modules and in the documents.
-- tests/e2e/project/test_documents.py runs the examples that call fit().
--
-- In a document, `expression  --> text` states the result of the expression: its values as print shows them, or its
-- error as 'code: message'. A final … stands for the rest.
local lu = require 'luaunit'

local ROOT = '../..'
local DOCUMENTS = {'README.md', 'CONTRIBUTING.md', 'examples/README.md', 'modules/rtrain/PORTING.md'}
for path in io.popen(("find '%s/modules/rtrain/guide' -name '*.md' | sort"):format(ROOT)):lines() do
  DOCUMENTS[#DOCUMENTS + 1] = path:sub(#ROOT + 2)
end

-- Returns the blocks between two lines of a file, each as {line = number of its first line, lines = texts}.
local function blocks_of(path, first, last, prefix)
  local blocks, block, number = {}, nil, 0
  for line in io.lines(path) do
    number = number + 1
    if line:match(first) then
      block = {line = number, lines = {}}
    elseif block and line:match(last) then
      blocks[#blocks + 1] = block
      block = nil
    elseif block then
      block.lines[#block.lines + 1] = (line:gsub('^' .. prefix, ''))
    end
  end
  return blocks
end

-- Returns the function's results as one text, or its error as 'code: message'.
local function outcome(fn)
  local function joined(ok, ...)
    if not ok then
      local err = ...
      return type(err) == 'string' and err or ('%s: %s'):format(err.code, err.message:gsub('^[^:]*:%d+: ', ''))
    end
    local parts = {}
    for i = 1, select('#', ...) do parts[i] = tostring((select(i, ...))) end
    return table.concat(parts, ' ')
  end
  return joined(pcall(fn))
end

local function check(number, expected, fn)
  local actual, rest = outcome(fn), expected:find('…$')
  if rest then actual, expected = actual:sub(1, rest - 1), expected:sub(1, rest - 1) end
  lu.assertEquals(('line %d: %s'):format(number, actual), ('line %d: %s'):format(number, expected))
end

-- Rewrites `code  --> text` as a call of check, on the same line.
local function with_checks(lines, first)
  local out = {}
  for i, line in ipairs(lines) do
    local code, expected = line:match('^(.-)%s*%-%->%s*(.*)$')
    out[i] = code and ('__check(%d, %q, function() return %s end)'):format(first + i, expected, code) or line
  end
  return out
end

TestExamples = {}

local count = 0
-- XGBoost and LightGBM are installed only after scripts/setup --oracle.
local lacks = {}
for _, name in ipairs {'xgboost', 'lightgbm'} do
  lacks[name] = not pcall(require('base._system').tree_library, name)
end

local function lacks_library(text)
  for name in text:gmatch "require '(%l+)'" do
    if lacks[name] then return true end
  end
  return false
end

local function add(name, block, lines)
  local text = table.concat(block.lines, '\n')
  -- A preprocessor's fit has an argument.
  if text:find ':fit%(%)' or text:find ':fit%s*{' then return end
  if lacks_library(text) then return end
  count = count + 1
  TestExamples['test_' .. name] = function()
    local fn = assert(loadstring(('\n'):rep(block.line) .. table.concat(lines, '\n'), '@' .. name))
    setfenv(fn, setmetatable({__check = check}, {__index = _G}))()
  end
end

for path in io.popen(("find '%s/modules' -name '*.lua' | sort"):format(ROOT)):lines() do
  for _, block in ipairs(blocks_of(path, '^%-%-%-```lua$', '^%-%-%-```$', '%-%-%-')) do
    add(('%s:%d'):format(path:sub(#ROOT + 2), block.line), block, block.lines)
  end
end

function TestExamples:test_there_are_examples() lu.assertTrue(count > 20) end

for _, path in ipairs(DOCUMENTS) do
  for _, block in ipairs(blocks_of(ROOT .. '/' .. path, '^```lua$', '^```$', '')) do
    add(('%s:%d'):format(path, block.line), block, with_checks(block.lines, block.line))
  end
end

os.exit(lu.LuaUnit.run(), true)
