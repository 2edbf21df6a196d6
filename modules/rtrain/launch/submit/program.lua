-- rtrain/launch/submit/program.lua: runs a launcher's own program (sbatch, kubectl) with a deadline.

local errors = require 'base.errors'
local shell = require 'rtrain.launch.submit.shell'
local system = require 'base._system'
local write_file = require 'base.write_file'

local program = {}

local TIMEOUT_S = 60
local NOT_FOUND = 127  -- exit code of a shell

-- Passes the text in a file that only the user can read, in a temporary folder.
local function with_input(text, use)
  local folder = system.make_temp 'rtrain-submit-'
  local path = folder .. '/input'
  local ok, a, b = xpcall(function()
    write_file(path, text)
    return use(path)
  end, errors.wrap)
  system.remove_tree(folder)
  if not ok then error(a, 0) end
  return a, b
end

local function run(words, path, timeout_s)
  local line = ('{ %s; } <%s 2>&1; printf "\\n%%d\\n" $?'):format(shell.command(words), shell.word(path))
  local command = system.start_command(line)
  local is_complete, text = command:finish(timeout_s)
  command:release()
  if not is_complete then
    errors.raise('timeout', ('%s has not ended within %g s; what it wrote: %s'):format(words[1], timeout_s, text))
  end
  local output, status = text:match '^(.-)\n?(%d+)\n$'
  return tonumber(status), (output:gsub('%s+$', ''))
end

---Runs the program with a text as its input.
---@param words string[] the program and its arguments
---@param input? string
---@param instead string advice if the program is missing: 'run this where Slurm is installed'
---@param timeout_s? number 60
---@return string output of stdout and stderr
---Errors: 'environment' if the program is missing or fails, with its output; 'timeout' if it does not end in time.
function program.run(words, input, instead, timeout_s)
  local status, output = with_input(input or '', function(path) return run(words, path, timeout_s or TIMEOUT_S) end)
  if status == 0 then return output end
  if status == NOT_FOUND then
    errors.raise('environment', ('there is no program %s: %s, or take --dry-run to see what would be submitted'):format(
      words[1], instead))
  end
  errors.raise('environment', ('%s has failed with exit status %d: %s'):format(words[1], status, output))
end

return program
