-- rtrain.notebook: which expression of a cell is its result.

local lu = require 'luaunit'
local last_value = require 'rtrain.notebook.last_value'

TestLastValue = {}

-- The code and what it becomes; without a second text it stays.
local CASES = {
  {'x', 'return x'},
  {'x = 1'},
  {'x = 1\nx', 'x = 1\nreturn x'},
  {'x = 1; x + 1', 'x = 1; return x + 1'},
  {'f()\ng {\n  a = 1,\n  b = {2}\n}', 'f()\nreturn g {\n  a = 1,\n  b = {2}\n}'},
  {'local y = f(\n  x\n)'},
  {'if x then\n  f(x)\nend'},
  {'function f()\n  return x\nend'},
  {'for i = 1, 2 do print(i) end\nx -- shown', 'for i = 1, 2 do print(i) end\nreturn x -- shown'},
  {"x = a\n('%d'):format(x)", "x = a\nreturn ('%d'):format(x)"},
  -- These go on with the line above.
  {'x = a\n-b'},
  {'x = f\n"text"'},
  {'x = a\n.b'},
  {'x = a or\nb'},
  {'x = [[\ny]]'},
  {'-- c\nx', '-- c\nreturn x'},
  {'--[[\nx]]'},
  {'x = 1\nnot x', 'x = 1\nreturn not x'},
  {'x = 1\n7', 'x = 1\nreturn 7'},
  {'x = 1;x', 'x = 1;return x'},
  {'return 3'},
  {'x = = 1\ny'},
}

function TestLastValue.test_the_last_expression_is_the_result()
  for _, case in ipairs(CASES) do lu.assertEquals(last_value(case[1]), case[2] or case[1]) end
end

os.exit(lu.LuaUnit.run(), true)
