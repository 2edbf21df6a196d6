-- base/errors/pythonisms.lua: advice for Python syntax and names in a Lua script.

local pythonisms = {}

-- Python's global functions → advice.
local FUNCTIONS = {
  len = '#x is the length of a list and of a loader', range = 'for i = 0, 9 do counts from 0 to 9',
  enumerate = 'for i, x in ipairs(list) do, or loader:enumerate()', zip = 'count with for i = 1, #a do and take a[i], b[i]',
  isinstance = "require('base.class').is(object, Class)", super = 'Base.init(self, …) calls the method of the base class',
  str = 'tostring(x)', int = 'math.floor(x)', float = 'tonumber(x)', list = 'a list is {1, 2}',
  dict = 'a dictionary is {a = 1}',
  tuple = 'a function returns several values: return a, b', set = 'a set is {a = true, b = true}', abs = 'math.abs(x)',
  max = 'math.max(a, b), of a tensor x:max()', min = 'math.min(a, b), of a tensor x:min()', sum = 'of a tensor x:sum()',
  sorted = 'table.sort(list)', open = "io.open(path, 'r')", input = 'io.read()', f = "('%.3f'):format(x)",
  exit = 'os.exit(code)', round = 'math.floor(x + 0.5)', map = 'for i, x in ipairs(list) do out[i] = f(x) end',
}

-- NumPy's functions that have another name in torch.
local NUMPY = {array = 'tensor', asarray = 'as_tensor', concatenate = 'cat', expand_dims = 'unsqueeze', random = 'rand',
               power = 'pow', absolute = 'abs'}

-- Python packages that a script uses without requiring them.
local PACKAGES = {
  pd = "tables are read by require('rtrain.data').read_csv(path)", plt = 'rtrain plot RUN draws what a run has reported',
  tqdm = 'a run shows its progress by itself', sys = "arg[1], os.exit(code), io.stderr:write('text')",
  time = 'os.time(), os.clock()', random = 'math.random()', logging = "print('text')",
}
PACKAGES.pandas, PACKAGES.matplotlib = PACKAGES.pd, PACKAGES.plt

-- Python constants, which Lua reads as globals without a value.
local CONSTANTS = {None = 'nil', True = 'true', False = 'false'}

-- {pattern of a line, advice}: the first match is used. Strings are blanked out before.
local SYNTAX = {
  {'^%s*import%s+[%w_.]+', "modules are loaded with local torch = require 'torch'"},
  {'^%s*from%s+[%w_.]+%s+import', "modules are loaded with local nn = require 'torch.nn'"},
  {'^%s*class%s+[%w_]+', "a class is made with local Net = nn.Module:extend('Net')"},
  {'^%s*def%s+[%w_]+', 'a function is written function f(x) … end'},
  {'^%s*@[%w_]', 'Lua has no decorators: torch.no_grad(function() … end) calls a function'},
  {'""', 'a text of several lines is [[ … ]], a comment of several lines --[[ … ]]'},
  {'^%s*try%s*:', 'errors are caught with local ok, err = pcall(f)'},
  {'^%s*except', 'errors are caught with local ok, err = pcall(f)'},
  {'^%s*raise%s', "errors are raised with error('message')"},
  {'^%s*with%s', 'such blocks are functions: torch.no_grad(function() … end)'},
  {'^%s*assert%s+[^%s(]', "assert is a function: assert(condition, 'message')"},
  {'^%s*elif%s', 'it is written elseif … then'},
  {'^%s*pass%s*$', 'an empty block needs no pass'},
  {'^%s*del%s', 'a value is removed by x = nil, an item of a list by table.remove(list, i)'},
  {'!=', "'not equal' is written ~="},
  {'&&', "it is written 'and'"}, {'||', "it is written 'or'"}, {'![%w_(]', "it is written 'not'"},
  {'[%w_%])]%s*@%s*[%w_(]', 'the product of matrices is x:matmul(y)'},
  {'^%s*for%s.*%sin%s+range%(.*:%s*$', 'it is written for i = 0, n - 1 do … end'},
  {'^%s*if%s.*:%s*$', 'it is written if … then … end'}, {'^%s*else%s*:', 'it is written else … end'},
  {'^%s*for%s.*:%s*$', 'it is written for … do … end'}, {'^%s*while%s.*:%s*$', 'it is written while … do … end'},
  {'[%w_%])]%s*[%+%-%*/]=[^=]', 'Lua has no += and the like: x = x + 1'},
  {'%*%*', 'the power is x ^ 2'},
  {'[%w_%])]%s*//%s*[%w_(]', 'the quotient rounded down is math.floor(a / b)'},
  {'lambda%s*[%w_,%s]*:', 'a function without a name is function(x) return … end'},
  {'%sis%s+not%s', 'it is written x ~= nil'}, {'%sis%s', 'it is written x == nil'},
  {'%snot%s+in%s', 'a table is asked by its key: t[key] == nil'},
  {'=%s*.+%sif%s.+%selse%s', 'it is written condition and a or b'},
  {'%[[%w_%s%-]*:[%w_%s%-]*%]', 'a slice of a tensor is x[{torch.slice(1, 3)}]'},
  {'{%s*[\'"].-[\'"]%s*:', "a dictionary is {a = 1} or {['a key'] = 1}"},
  {'^%s*self%.[%w_]+%s*:%s*[%w_]', 'Lua has no annotations of types: self.x = 3'},
  {'^%s*local%s+[%w_]+%s*:%s*[%w_]', 'Lua has no annotations of types: local x = 3'},
  {'^%s*[%w_]+%s*:%s*[%a_][%w_%.%[%]]*%s*=', 'Lua has no annotations of types: x = 3'},
  {'[%w_%])]%s*%([^{]-[%w_]+%s*=[^=]', 'arguments by name stand in a table: f(a, {lr = 0.1})'},
  {'[=(,]%s*%[[^%[]', 'a list is {1, 2}'},
}

