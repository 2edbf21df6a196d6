-- rtrain/nodes/commands.lua: runs one command for each of several nodes at the same time.

local shell = require 'rtrain.launch.submit.shell'
local system = require 'base._system'
local with_folder = require 'rtrain.nodes.with_folder'

local commands = {}

local PAUSE_S = 0.05

-- Begins the reader of the input at the offset, and writes its process id, so that how far it has read can be seen.
local READER = [[dd bs=1 skip=%d count=0 2>/dev/null; echo $$ >%s; exec "$@"]]

local function line_of(command, pid_path)
  local program = shell.command(command.words)
  local reader = command.pack and 'gzip -1' or program
  if command.input then
    reader = ('sh -c %s sh %s'):format(shell.word(READER:format(command.offset or 0, shell.word(pid_path))), reader)
  end
  return ('{ %s; } <%s 2>&1; printf "\\n%%d\\n" $?'):format(command.pack and ('%s | %s'):format(reader, program) or reader,
    shell.word(command.input or '/dev/null'))
end

-- Returns how many bytes of its input the process has read; nil if it has not begun, or has ended.
local function position_of(pid_path)
  local file = io.open(pid_path)
  local pid = file and file:read '*l'
  if file then file:close() end
  local info = pid and io.open(('/proc/%s/fdinfo/0'):format(pid))
  if not info then return nil end
  local position = tonumber((info:read '*a' or ''):match 'pos:%s*(%d+)')
  info:close()
  return position
end

local function result_of(text)
  local output, status = text:match '^(.-)\n?(%d+)\n$'
  return {output = (output or text):gsub('%s+$', ''), status = tonumber(status) or 255}
end

-- Waits for a moment. Returns the command's result if it has ended.
local function look(running, deadline)
  local has_ended, text = running:finish(PAUSE_S)
  if has_ended then return result_of(text) end
  if deadline and system.monotonic() > deadline then return {status = 255, output = 'it timed out'} end
end

-- Runs the commands, with files in the folder.
local function run_in(folder, list, options)
  local deadline = options.timeout_s and system.monotonic() + options.timeout_s
  local running, results, left = {}, {}, #list
  for i, command in ipairs(list) do running[i] = system.start_command(line_of(command, ('%s/%d'):format(folder, i))) end
  while left > 0 do
    local positions = {}
    for i = 1, #list do
      if not results[i] then
        results[i] = look(running[i], deadline)
        if results[i] then
          running[i]:release()
          left = left - 1
        else
          positions[i] = position_of(('%s/%d'):format(folder, i))
        end
      end
    end
    if options.on_progress then options.on_progress(positions) end
  end
  return results
end

---Runs commands at the same time, and waits for all of them.
---@param list {words: string[], input?: string, offset?: integer, pack?: boolean}[] input: a file, from `offset` on; pack: the
---  command gets it packed with gzip
---@param options? {timeout_s?: number, on_progress?: fun(positions: table<integer, integer>)} without a time-out each ends by
---  itself: ssh does when nothing answers. on_progress: called again and again with how far inputs have been read
---@return {status: integer, output: string}[] results output: of stdout and stderr
function commands.run(list, options)
  return with_folder('rtrain-nodes-', function(folder) return run_in(folder, list, options or {}) end)
end

return commands
