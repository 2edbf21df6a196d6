-- rtrain/nodes/delivery.lua: brings files to the nodes that lack them, each once, and shows how far it is.
--
-- A node keeps the part that has come when the connection breaks, and gets the rest the next time.

local amount = require 'rtrain.nodes.amount'
local joined_files = require 'rtrain.nodes.joined_files'
local remote = require 'rtrain.nodes.remote'
local system = require 'base._system'
local texts = require 'rtrain.display.texts'
local with_folder = require 'rtrain.nodes.with_folder'

local delivery = {}

local PAUSE_S, LONG_PAUSE_S = 0.5, 10  -- between two lines: on a terminal, elsewhere
local STDERR = 2

---Returns the files that a node does not have yet, and how much of each it has.
---@param files JobFile[]
---@param facts table<string, string> from remote.facts
---@return {file: JobFile, offset: integer}[] missing
---@return integer bytes that are left to send
function delivery.missing(files, facts)
  local out, bytes, seen = {}, 0, {}
  for _, file in ipairs(files) do
    if not facts['has.' .. file.hash] and not seen[file.hash] then
      local offset = tonumber(facts['part.' .. file.hash]) or 0
      if offset > file.size then offset = 0 end
      out[#out + 1] = {file = file, offset = offset}
      bytes, seen[file.hash] = bytes + file.size - offset, true
    end
  end
  return out, bytes
end

-- Shows progress: on a terminal in one line, elsewhere a line now and then.
local function shower(is_quiet)
  local is_terminal = system.is_terminal(STDERR)
  local due = system.monotonic() + (is_terminal and PAUSE_S or LONG_PAUSE_S)
  local has_shown = false
  return {
    show = function(parts)
      if is_quiet or system.monotonic() < due then return end
      due = system.monotonic() + (is_terminal and PAUSE_S or LONG_PAUSE_S)
      local line = 'rtrain: ' .. table.concat(parts, ', ')
      io.stderr:write(is_terminal and ('\r\27[K%s'):format(line) or line .. '\n')
      has_shown = true
    end,
    finish = function()
      if has_shown and is_terminal then io.stderr:write '\r\27[K' end
    end,
  }
end

-- Sends to each node the next file that it lacks. Returns the results, and the number of each one's node.
local function send_next(fleet, queues, sent, total, shown)
  local list, receivers = {}, {}
  for i, queue in ipairs(queues) do
    local next_one = queue[1]
    if next_one then
      local file = next_one.file
      local pack = not file.is_packed and queue.can_unpack
      local command = file.is_joined and remote.receive_joined(pack) or remote.receive(file, next_one.offset, pack)
      list[#list + 1] = {node = fleet.nodes[i], command = command, input = file.path, offset = next_one.offset, pack = pack}
      receivers[#receivers + 1] = i
    end
  end
  local now = {}  -- bytes of this file; a reader that has ended has no position any more
  local results = fleet:run(list, {on_progress = function(positions)
    local parts = {}
    for k, i in ipairs(receivers) do
      local queue = queues[i]
      local read = math.min(positions[k] or 0, queue[1].file.size) - list[k].offset
      now[k] = math.max(now[k] or 0, read)
      parts[k] = ('%s %s of %s'):format(fleet.nodes[i].target, amount(sent[i] + now[k]), amount(total[i]))
    end
    shown.show(parts)
  end})
  return results, receivers
end

local function is_left(queues)
  for _, queue in ipairs(queues) do
    if #queue > 0 then return true end
  end
  return false
end

-- Sends the queues, one file of each at a time.
local function send_queues(fleet, queues, sent, total, is_quiet)
  local shown, again = shower(is_quiet), {}
  while is_left(queues) do
    local results, receivers = send_next(fleet, queues, sent, total, shown)
    for k, i in ipairs(receivers) do
      local done = queues[i][1]
      -- A part that an earlier attempt has left may be damaged: the node has removed it, and gets all of it.
      if results[k].status == remote.DIFFERS and not again[done.file.hash .. i] then
        again[done.file.hash .. i] = true
        done.offset, results[k].status = 0, 0
      else
        sent[i] = sent[i] + done.file.size - done.offset
        table.remove(queues[i], 1)
      end
    end
    local problems = fleet:failures(results)
    if #problems > 0 then shown.finish() end
    fleet:refuse(problems, 'did not get their files')
  end
  shown.finish()
end

---Sends all files that nodes lack.
---@param fleet Fleet
---@param files JobFile[]
---@param facts table<string, string>[] by node
---@param is_quiet boolean
---Errors: 'environment', for all nodes together.
function delivery.send(fleet, files, facts, is_quiet)
  local missing, sent, total, sum = {}, {}, {}, 0
  for i in ipairs(fleet.nodes) do
    missing[i], total[i] = delivery.missing(files, facts[i])
    sent[i], sum = 0, sum + total[i]
  end
  if sum == 0 then return end
  if not is_quiet then
    io.stderr:write(('rtrain: sending %s to %s\n'):format(amount(sum), texts.counted(#fleet.nodes, 'node')))
  end
  with_folder('rtrain-joined-', function(folder)
    local queues, made = {}, {}
    for i in ipairs(fleet.nodes) do
      queues[i] = joined_files.of(missing[i], folder, made)
      queues[i].can_unpack = facts[i].gzip == 'yes'
    end
    send_queues(fleet, queues, sent, total, is_quiet)
  end)
end

return delivery
