-- rtrain/nodes/steps.lua: the commands that bring a run to its nodes, in their order. Pure functions of a plan.
--
-- Each returns a list of {node = …, command = …, text = …}: what one node's shell runs, and what that reads. `rtrain run
-- --nodes` carries them out, `rtrain submit ssh --dry-run` prints them.

local remote = require 'rtrain.nodes.remote'

local steps = {}

local REACH_S = 10
local SHELL = remote.line 'exec sh -s'

---What is to happen on which nodes.
---@class NodesPlan
---@field nodes SshNode[] the first is node 0
---@field job string names the job
---@field key string with which the nodes prove to each other that they belong to it
---@field port integer of node 0
---@field files JobFile[]
---@field environment string the script that sets variables of this machine's environment there
---@field words string[] the command of node 0, in the job's working folder
---@field command? string[] what the user has typed: the run's records and messages show it
---@field program string[] the words of rtrain there
---@field is_detached boolean

local function each(plan, make)
  local out = {}
  for i, node in ipairs(plan.nodes) do
    out[i] = make(i, node)
    out[i].node = node
  end
  return out
end

local function call(plan, ...)
  local words = {unpack(plan.program)}
  for _, word in ipairs {...} do words[#words + 1] = word end
  return {command = remote.call(plan.job, words)}
end

---Asks what the nodes are and have.
---@param plan NodesPlan
---@return table[] commands
function steps.facts(plan)
  local script = remote.facts(plan.files)
  return each(plan, function() return {command = SHELL, text = script} end)
end

---Makes the job's folder from files that the nodes have.
---@param plan NodesPlan
---@return table[] commands
function steps.make(plan)
  local script = remote.make(plan.job, plan.files, plan.environment)
  return each(plan, function() return {command = SHELL, text = script} end)
end

---Asks rtrain on each node which libraries it finds, or for all its checks.
---@param plan NodesPlan
---@param command 'env'|'doctor'
---@return table[] commands
function steps.ask_rtrain(plan, command)
  return each(plan, function() return call(plan, command, '--json') end)
end

---Finds the way from each other node to node 0, on which a listener answers all of them.
---@param plan NodesPlan
---@param addresses string[][] by node: where node 0 may be reached
---@return table[] commands none for a single node
function steps.ways(plan, addresses)
  if #plan.nodes == 1 then return {} end
  return each(plan, function(i)
    local seconds = i == 1 and REACH_S + 5 or REACH_S
    local words = {'reach', '--token', plan.job, '--port', tostring(plan.port), '--seconds', tostring(seconds)}
    for _, word in ipairs(i == 1 and {'--listen', tostring(#plan.nodes - 1)} or addresses[i]) do words[#words + 1] = word end
    return call(plan, unpack(words))
  end)
end

local function variables_of(plan, i, way)
  local out = {
    {'RTRAIN_LAUNCHER', 'ssh'}, {'RTRAIN_NNODES', tostring(#plan.nodes)}, {'RTRAIN_NODE_RANK', tostring(i - 1)},
    {'RTRAIN_JOB_ID', plan.job}, {'RTRAIN_MASTER_PORT', tostring(plan.port)},
  }
  if way then out[#out + 1] = {'RTRAIN_MASTER_ADDR', way} end
  local slots = plan.nodes[i].slots
  if slots then out[#out + 1] = {'RTRAIN_NODE_WORKERS', tostring(slots)} end
  return out
end

-- Node 0 listens at the address by which all others reach it, if that is one address; else at all that it has.
local function own_way(ways, count)
  for i = 3, count do
    if ways[i] ~= ways[2] then return nil end
  end
  return ways[2]
end

---Writes the key, and the script that starts the process of each node.
---@param plan NodesPlan
---@param ways table<integer, string> by node from the second: the address at which it reaches node 0
---@return table[] commands
function steps.prepare(plan, ways)
  return each(plan, function(i)
    local words = plan.words
    if i > 1 then
      words = {unpack(plan.program)}
      words[#words + 1] = 'agent'
    end
    local way = i == 1 and own_way(ways, #plan.nodes) or ways[i]
    local text = remote.prepare(plan.job, remote.start(variables_of(plan, i, way), words), plan.key)
    if i == 1 and plan.command then text = text .. remote.note_command(plan.command) end
    return {command = SHELL, text = text}
  end)
end

---Starts the agents, and the script's process if nobody waits for it.
---@param plan NodesPlan
---@return table[] commands
function steps.start(plan)
  local out = {}
  for i, node in ipairs(plan.nodes) do
    if i > 1 or plan.is_detached then out[#out + 1] = {node = node, command = remote.start_detached(plan.job)} end
  end
  return out
end

---Asks for the last lines that the agents have printed.
---@param plan NodesPlan
---@return table[] commands
function steps.last_lines(plan)
  local out = {}
  for i = 2, #plan.nodes do out[#out + 1] = {node = plan.nodes[i], command = remote.last_lines(plan.job)} end
  return out
end

return steps
