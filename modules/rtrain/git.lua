-- rtrain/git.lua: the commit that the script's folder is at, for the run's record.
--
-- git runs while the train function is serialized; without git or a repository there is no commit.

local class = require 'rtrain.class'

local Git = class('Git')

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

---Starts asking.
---@param script string path of the script
---@return table git with `:finish()`
function Git.start(script)
  local folder = quoted(script:match('^(.*)/[^/]*$') or '.')
  local git = 'git -C ' .. folder
  local self = Git()
  self._pipe = io.popen(('%s rev-parse HEAD 2>/dev/null && %s status --porcelain --untracked-files=no 2>/dev/null | head -n 1')
    :format(git, git))
  return self
end

---@return string commit '' when there is none
---@return boolean dirty whether tracked files differ from it
function Git:finish()
  local text = self._pipe and self._pipe:read '*a' or ''
  if self._pipe then self._pipe:close() end
  local commit = text:match('^(%x+)\n')
  return commit or '', commit ~= nil and #text > #commit + 1
end

return Git
