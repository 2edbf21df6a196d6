-- rtrain/nodes/ssh.lua: the commands that call the system's ssh, and what its errors mean.
--
-- Ports, keys, jump hosts and names are those of the user's ~/.ssh/config and agent. The first connection to a node is
-- kept (ControlMaster), and all others use it.

local shell = require 'rtrain.launch.submit.shell'

local ssh = {}

local CONNECT_TIMEOUT_S = 15
-- A node that answers nothing for two minutes is lost. A slow link is not: its answers wait behind the bytes of a file.
local ALIVE = {interval = 15, count = 8}

-- Returns the options of each call.
local function settings_of(controls)
  local out = {
    'BatchMode=yes', 'ConnectTimeout=' .. CONNECT_TIMEOUT_S, 'ServerAliveInterval=' .. ALIVE.interval,
    'ServerAliveCountMax=' .. ALIVE.count, 'ClearAllForwardings=yes', 'LogLevel=ERROR', 'EscapeChar=none',
  }
  if controls then
    for _, setting in ipairs {'ControlMaster=auto', ('ControlPath=%s/%%C'):format(controls), 'ControlPersist=60'} do
      out[#out + 1] = setting
    end
  end
  return out
end

local function with_options(first, controls, last)
  local words = {'ssh', unpack(first)}
  for _, setting in ipairs(settings_of(controls)) do words[#words + 1], words[#words + 2] = '-o', setting end
  words[#words + 1] = '--'
  for _, word in ipairs(last) do words[#words + 1] = word end
  return words
end

---Returns the words of an ssh command.
---@param node SshNode
---@param controls? string folder for the sockets of kept connections
---@param command string for the node's shell
---@param options? {terminal?: boolean} whether the command gets this terminal
---@return string[] words for a local node those of its shell
---
---```lua
---local ssh = require 'rtrain.nodes.ssh'
---local words = ssh.words({target = 'gpu1', host = 'gpu1', is_local = false}, '/run/me', 'uname -s')
---assert(words[1] == 'ssh' and words[#words - 1] == 'gpu1' and words[#words] == 'uname -s')
---```
function ssh.words(node, controls, command, options)
  if node.is_local then return {'/bin/sh', '-c', command} end
  return with_options({options and options.terminal and '-tt' or '-T'}, controls, {node.target, command})
end

---Returns the words of the command that ends a kept connection.
---@param node SshNode
---@param controls string
---@return string[] words
function ssh.end_words(node, controls) return with_options({'-O', 'exit'}, controls, {node.target}) end

-- What ssh prints, and what to do. `%s`: the node as ssh takes it.
local MEANINGS = {
  {'REMOTE HOST IDENTIFICATION HAS CHANGED', 'its host key is not the one that this machine knows: if the node was installed '
    .. 'again, `ssh-keygen -R %s` forgets the old key; if not, somebody else answers in its place'},
  {'Host key verification failed', 'this machine does not know its host key yet: `ssh %s` shows it and asks; compare it, and '
    .. 'say yes'},
  {'Permission denied', 'it accepts no key of yours without a question: `ssh-add` unlocks one, `ssh-copy-id %s` gives the node '
    .. 'one; `ssh %s true` has to work without a password'},
  {'Could not resolve hostname', 'there is no such name: see ~/.ssh/config and /etc/hosts'},
  {'Connection refused', 'no ssh server listens there: is it running, and is the port in ~/.ssh/config its own?'},
  {'timed out', 'the node does not answer: is it up, and does `ssh %s` reach it?'},
  {'No route to host', 'there is no way to the node: is it up, and does `ssh %s` reach it?'},
  {'Network is unreachable', 'this machine has no way to the node: does `ssh %s` reach it?'},
  {'No space left on device', 'its disk is full: free some space there, or set XDG_CACHE_HOME to another disk'},
  {'[Dd]isk quota exceeded', 'your quota there is used up: free some space there'},
  {'Broken pipe', 'the connection was lost: is the node up?'},
  {'Connection .*closed', 'the connection was closed: is the node up, and does `ssh %s` work?'},
}

-- Returns ssh's or the command's own words: the line that the pattern is in, else the last one.
local function line_with(text, pattern)
  local last = ''
  for line in text:gmatch '[^\r\n]+' do
    if line:find '%S' and not line:find '^@+$' then last = line end
    if line:find(pattern) then return (line:gsub('^@%s*', ''):gsub('%s*@$', '')) end
  end
  return last
end

---Explains why a command on a node has failed.
---@param node SshNode
---@param output string of ssh and of the command
---@param status integer its exit status, 255 of ssh itself
---@return string problem 'gpu2: Permission denied (publickey).'
---@return string advice '' if nothing is known
---
---```lua
---local ssh = require 'rtrain.nodes.ssh'
---local problem, advice = ssh.explain({target = 'gpu2'}, 'me@gpu2: Permission denied (publickey).\n', 255)
---assert(problem == 'me@gpu2: Permission denied (publickey).' and advice:find 'ssh%-copy%-id gpu2')
---```
function ssh.explain(node, output, status)
  for _, meaning in ipairs(MEANINGS) do
    local pattern, advice = meaning[1], meaning[2]
    if output:find(pattern) then
      local name = shell.word(node.target)
      return line_with(output, pattern), (advice:gsub('%%s', function() return name end))
    end
  end
  local line = line_with(output, '^rtrain: '):gsub('^rtrain: ', '')
  if line == '' then line = ('exit status %d, without a word'):format(status) end
  return line, status == 127 and 'a program is missing there' or ''
end

return ssh
