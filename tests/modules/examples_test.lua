-- Runs the examples in the documentation comments of the library's modules.
local lu = require 'luaunit'

local MODULES = '../../modules'

-- The blocks between ---```lua and ---``` of a file, each with the line that it begins at.
local function examples_of(path)
  local blocks, block, number = {}, nil, 0
  for line in io.lines(path) do
    number = number + 1
    if line:match '^%-%-%-```lua$' then
      block = {line = number, lines = {}}
    elseif line:match '^%-%-%-```$' and block then
      blocks[#blocks + 1] = block
      block = nil
    elseif block then
      block.lines[#block.lines + 1] = (line:gsub('^%-%-%-', ''))
    end
  end
  return blocks
end

TestExamples = {}

local count = 0
for _, folder in ipairs{'torch', 'vision', 'rtrain/ordered.lua', 'rtrain/class.lua', 'rtrain/args.lua'} do
  for path in io.popen(("find '%s/%s' -name '*.lua' | sort"):format(MODULES, folder)):lines() do
    for _, block in ipairs(examples_of(path)) do
      local name = ('%s:%d'):format(path:sub(#MODULES + 2), block.line)
      count = count + 1
      TestExamples['test_' .. name] = function()
        local text = string.rep('\n', block.line) .. table.concat(block.lines, '\n')
        assert(loadstring(text, '@' .. name))()
      end
    end
  end
end

function TestExamples:test_there_are_examples() lu.assertTrue(count > 20) end

os.exit(lu.LuaUnit.run())
