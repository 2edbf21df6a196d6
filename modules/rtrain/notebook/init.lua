-- rtrain/notebook/init.lua: Notebook: carries out the requests of a notebook's kernel. host/cli/train/notebook.cpp
-- receives them and runs the functions that take() returns; README.md documents the messages.

local channel = require 'rtrain.display.notebook_channel'
local class = require 'base.class'
local completion = require 'rtrain.repl.completion'
local commands = require 'rtrain.repl.commands'
local errors = require 'base.errors'
local last_value = require 'rtrain.notebook.last_value'
local rich = require 'rtrain.display.rich'
local Session = require 'rtrain.repl'
local system = require 'base._system'

---@class Notebook : ReplSession
local Notebook = class('Notebook', Session)

---@param options ReplOptions with `socket`
---@param services table functions of the host
function Notebook:init(options, services)
  Session.init(self, options)
  self._channel = channel.open(options.socket, services)
  self._cell = 'cell'
end

---Compiles the code of a cell, whose last expression is its result. Positions in errors are 'cell 3:2'.
---@param text string
---@return function? chunk
---@return string? problem
---@return boolean? is_incomplete
function Notebook:compile(text) return Session.compile(self, last_value(text), 1, self._cell) end

---Shows values as the result of the cell, and stores the first as `_`. Without values it shows nothing.
---@param ... any
function Notebook:show(...)
  if select('#', ...) == 0 then return end
  rawset(_G, '_', (...))
  if not self._is_silent and select('#', ...) > 0 and not (select('#', ...) == 1 and (...) == nil) then
    io.stdout:flush()
    self._channel:send{type = 'result', data = rich.bundle(...)}
  end
end

-- Returns the page or guide of a name as a text for each MIME type.
local function explanation(name)
  local doc = require 'rtrain.doc'
  local found = doc.run{name = commands.with_class(name), json = true}
  local text = found.markdown or require('rtrain.doc.markdown').of(found)
  return {['text/markdown'] = text, ['text/plain'] = found.markdown or require('rtrain.doc.layout').text(found, 100)}
end

-- Returns the name of '? name', '?name' and 'name?'; nil for other code.
local function asked_name(code)
  return code:match '^%s*%?+%s*([%a_][%w_.:/]*)%s*$' or code:match '^%s*([%a_][%w_.:]*)%s*%?+%s*$'
end

-- Returns the function that runs the code, and the compiled chunk, if it has one.
function Notebook:_runner(code)
  local name = asked_name(code)
  if name then return function() self._channel:display(explanation(name)) end end
  if code:match '^%s*%%edit' then
    return function() errors.raise('unsupported', '%edit is for terminals: a notebook edits its cells') end
  end
  local command = not code:match '\n%s*%S' and commands.find(self, code)
  if command then return command end
  local chunk, problem = self:compile(code)
  if chunk then return function() self:show(chunk()) end, chunk end
  return function() error(require('base.errors.pythonisms').explained(code, problem), 0) end
end

local take = {}

---Executes a cell.
---@param request table
---@return function run
---@return function? chunk the compiled cell
function take:execute(request)
  self._cell, self._is_silent = ('cell %d'):format(request.number), request.silent
  self.lines = {}
  for line in (request.code .. '\n'):gmatch '(.-)\n' do self.lines[#self.lines + 1] = line end
  return self:_runner(request.code)
end

---Completes the end of a text.
---@param request table
function take:complete(request)
  local found = completion(request.text)
  self:_answer{choices = require('torch').list(found.choices), typed = found.typed}
end

---Says whether code could be executed as it is.
---@param request table
function take:is_complete(request)
  local code = request.code
  local is_asked = asked_name(code) or commands.find(self, code)
  local chunk, _, is_open = self:compile(code)
  self:_answer{state = (chunk or is_asked) and 'complete' or is_open and 'incomplete' or 'invalid'}
end

---Describes the name at the end of a text; nothing is found for a name without documentation.
---@param request table
function take:inspect(request)
  local name = request.text:match '[%a_][%w_.:]*$'
  local found, bundle = pcall(explanation, name or '')
  self:_answer{data = name and found and bundle or nil}
end

-- Ends the request.
function Notebook:_answer(fields)
  fields.type, fields.id = 'answer', self._request.id
  self._channel:send(fields)
end

---Reads a request. Requests other than for a cell are answered at once.
---@param line string
---@return function? run for a cell
---@return function? chunk the compiled cell
function Notebook:take(line)
  local request = system.from_json(line)
  -- A cell that was interrupted in a display has not read its answer.
  if request.type == 'seen' then return end
  self._request = request
  local taken = take[request.what]
  if not taken then
    return self:_answer{error = {code = 'unsupported', message = ("there is no request '%s'"):format(tostring(request.what))}}
  end
  return taken(self, request)
end

---Called after a cell has run.
function Notebook:succeed() self:_answer{} end

-- Returns Lua's lines of a traceback with the code of the cell's lines.
local function traceback_lines(self, message, traceback)
  local lines = {message}
  local number = tonumber(message:match('^' .. self._cell .. ':(%d+):'))
  if number and self.lines[number] then lines[2] = ('%4d | %s'):format(number, self.lines[number]) end
  local _, frames = traceback:gsub('[^\n]+:%d+: in ', '')
  if frames > 1 then lines[#lines + 1] = traceback end
  return table.concat(lines, '\n')
end

---Called after an error of the cell.
---@param message string
---@param traceback string
---@param code string
function Notebook:fail(message, traceback, code)
  self:_answer{error = {code = code, message = message, text = traceback_lines(self, message, traceback)}}
end

return Notebook
