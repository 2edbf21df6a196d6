-- rtrain/repl/init.lua: a session of `rtrain repl`: what its lines mean. host/cli/train/repl.cpp reads them and runs what
-- read() gives.

local class = require 'base.class'
local commands = require 'rtrain.repl.commands'
local globals = require 'rtrain.repl.globals'
local reload = require 'rtrain.repl.reload'

-- The script's own may be something else.
local print = print

---@class ReplOptions
---@field folder string whose modules `:reload` reads again
---@field can_stop_loops boolean whether a hook stops compiled loops; else what is typed is not compiled
---@field colour boolean

---@class ReplSession
---@field lines string[] all that were read
local Session = class('ReplSession')

---@param options ReplOptions
function Session:init(options)
  self.lines = {}
  self.first = 1  -- of the chunk that is being read
  self.options = options
  local torch = require 'torch'
  local names = {torch = torch, nn = torch.nn, F = torch.nn.functional, optim = torch.optim, train = require 'rtrain'}
  for name, module in next, names do rawset(_G, name, module) end
  self.reload = reload(options.folder)
end

---Shows what an expression gave, which is `_` from then on. A call that gives nothing shows nothing.
---@param ... any
function Session:show(...)
  if select('#', ...) == 0 then return end
  rawset(_G, '_', (...))
  print(...)
end

local function is_incomplete(problem) return problem:sub(-7) == "'<eof>'" end

---A chunk as a function without arguments: an expression, else statements.
---@param text string
---@param line? integer the number of its first line
---@return function? chunk nil where the text is none
---@return string? problem what Lua says
---@return boolean? is_incomplete whether more lines could make it one
function Session:compile(text, line)
  local lines_before = ('\n'):rep((line or 1) - 1)
  local expression, problem = loadstring(lines_before .. 'return ' .. text, '=repl')
  local is_open = not expression and is_incomplete(problem)
  local chunk = expression
  if not chunk then chunk, problem = loadstring(lines_before .. globals(text), '=repl') end
  if not chunk then return nil, problem, is_open or is_incomplete(problem) end
  if not self.options.can_stop_loops then jit.off(chunk, true) end
  return chunk
end

-- What the text is: 'more' where it goes on, 'wrong' with Lua's message and the text, or 'run' with two functions.
function Session:_meaning(text, is_end)
  local chunk, problem, is_open = self:compile(text, self.first)
  if chunk then return 'run', function() self:show(chunk()) end, chunk end
  if is_open and not is_end then return 'more' end
  return 'wrong', problem, text
end

---Takes the next line.
---@param line string
---@return string meaning 'more': the chunk goes on, 'wrong': it is none, 'run', 'none': there is nothing to run, 'end'
---@return function|string|nil what what to run, or Lua's message
---@return string|function|nil chunk the text that is wrong, or what the function runs
function Session:read(line)
  self.lines[#self.lines + 1] = line
  if self.first == #self.lines then
    if line:match '^%s*$' then return self:_done 'none' end
    if line:match '^%s*exit%s*$' or line:match '^%s*quit%s*$' then return 'end' end
    local command = commands.find(self, line)
    if command then
      self:drop()
      return 'run', command
    end
    -- What older consoles ask for.
    self.lines[#self.lines] = line:gsub('^%s*=', '')
  end
  return self:_done(self:_meaning(table.concat(self.lines, '\n', self.first)))
end

---The input ends here, perhaps within a chunk.
---@return string meaning as for read
---@return function|string|nil what
---@return string|function|nil chunk
function Session:finish()
  if self.first > #self.lines then return 'none' end
  return self:_done(self:_meaning(table.concat(self.lines, '\n', self.first), true))
end

---Forgets the lines of a chunk that has not ended.
function Session:drop() self.first = #self.lines + 1 end

function Session:_done(meaning, ...)
  if meaning ~= 'more' then
    self.last_input = meaning == 'run' and table.concat(self.lines, '\n', self.first) or self.last_input
    self:drop()
  end
  return meaning, ...
end

---What is shown below a message: the line that it is about, "  3 | x = y.z", and of several how the error came there.
---@param message string 'repl:3: …'
---@param traceback string
---@return string? lines
function Session:shown_lines(message, traceback)
  local number = tonumber(message:match '^repl:(%d+):')
  local line = self.lines[number or 0]
  local shown = line and {('%4d | %s'):format(number, line)} or {}
  local _, frames = traceback:gsub('[^\n]+:%d+: in ', '')
  if frames > 1 then shown[#shown + 1] = traceback end
  return #shown > 0 and table.concat(shown, '\n') or nil
end

return Session
