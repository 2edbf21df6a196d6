-- rtrain/repl/commands.lua: commands of the REPL: `? name`, `%time EXPR`, `%edit`, `:reload`.

local class = require 'base.class'
local errors = require 'base.errors'
local read_file = require 'base.read_file'
local system = require 'base._system'
local write_file = require 'base.write_file'

local print = print

local commands = {}

local HELP = [[
? NAME          what a function, class or module does: ? torch.matmul, ? nn.Linear, ? x:view
%time EXPR      how long an expression or statement takes
%edit [FILE]    the last input, or a file, in $EDITOR; what it writes is run
:reload         the modules of this folder, read again
<TAB>           completes names, methods after ':', paths inside quotes
Ctrl-C          stops what runs, or drops the line; Ctrl-D ends the session, as do exit and quit
torch, nn, F, optim and train are there; _ is the last value that was shown]]

local DEFAULT_EDITOR = 'vi'
local COLUMNS = 80

---Replaces an object of the session by its class: 'model:forward' is Net.forward, 'x:view' for a tensor
---torch.Tensor.view.
---@param name string
---@return string
function commands.with_class(name)
  local first, rest = name:match '^([%a_][%w_]*)(.*)$'
  local value = first and rawget(_G, first)
  local engine = package.loaded['torch._C']
  if type(value) == 'userdata' and type(engine) == 'table' and engine.is_tensor(value) then return 'torch.Tensor' .. rest end
  local of = class.of(value)
  return of and rawget(of, '__name') .. rest or name
end

local function explain(session, name)
  if name == '' then return print(HELP) end
  require('rtrain.doc').run{name = commands.with_class(name), columns = system.terminal_size(1) or COLUMNS,
                            colour = session.options.colour}
end

local function duration_text(seconds)
  if seconds < 1e-3 then return ('%.3g µs'):format(seconds * 1e6) end
  if seconds < 1 then return ('%.3g ms'):format(seconds * 1e3) end
  return ('%.4g s'):format(seconds)
end

-- GPU operators continue after their call returns.
local function wait_for_gpu()
  local engine = package.loaded['torch._C']
  local cuda = type(engine) == 'table' and require('torch').cuda
  if cuda and cuda.is_available() then cuda.synchronize() end
end

local function chunk_of(session, text)
  local chunk, problem = session:compile(text, #session.lines)
  if not chunk then errors.raise('user', problem) end
  return chunk
end

local function time(session, text)
  if text == '' then errors.raise('usage', '%time: expected an expression, as in %time torch.ones(3):sum()') end
  local chunk = chunk_of(session, text)
  local function ended(start, cpu, ...)
    wait_for_gpu()
    local seconds, cpu_seconds = system.monotonic() - start, os.clock() - cpu
    session:show(...)
    print(('time: %s (CPU %s)'):format(duration_text(seconds), duration_text(cpu_seconds)))
  end
  wait_for_gpu()
  ended(system.monotonic(), os.clock(), chunk())
end

local function edit_file(path)
  local named = {os.getenv 'VISUAL' or '', os.getenv 'EDITOR' or '', DEFAULT_EDITOR}
  local editor = named[1] ~= '' and named[1] or named[2] ~= '' and named[2] or named[3]
  if os.execute(('%s %s'):format(editor, system.shell_word(path))) ~= 0 then
    errors.raise('user', ('%%edit: %s failed: $EDITOR names another editor'):format(editor))
  end
  local text, problem = read_file(path)
  return text or errors.raise('usage', ('%%edit: cannot read %s'):format(problem))
end

local function run_text(session, text)
  if text:match '^%s*$' then return end
  local first = #session.lines + 1
  for line in (text:gsub('\n$', '') .. '\n'):gmatch '(.-)\n' do session.lines[#session.lines + 1] = line end
  session:drop()
  local chunk, problem = session:compile(text, first)
  if not chunk then errors.raise('user', problem) end
  session.last_input = text
  session:show(chunk())
end

local function edit(session, path)
  if path ~= '' then return run_text(session, edit_file(path)) end
  local folder = system.make_temp 'repl'
  local done, text = pcall(function()
    write_file(folder .. '/input.lua', (session.last_input or '') .. '\n')
    return edit_file(folder .. '/input.lua')
  end)
  system.remove_tree(folder)
  if not done then error(text, 0) end
  run_text(session, text)
end

local function reload(session)
  local names = session.reload()
  print(#names == 0 and 'no module of this folder is loaded' or 'read again: ' .. table.concat(names, ', '))
end

local function unknown(word)
  local names = {'%time', '%edit', '%help', ':reload'}
  return function()
    errors.raise('usage', ("there is no '%s'%s"):format(word, errors.suggestion(word, names)))
  end
end

local BY_WORD = {['%time'] = time, ['%edit'] = edit, [':reload'] = reload, ['%help'] = function() print(HELP) end}

---Returns the function for a line that is a command; nil for Lua.
---@param session ReplSession
---@param line string
---@return function?
function commands.find(session, line)
  local asked = line:match '^%s*%?%s*(.-)%s*$' or line:match '^%s*help%s*$' and ''
  if asked then return function() explain(session, asked) end end
  local word, rest = line:match '^%s*([%%:]%a+)%s*(.-)%s*$'
  if not word then return nil end
  local call = BY_WORD[word]
  return call and function() call(session, rest) end or unknown(word)
end

return commands
