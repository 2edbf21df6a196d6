-- rtrain/nodes/node_list.lua: parses the nodes of `--nodes`: `gpu1,me@gpu2:4` or a file of them.

local errors = require 'base.errors'
local read_file = require 'base.read_file'
local system = require 'base._system'

local node_list = {}

local MOST_SLOTS = 1024

---A node of `--nodes`.
---@class SshNode
---@field target string what ssh takes: 'gpu1', 'me@gpu2', 'me@fe80::1'
---@field host string the target without a user
---@field slots? integer most workers on the node
---@field is_local boolean whether it is this machine, which needs no ssh

local function refuse(text, why) errors.raise('usage', ("--nodes: '%s': %s"):format(system.terminal_text(text), why)) end

-- Returns host and the rest of 'host:4' or '[fe80::1]:4', without the brackets.
local function split_host(text)
  local inside, rest = text:match '^%[([^%]]*)%](.*)$'
  if inside then return inside, rest, '^[%x:.]+[%w%%._-]*$' end
  local host, slots = text:match '^([^:]*)(.*)$'
  return host, slots, '^[%w._-]+$'
end

-- ssh would take a name that begins with '-' for an option, and passes names to programs of its configuration.
local function parse_node(text)
  local user, rest = text:match '^(.*)@(.*)$'
  local host, slots, pattern = split_host(rest or text)
  if slots:find(':.*:') then refuse(text, 'an IPv6 address stands in brackets, as in [fe80::1]:4') end
  local count = slots == '' or slots:match '^:(%d+)$'
  if not count then refuse(text, 'after the name only :N may stand, the most workers on that node') end
  local number = tonumber(count)
  if number and (number < 1 or number > MOST_SLOTS) then
    refuse(text, ('the workers of a node are 1 to %d'):format(MOST_SLOTS))
  end
  if host:sub(1, 1) == '-' or (user or ''):sub(1, 1) == '-' then
    refuse(text, "the name of a node does not begin with '-'")
  end
  if not host:find(pattern) or (user and not user:find '^[%w._-]+$') then
    refuse(text, "expected the name of a node, as in gpu1, me@gpu2:4 or [fe80::1]; a name with a port or other options is "
      .. 'a Host in ~/.ssh/config')
  end
  return {target = user and ('%s@%s'):format(user, host) or host, host = host, slots = number,
    is_local = user == nil and (host == 'localhost' or host == '127.0.0.1' or host == '::1')}
end

-- Returns the names in a file: those of each line, without comments. `gpu1 slots=4` is `gpu1:4`.
local function names_in(text)
  local names = {}
  for line in (text .. '\n'):gmatch '(.-)\r?\n' do
    line = line:gsub('#.*', ''):gsub('%s+slots%s*=%s*', ':')
    for name in line:gmatch '[^%s,]+' do names[#names + 1] = name end
  end
  return names
end

---Returns the nodes of a list, or of the file of that name.
---@param text string 'gpu1,me@gpu2:4', or the path of a file with a node in each line
---@return SshNode[] nodes in their order; the first one runs the script
---Errors: 'usage' for what cannot be a node, for one that occurs twice, and for an empty list.
---
---```lua
---local node_list = require 'rtrain.nodes.node_list'
---local nodes = node_list.parse 'gpu1,me@[fe80::1]:4'
---assert(nodes[1].target == 'gpu1' and nodes[2].target == 'me@fe80::1' and nodes[2].slots == 4)
---```
function node_list.parse(text)
  local names
  if system.path_kind(text) == 'file' then
    names = names_in(read_file(text) or '')
  elseif text:find('/', 1, true) and not text:find '@' then
    errors.raise('usage', ('--nodes: there is no file %s'):format(system.terminal_text(text)))
  else
    names = names_in(text)
  end
  local nodes, seen = {}, {}
  for i, name in ipairs(names) do
    nodes[i] = parse_node(name)
    local host = nodes[i].is_local and 'localhost' or nodes[i].host
    if seen[host] then refuse(name, 'the node occurs twice: NAME:N says how many workers it has') end
    seen[host] = true
  end
  if #nodes == 0 then errors.raise('usage', '--nodes: there is no node in it') end
  return nodes
end

return node_list
