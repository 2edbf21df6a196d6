-- rtrain/repl/init.lua: Session: interprets the lines of `rtrain repl`. host/cli/train/repl.cpp reads the lines and
-- runs the results of read().

local class = require 'base.class'
local commands = require 'rtrain.repl.commands'
local globals = require 'rtrain.repl.globals'
local reload = require 'rtrain.repl.reload'

-- The script may replace the global.
local print = print

---@class ReplOptions
---@field folder string the folder whose modules `:reload` reads again
---@field can_stop_loops boolean whether a hook stops compiled loops; otherwise typed code is not compiled
---@field colour boolean

---@class ReplSession
---@field lines string[] all lines read so far
local Session = class('ReplSession')

---@param options ReplOptions
function Session:init(options)
  self.lines = {}
  self.first = 1  -- number of the first line of the current chunk
  self.options = options
  local torch = require 'torch'
  local names = {torch = torch, nn = torch.nn, F = torch.nn.functional, optim = torch.optim, train = require 'rtrain'}
  for name, module in next, names do rawset(_G, name, module) end
  self.reload = reload(options.folder)
end

---Prints the value of an expression and stores it as `_`. A call without results prints nothing.
---@param ... any
function Session:show(...)
  if select('#', ...) == 0 then return end
  rawset(_G, '_', (...))
  print(...)
end

local function is_incomplete(problem) return problem:sub(-7) == "'<eof>'" end

---Compiles a chunk to a function without arguments: an expression, else statements.
---@param text string
---@param line? integer the number of its first line
---@param name? string what positions in errors begin with, default 'repl'
---@return function? chunk nil if the text does not compile
---@return string? problem Lua's message
---@return boolean? is_incomplete whether more lines could complete it
function Session:compile(text, line, name)
  local lines_before = ('\n'):rep((line or 1) - 1)
  local source = '=' .. (name or 'repl')
  local expression, problem = loadstring(lines_before .. 'return ' .. text, source)
  local is_open = not expression and is_incomplete(problem)
  local chunk = expression
  if not chunk then chunk, problem = loadstring(lines_before .. globals(text), source) end
  if not chunk then return nil, problem, is_open or is_incomplete(problem) end
  if not self.options.can_stop_loops then jit.off(chunk, true) end
  return chunk
end

-- Classifies the text: 'more' for an incomplete chunk, 'wrong' with Lua's message and the text, or 'run' with two
-- functions.
function Session:_meaning(text, is_end)
  local chunk, problem, is_open = self:compile(text, self.first)
  if chunk then return 'run', function() self:show(chunk()) end, chunk end
  if is_open and not is_end then return 'more' end
  return 'wrong', problem, text
end

---Reads the next line.
---@param line string
---@return string meaning 'more': the chunk is incomplete, 'wrong': it does not compile, 'run', 'none': nothing to
---  run, 'end'
---@return function|string|nil what the function to run, or Lua's message
---@return string|function|nil chunk the wrong text, or the compiled chunk
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
    -- The '=' of older consoles is accepted.
    self.lines[#self.lines] = line:gsub('^%s*=', '')
  end
  return self:_done(self:_meaning(table.concat(self.lines, '\n', self.first)))
end

---Handles the end of the input, which may be within a chunk.
---@return string meaning as for read
---@return function|string|nil what
---@return string|function|nil chunk
function Session:finish()
  if self.first > #self.lines then return 'none' end
  return self:_done(self:_meaning(table.concat(self.lines, '\n', self.first), true))
end

---Discards the lines of an incomplete chunk.
function Session:drop() self.first = #self.lines + 1 end

function Session:_done(meaning, ...)
  if meaning ~= 'more' then
    self.last_input = meaning == 'run' and table.concat(self.lines, '\n', self.first) or self.last_input
    self:drop()
  end
  return meaning, ...
end

---Returns the text below a message: its source line, "  3 | x = y.z", and with several lines the path of the error.
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
