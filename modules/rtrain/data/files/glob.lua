-- rtrain/data/files/glob.lua: finds the files that match a pattern, by the rules of Python's glob with recursive =
-- True.

local files = require 'rtrain.data.files'
local fnmatch = require 'base.fnmatch'

local glob = {}

-- Returns a URI without its query ('?region=eu-west-1'), and the query.
local function without_query(path)
  if not files.is_object(path) then return path, '' end
  local before, query = path:match '^(.-)(%?[%w_]+=.*)$'
  return before or path, query or ''
end

---Returns whether a path is a pattern.
---@param path string
---@return boolean
function glob.is_pattern(path) return without_query(path):find '[%*%?%[]' ~= nil end

-- A state of files.below is the set of places in the list of patterns that the names so far can reach. '**' may match
-- no name, except at the end, where it matches a file below a folder.
local function enter(patterns, state, place)
  state[place] = true
  if patterns[place] == '**' and place < #patterns then enter(patterns, state, place + 1) end
end

-- A pattern matches a hidden name only if it begins with the same character: '.' as in Python, here also '_'.
local function matches(name, pattern)
  return (not files.is_hidden(name) or pattern:sub(1, 1) == name:sub(1, 1)) and fnmatch(name, pattern)
end

local function filter_of(patterns)
  local start = {}
  enter(patterns, start, 1)
  local function step(state, name)
    local out = {}
    for place, pattern in ipairs(patterns) do
      if state[place] and pattern == '**' then
        if not files.is_hidden(name) then
          enter(patterns, out, place)
          out[#patterns + 1] = out[#patterns + 1] or place == #patterns or nil
        end
      elseif state[place] and matches(name, pattern) then
        enter(patterns, out, place + 1)
      end
    end
    return out
  end
  return {start = start, step = step, accepts = function(state) return state[#patterns + 1] ~= nil end}
end

---Returns the files that match a pattern, sorted by name: '*', '?', '[a-c]' and '[!a-c]' within a name, '**' for any
---folders. '*' does not match a '.' or '_' at the beginning of a name, and '**' does not match such a folder.
---@param path string absolute, or a URI whose bucket is named
---@return string[]
function glob.files(path)
  local plain, query = without_query(path)
  local folder, rest = plain:match '^([^%*%?%[]*)/(.*)$'
  local root = folder == '' and '/' or folder .. query
  if files.kind(root) ~= 'folder' then return {} end
  local patterns = {}
  for name in rest:gmatch '[^/]+' do patterns[#patterns + 1] = name end
  return files.below(root, filter_of(patterns))
end

return glob
