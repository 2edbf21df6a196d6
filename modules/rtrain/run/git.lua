-- rtrain/run/git.lua: the commit that the script's folder is at, for the run's record.
--
-- git runs while the train function is serialized; without git or a repository there is no commit. One that hangs (a folder
-- on a dead network file system, a repository that is locked) is not waited for.

local class = require 'base.class'
local system = require 'base._system'

local PATIENCE_S = 5

local Git = class('Git')

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

---Starts asking.
---@param script string path of the script
---@return table git with `:finish()`
function Git.start(script)
  local folder = quoted(script:match('^(.*)/[^/]*$') or '.')
  local git = 'git --no-optional-locks -C ' .. folder
  local self = Git()
  local ok, command = pcall(system.start_command,
    ('%s rev-parse HEAD && %s status --porcelain --untracked-files=no | head -n 1'):format(git, git))
  self._command = ok and command
  return self
end

---@return string commit '' when there is none
---@return boolean dirty whether tracked files differ from it
---@return string? problem why there is no answer
function Git:finish()
  if not self._command then return '', false, nil end
  local is_complete, text = self._command:finish(PATIENCE_S)
  self._command:release()
  if not is_complete then
    return '', false, ("git has not answered for %d s: the run's record does not say which commit the script is of")
      :format(PATIENCE_S)
  end
  local commit = text:match('^(%x+)\n')
  return commit or '', commit ~= nil and #text > #commit + 1
end

return Git
