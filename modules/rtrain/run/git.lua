-- rtrain/run/git.lua: Git: finds the commit of the script's folder and the changes since, for the run's record.
--
-- git runs while the train function is serialized; without git or a repository there is no commit. The run does not
-- wait for a git that hangs (a folder on a dead network file system, a locked repository).

local class = require 'base.class'
local system = require 'base._system'

local PATIENCE_S = 5
local MOST_BYTES = 200 * 1000 -- largest size of a diff

local Git = class('Git')

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

---Starts git.
---@param script string path of the script
---@return table git with `:finish()`
function Git.start(script)
  local folder = quoted(script:match('^(.*)/[^/]*$') or '.')
  local git = 'git --no-optional-locks -C ' .. folder
  local self = Git()
  local ok, command = pcall(system.start_command,
    ('%s rev-parse HEAD && %s diff --no-ext-diff --no-textconv --no-color HEAD | head -c %d'):format(git, git, MOST_BYTES + 1))
  self._command = ok and command
  return self
end

-- Cuts a diff that is too large after a whole line.
local function cut(diff)
  if #diff <= MOST_BYTES then return diff end
  return diff:sub(1, MOST_BYTES):match('^(.*\n)') or ''
end

---@return table found `{commit, is_dirty, diff, is_cut}`; commit: '' if unknown, is_dirty: whether tracked files
---  differ from it, is_cut: whether the diff was cut
---@return string? problem why a part is missing
function Git:finish()
  local found = {commit = '', is_dirty = false, diff = '', is_cut = false}
  if not self._command then return found end
  local is_complete, text = self._command:finish(PATIENCE_S)
  self._command:release()
  local commit, diff = text:match('^(%x+)\n(.*)$')
  if not is_complete and not commit then
    return found, ("git has not answered for %d s: the run's record does not say which commit the script is of")
      :format(PATIENCE_S)
  end
  if not commit then return found end
  found.commit = commit
  found.is_dirty = diff ~= ''
  found.is_cut = not is_complete or #diff > MOST_BYTES
  found.diff = cut(diff)
  return found
end

return Git
