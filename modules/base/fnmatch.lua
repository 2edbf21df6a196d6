-- base/fnmatch.lua: matches names with shell patterns, by the rules of Python's fnmatch.

-- Returns the characters of a text, or its bytes if it is not UTF-8.
local function characters(text)
  local out, at = {}, 1
  while at <= #text do
    local char = text:match('^[\194-\223][\128-\191]', at) or text:match('^[\224-\239][\128-\191][\128-\191]', at)
      or text:match('^[\240-\244][\128-\191][\128-\191][\128-\191]', at) or text:sub(at, at)
    out[#out + 1], at = char, at + #char
  end
  return out
end

-- Returns the place of the ']' that closes the set with its '[' at `from`; a ']' as first character belongs to the set.
local function end_of_set(pattern, from)
  local at = from + 1
  if pattern[at] == '!' then at = at + 1 end
  if pattern[at] == ']' then at = at + 1 end
  while pattern[at] and pattern[at] ~= ']' do at = at + 1 end
  return pattern[at] and at
end

-- Characters are compared by their bytes, which in UTF-8 gives the order of code points.
local function in_set(char, pattern, first, last)
  local negated = pattern[first] == '!'
  local at, found = negated and first + 1 or first, false
  while at <= last do
    local is_range = pattern[at + 1] == '-' and at + 2 <= last
    local till = is_range and pattern[at + 2] or pattern[at]
    found = found or (pattern[at] <= char and char <= till)
    at = at + (is_range and 3 or 1)
  end
  return found ~= negated
end

-- Returns whether the pattern at `at` matches this character, and where the pattern continues.
local function matches_one(char, pattern, at)
  local wanted = pattern[at]
  if wanted == '?' then return true, at + 1 end
  local last = wanted == '[' and end_of_set(pattern, at)
  if last then return in_set(char, pattern, at + 1, last - 1), last + 1 end
  return wanted == char, at + 1
end

---Returns whether a pattern matches the whole name: '*' matches any characters, '?' any single character, '[abc]' and
---'[a-c]' one of these, '[!a-c]' any other character, '[*]' a star. Case matters.
---@param name string
---@param pattern string
---@return boolean
---Python equivalent: fnmatch.fnmatchcase.
---
---```lua
---local fnmatch = require 'base.fnmatch'
---assert(fnmatch('part-7.csv', 'part-[0-9].*') and not fnmatch('part-x.csv', 'part-[0-9].*'))
---```
local function fnmatch(name, pattern)
  if name == pattern and not pattern:find '%[' then return true end
  local text, wanted = characters(name), characters(pattern)
  local at, place, star, retry = 1, 1, nil, nil  -- on a mismatch the last '*' takes one more character
  while at <= #text do
    if wanted[place] == '*' then
      star, retry, place = place, at, place + 1
    else
      local ok, following = false, nil
      if wanted[place] then ok, following = matches_one(text[at], wanted, place) end
      if ok then
        at, place = at + 1, following
      elseif star then
        at, place, retry = retry + 1, star + 1, retry + 1
      else
        return false
      end
    end
  end
  while wanted[place] == '*' do place = place + 1 end
  return wanted[place] == nil
end

return fnmatch
