-- rtrain/nodes/fleet.lua: Fleet: the nodes of one `--nodes`, and commands on several of them at the same time.
--
-- It keeps a connection to each node, through which all commands go, and ends it with `close`.

local class = require 'base.class'
local commands = require 'rtrain.nodes.commands'
local errors = require 'base.errors'
local ssh = require 'rtrain.nodes.ssh'
local system = require 'base._system'
local texts = require 'rtrain.display.texts'
local with_folder = require 'rtrain.nodes.with_folder'
local write_file = require 'base.write_file'

local Fleet = class('Fleet')

local CLOSE_TIMEOUT_S = 5
local ANSWER_S = 60

-- Returns a new folder with a short path, which the length of a socket's path demands; only the user can read it.
local function short_folder()
  local pipe = io.popen 'mktemp -d /tmp/rtrain-ssh-XXXXXX 2>&1'
  local path = pipe:read '*l' or ''
  pipe:close()
  if system.path_kind(path) ~= 'folder' then errors.raise('environment', 'no folder for connections: ' .. path) end
  return path
end

---@param nodes SshNode[]
function Fleet:init(nodes)
  self.nodes = nodes
  self._controls = short_folder()
end

---Returns the words of a command on a node.
---@param node SshNode
---@param command string for the node's shell
---@param options? table as for ssh.words
---@return string[] words
function Fleet:words(node, command, options) return ssh.words(node, self._controls, command, options) end

-- Puts the texts that commands read into files.
local function write_inputs(folder, list)
  for i, each in ipairs(list) do
    if each.text then
      each.input = ('%s/%d'):format(folder, i)
      write_file(each.input, each.text)
    end
  end
end

---Runs commands at the same time, and waits for all.
---@param list {node: SshNode, command: string, text?: string, input?: string, offset?: integer, pack?: boolean}[] text:
---  what the command reads
---@param options? table as for commands.run; without it each has a minute
---@return {node: SshNode, status: integer, output: string}[] results
function Fleet:run(list, options)
  return with_folder('rtrain-input-', function(folder)
    write_inputs(folder, list)
    for _, each in ipairs(list) do each.words = self:words(each.node, each.command) end
    local results = commands.run(list, options or {timeout_s = ANSWER_S})
    for i, each in ipairs(list) do results[i].node = each.node end
    return results
  end)
end

---Returns the problem of each command that has failed.
---@param results {node: SshNode, status: integer, output: string}[]
---@return {node: SshNode, problem: string, advice: string}[]
function Fleet:failures(results)
  local out = {}
  for _, result in ipairs(results) do
    if result.status ~= 0 then
      local problem, advice = ssh.explain(result.node, result.output, result.status)
      out[#out + 1] = {node = result.node, problem = problem, advice = advice}
    end
  end
  return out
end

---Raises one error for all problems, if there are any.
---@param problems {node: SshNode, problem: string, advice: string}[]
---@param what string 'cannot take part'
---Errors: 'environment'.
function Fleet:refuse(problems, what)
  if #problems == 0 then return end
  local lines, count, last = {}, 0, nil
  for _, each in ipairs(problems) do
    if each.node ~= last then count = count + 1 end
    last = each.node
    lines[#lines + 1] = ('  %s: %s'):format(each.node.target, system.terminal_line(each.problem))
    if each.advice ~= '' then lines[#lines + 1] = '    → ' .. each.advice end
  end
  errors.raise('environment', ('%d of %s %s:\n%s'):format(count, texts.counted(#self.nodes, 'node'), what,
    table.concat(lines, '\n')))
end

---Runs commands at the same time, and raises one error for all that fail.
---@param list table[] as for `run`
---@param what string as for `refuse`
---@return table[] results as of `run`
---Errors: 'environment'.
function Fleet:need(list, what)
  local results = self:run(list)
  self:refuse(self:failures(results), what)
  return results
end

---Ends the connections.
function Fleet:close()
  local list = {}
  for _, node in ipairs(self.nodes) do
    if not node.is_local then list[#list + 1] = {words = ssh.end_words(node, self._controls)} end
  end
  commands.run(list, {timeout_s = CLOSE_TIMEOUT_S})
  system.remove_tree(self._controls)
end

return Fleet