---Returns the line with blanks in place of the contents of its strings, and without its comment.
---@param line string
---@return string
function pythonisms.without_strings(line)
  line = line:gsub('%-%-.*$', '')
  return (line:gsub([[(["'])(.-)%1]], function(quote, inner) return quote .. (' '):rep(#inner) .. quote end))
end

---Returns advice for a line that is not valid Lua; nil if there is none.
---@param line string
---@return string? advice
---
---```lua
---local pythonisms = require 'base.errors.pythonisms'
---assert(pythonisms.of_line 'if a != b then' == "'not equal' is written ~=")
---assert(pythonisms.of_line 'local a = {1, 2}' == nil)
---```
function pythonisms.of_line(line)
  local text = pythonisms.without_strings(line)
  for _, entry in ipairs(SYNTAX) do
    if text:find(entry[1]) then return entry[2] end
  end
end

---Returns advice for an unknown global; nil if it is neither a function nor a package of Python.
---@param name string
---@param field? string the field that is read from it
---@return string? advice
---
---```lua
---assert(require('base.errors.pythonisms').of_global('np', 'mean') == "torch has NumPy's functions: torch.mean")
---```
function pythonisms.of_global(name, field)
  if name ~= 'np' and name ~= 'numpy' then return FUNCTIONS[name] or PACKAGES[name] end
  return ("torch has NumPy's functions: torch.%s"):format(NUMPY[field] or field or 'mean')
end

local function line_at(text, number)
  local at = 0
  for line in (text .. '\n'):gmatch '(.-)\r?\n' do
    at = at + 1
    if at == number then return line end
  end
end

-- Returns whether a line begins a block of Python. No Lua line ends like this, but Lua may report the error many lines
-- later.
local function is_block(line)
  local word = pythonisms.without_strings(line):match '^%s*(%l+)[^%w_].*:%s*$' or line:match '^%s*(%l+)%s*:%s*$'
  return word == 'for' or word == 'if' or word == 'elif' or word == 'else' or word == 'while' or word == 'def'
    or word == 'class' or word == 'with' or word == 'try' or word == 'except'
end

-- Returns advice for the line of an error, or for the last non-empty line before it.
local function advice_at(text, number)
  for at = number, 1, -1 do
    local line = line_at(text, at)
    if line and line:find '%S' then
      local advice = pythonisms.of_line(line)
      -- Lua reports an unexpected end of the text at the last line.
      if advice or at < number then return advice end
    end
  end
end

-- Returns the first line before that of an error that begins a block of Python.
local function first_block(text, number)
  local at = 0
  for line in (text .. '\n'):gmatch '(.-)\r?\n' do
    at = at + 1
    if at > number then return nil end
    if is_block(line) then return at, pythonisms.of_line(line) end
  end
end

---Returns Lua's message about a syntax error, with advice if the text is Python.
---@param text string
---@param message string Lua's: "train.lua:3: '=' expected near 'x'"
---@return string message at the line of the Python
---
---```lua
---local pythonisms = require 'base.errors.pythonisms'
---assert(pythonisms.explained('for i in range(3):\n  print(i)\nprint(1)', "t.lua:3: 'do' expected near '<eof>'")
---  == "t.lua:1: 'do' expected (it is written for i = 0, n - 1 do … end)")
---```
function pythonisms.explained(text, message)
  local place, number, words = message:match '^(.-:)(%d+)(:.*)$'
  if number == nil or message:find 'unfinished string' then return message end
  if message:find "near '#'" then return message .. ' (a comment begins with --)' end
  local block, block_advice = first_block(text, tonumber(number))
  if block and block_advice and block < tonumber(number) then
    return ('%s%d%s (%s)'):format(place, block, words:gsub(" near '.-'$", ''), block_advice)
  end
  local advice = advice_at(text, tonumber(number))
  return advice and ('%s (%s)'):format(message, advice) or message
end

---Returns Lua's form of a Python constant, which Lua reads as a global: None → 'nil'.
---@param name string
---@return string? written nil if it is not a Python constant
function pythonisms.of_constant(name) return CONSTANTS[name] end

return pythonisms
