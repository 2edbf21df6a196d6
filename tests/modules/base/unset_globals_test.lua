-- Globals that a script reads but nothing sets: their messages, and programs that must not get one.
local lu = require 'luaunit'
local unset_globals = require 'base.errors.unset_globals'

TestUnsetGlobals = {}

local function is_library(name) return name:match '^rtrain' ~= nil or name:match '^torch' ~= nil end

local function message_of(text, folder)
  local script = {fn = assert(loadstring(text, '@train.lua')), text = text, path = 'train.lua', folder = folder or ''}
  return unset_globals.message(script, is_library)
end

-- Code → the message for its first line, after the name.
local REFUSED = {
  ['return {lr = learning_rate}'] = "reads the global 'learning_rate', which nothing sets: its value is nil",
  ['local config = {}; print(config.decay); return {wd = decay}'] = "'decay', which nothing sets: did you mean 'config.decay'?",
  ['local loss = 1; return {loss = los}'] = "'los', which nothing sets: did you mean 'loss'?",
  ['print(np.mean(1))'] = "'np', which nothing sets: in Lua: torch has NumPy's functions: torch.mean",
  ['print(np.concatenate(1))'] = "in Lua: torch has NumPy's functions: torch.cat",
  ['print(nn.Linear(1, 1))'] = "local nn = require 'torch.nn' comes first",
  ['plt.plot(1)'] = 'rtrain plot RUN',
  ['local function f() return function() return deep end end'] = "the global 'deep'",
  ['for i = 1, epochs do end'] = "the global 'epochs'",
  ['return step(1)'] = "the global 'step'",
  ['local s = prefix .. 1'] = "the global 'prefix'",
  ['local a = b == 1'] = "the global 'b'",
  ['if a then end; return c'] = "the global 'c'",
  ["local r = require 'rtrain'; return c"] = "the global 'c'",
  ['print(_G.x, y)'] = "the global 'y'",
  ["local lfs = require 'unset_c'; return c"] = "the global 'c'",
  ['return None'] = "Python's None is written nil",
  ['return a == None and _G'] = "Python's None is written nil",
  ['if True then end'] = "Python's True is written true",
}

function TestUnsetGlobals.test_what_nothing_sets_is_refused_with_what_was_meant()
  local kept = package.cpath
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute('mkdir ' .. folder) == 0 and os.execute('touch ' .. folder .. '/unset_c.so') == 0)
  package.cpath = folder .. '/?.so'
  for text, expected in pairs(REFUSED) do
    local said = message_of(text)
    lu.assertNotNil(said, text)
    lu.assertEquals(said:sub(1, 13), 'train.lua:1: ', text)
    lu.assertStrContains(said, expected)
  end
  package.cpath = kept
  os.execute('rm -r ' .. folder)
end

-- Programs that work, or may work.
local LEFT_ALONE = {
  'x = 1; print(x)', 'function f() end; f()', 'print(x); x = 1', 'if unittest then unittest.run() end',
  'local a = x or 3; print(x)',
  'local a = x and x.y', 'print(not x)', 'while x do end', 'print(x == nil, x)', 'if x ~= nil then f = 1 end', 'return type(x)',
  "if type(x) == 'table' then print(x.y) end", 'local type = type; return function() return type(x) end', 'return x == true',
  'local ok = pcall(function() return x.y end)', 'local ok = xpcall(function() return g(function() return x end) end, print)',
  'g = print; local utf8, bits = utf8, bit32', 'print(arg, jit.version, _VERSION, unpack, bit)',
  -- These programs may set globals in ways that the check cannot see.
  'for k, v in pairs {a = 1} do _G[k] = v end; print(a)', "rawset(_G, 'a', 1); print(a)", '_G.a = 1; print(a)',
  'local g = _G; g.a = 1; print(a)',
  'setmetatable(_G, {__index = math}); print(sin(1))', "print(loadstring 'a = 1'()); print(a)",
  "dofile 'settings.lua'; print(a)",
  'setfenv(1, {print = print}); print(a)', 'getfenv().a = 1; print(a)', "module('m'); print(a)",
  "local name = 'settings'; require(name); print(a)", "require 'not_there'; print(a)", "pcall(require, 'not_there'); print(a)",
  'local r = require; print(a)',
}

function TestUnsetGlobals.test_programs_that_may_work_are_left_alone()
  for _, text in ipairs(LEFT_ALONE) do lu.assertNil(message_of(text), text) end
end

function TestUnsetGlobals.test_each_name_is_listed_once_at_its_first_line()
  local said = message_of 'local function f()\n  return b, a\nend\nprint(a, c, a)\nreturn b'
  lu.assertEquals({said:match '(%d+): reads.-\'(%w)\'.-\n.-(%d+): reads.-\'(%w)\'.-\n.-(%d+): reads.-\'(%w)\'[^\n]*$'},
    {'2', 'a', '2', 'b', '4', 'c'})
end

local function write(path, text)
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
end

function TestUnsetGlobals.test_modules_next_to_the_script()
  local folder, kept = os.tmpname(), package.path
  os.remove(folder)
  assert(os.execute(('mkdir -p %s/own %s/other'):format(folder, folder)) == 0)
  package.path = ('%s/own/?.lua;%s/other/?.lua'):format(folder, folder)
  write(folder .. '/own/settings.lua', "rate = 0.1\nrequire 'inner'")
  write(folder .. '/own/inner.lua', 'depth = 3\nprint(rate, raet)')
  write(folder .. '/own/broken.lua', 'local = ')
  write(folder .. '/own/free.lua', 'for k, v in pairs {} do _G[k] = v end')
  write(folder .. '/other/installed.lua', 'made_there = 1; print(its_own_affair)')
  local own = folder .. '/own'
  lu.assertEquals(message_of("require 'settings'; require 'installed'; print(rate, depth, made_there)", own),
    own .. "/inner.lua:2: reads the global 'raet', which nothing sets: did you mean 'rate'?")
  lu.assertStrContains(message_of("require 'settings'; print(rat)", own), "train.lua:1: reads the global 'rat'")
  lu.assertNil(message_of("require 'settings'; require 'free'; print(rat)", own))
  lu.assertStrContains(message_of("require 'broken'; print(rat)", own), "train.lua:1: reads the global 'rat'")
  package.path = kept
  os.execute('rm -r ' .. folder)
end

os.exit(lu.LuaUnit.run())
