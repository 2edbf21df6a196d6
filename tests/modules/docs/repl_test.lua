-- How `rtrain repl` interprets lines; tests/e2e/cli/test_repl.py types them.

local lu = require 'luaunit'
local completion = require 'rtrain.repl.completion'
local globals = require 'rtrain.repl.globals'
local Session = require 'rtrain.repl'
local tokens = require 'rtrain.repl.tokens'

TestTokens = {}

local function texts(text)
  local found = {}
  for i, token in ipairs(tokens(text)) do found[i] = token.text .. (token.is_open and '…' or '') end
  return table.concat(found, '|')
end

function TestTokens.test_words_strings_and_comments()
  lu.assertEquals(texts 'x.y=1.5e3 --[[ a\nb ]] z', 'x|.|y|=|1.5e3|--[[ a\nb ]]|z')
  lu.assertEquals(texts [==["a \" b" .. 'c' .. [=[ ]] ]=]]==], [==["a \" b"|.|.|'c'|.|.|[=[ ]] ]=]]==])
  lu.assertEquals(texts 'a ~= b <= c', 'a|~=|b|<=|c')
end

function TestTokens.test_what_the_text_ends_in_is_open()
  lu.assertEquals(texts "f('a", "f|(|'a…")
  lu.assertEquals(texts '[[ a', '[[ a…')
  lu.assertEquals(texts 'x -- note', 'x|-- note…')
  lu.assertEquals(texts "'a\nb", "'a|b")
end

TestGlobals = {}

function TestGlobals.test_local_outside_of_functions_and_blocks()
  for text, expected in next, {
    ['local x = 1'] = '      x = 1',
    ['local x'] = '      x = nil',
    ['local a, b; local c = 2'] = '      a, b = nil;       c = 2',
    ['local function f() local y = 1 end'] = '      function f() local y = 1 end',
    ['for i = 1, 2 do local y = i end local z = 1'] = 'for i = 1, 2 do local y = i end       z = 1',
    ['if a then local y = 1 elseif b then local z = 2 else local w = 3 end'] =
      'if a then local y = 1 elseif b then local z = 2 else local w = 3 end',
    ['repeat local y = f() until y'] = 'repeat local y = f() until y',
    ["x = 'local y' -- local z"] = "x = 'local y' -- local z",
    ['local --[[ the name ]] x = 1'] = '      --[[ the name ]] x = 1',
    ['local'] = 'local',
    ['local a,'] = 'local a,',
    ['local f = function() local y = 1 end local g'] = '      f = function() local y = 1 end       g = nil',
  } do
    lu.assertEquals(globals(text), expected)
  end
end

TestSession = {}

local function session(can_stop_loops) return Session{folder = '.', can_stop_loops = can_stop_loops, colour = false} end

function TestSession.test_meanings_of_lines()
  local s = session(true)
  lu.assertEquals(s:read '', 'none')
  lu.assertEquals(s:read 'f(', 'more')
  lu.assertEquals(s:read '1)', 'run')
  lu.assertEquals(s:read 'x =', 'more')
  local meaning, problem, text = s:read ')'
  lu.assertEquals({meaning, text}, {'wrong', 'x =\n)'})
  lu.assertStrMatches(problem, "repl:5: unexpected symbol near '%)'")
  lu.assertEquals(s:read ':reload', 'run')
  lu.assertEquals(s:read '::label::', 'run')
  lu.assertEquals(s:read 'exit', 'end')
end

function TestSession.test_the_line_of_a_message()
  local s = session(true)
  s:read 'x = 1'
  s:read 'y = x.z.w'
  lu.assertEquals(s:shown_lines('repl:2: attempt to index', ''), '   2 | y = x.z.w')
  lu.assertNil(s:shown_lines('train.lua:2: attempt to index', ''))
end

-- Tests a LuaJIT whose compiled loops do not call hooks.
function TestSession.test_a_loop_is_not_compiled_where_nothing_could_stop_it()
  local function traces_of(can_stop_loops)
    local count = 0
    local function count_traces(what) if what == 'stop' then count = count + 1 end end
    local _, _, chunk = session(can_stop_loops):read 'n = 0 for i = 1, 100000 do n = n + i % 7 end'
    jit.flush()
    jit.attach(count_traces, 'trace')
    chunk()
    jit.attach(count_traces)
    return count
  end
  lu.assertEquals(traces_of(false), 0)
  lu.assertTrue(traces_of(true) > 0)
end

TestCompletion = {}

local function choices(line) return table.concat(completion(line).choices, ' ') end

function TestCompletion.setUp()
  package.loaded.torch = package.loaded.torch or require 'torch'
  rawset(_G, 'torch', require 'torch')
  rawset(_G, 'config', {lr = 0.1, layers = {first = 1}, _hidden = 2, run = function() end})
end

function TestCompletion.tearDown()
  rawset(_G, 'torch', nil)
  rawset(_G, 'config', nil)
end

function TestCompletion.test_fields_and_what_can_be_called()
  lu.assertEquals(choices 'x = config.l', 'layers lr')
  lu.assertEquals(completion('config.la').insert, 'yers')
  lu.assertEquals(choices 'config.layers.', 'first')
  lu.assertEquals(choices 'config:', 'run')
  lu.assertEquals(choices 'config._', '_hidden')
  lu.assertEquals(choices 'config.none.', '')
  lu.assertEquals(choices 'torch.optim.lr_scheduler.StepL', 'StepLR')
  lu.assertEquals(choices 'whil', 'while')
end

function TestCompletion.test_commands_comments_and_paths()
  lu.assertEquals(choices '%', '%edit %help %time')
  lu.assertEquals(choices ':', ':reload')
  lu.assertEquals(choices 'x = 1 -- confi', '')
  lu.assertEquals(choices "f('refus", 'refusal.lua')
  lu.assertEquals(completion("f('refusal.l").insert, "ua'")
  lu.assertEquals(completion('%edit refusal.l').insert, 'ua')
  lu.assertEquals(choices "f('no such folder/", '')
end

os.exit(lu.LuaUnit.run(), true)
