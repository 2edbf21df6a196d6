-- rtrain/launch/host_list.lua: parses Slurm's short forms: `n[0-3,7],m1` for nodes, `2(x2),1` for a number for each
-- node.

local host_list = {}

local MOST = 100000  -- a longer list is a mistake

-- Returns the parts between commas outside of brackets; nil for unbalanced brackets.
local function split(text)
  local parts, depth, first = {}, 0, 1
  for i = 1, #text do
    local char = text:sub(i, i)
    if char == '[' then depth = depth + 1 end
    if char == ']' then depth = depth - 1 end
    if depth < 0 or depth > 1 then return nil end
    if char == ',' and depth == 0 then
      parts[#parts + 1] = text:sub(first, i - 1)
      first = i + 1
    end
  end
  parts[#parts + 1] = text:sub(first)
  return depth == 0 and parts or nil
end

-- Returns the numbers of '0-3,7', each with the width of the first of its range: '008-010' is 008, 009, 010.
local function numbers_of(text)
  local numbers = {}
  for part in (text .. ','):gmatch('([^,]*),') do
    local first, last = part:match('^(%d+)%-(%d+)$')
    if first == nil then first, last = part:match('^%d+$'), part end
    local low, high = tonumber(first), tonumber(last)
    if low == nil or high < low then return nil end
    if #numbers + high - low >= MOST then return nil end
    for number = low, high do numbers[#numbers + 1] = ('%0' .. #first .. 'd'):format(number) end
  end
  return numbers
end

-- Returns the names of one part. It may have several brackets, as in 'r[0-1]n[0-1]'; the last one changes fastest.
local function names_of(part)
  local before, inside, after = part:match('^([^%[]*)%[([^%]]*)%](.*)$')
  if before == nil then return part ~= '' and {part} or nil end
  local numbers = numbers_of(inside)
  local ends = after == '' and {''} or names_of(after)
  if numbers == nil or ends == nil or #numbers * #ends > MOST then return nil end
  local names = {}
  for _, number in ipairs(numbers) do
    for _, rest in ipairs(ends) do names[#names + 1] = before .. number .. rest end
  end
  return names
end

---Returns the nodes of a list in Slurm's format.
---@param text string 'n[0-3,7],m1'
---@return string[]? nodes in the list's order; nil if the text is not such a list
---
---```lua
---local host_list = require 'rtrain.launch.host_list'
---assert(table.concat(host_list.expand('n[08-10],m1'), ' ') == 'n08 n09 n10 m1')
---```
function host_list.expand(text)
  local parts = split(text)
  if parts == nil then return nil end
  local hosts = {}
  for _, part in ipairs(parts) do
    local names = names_of(part)
    if names == nil or #hosts + #names > MOST then return nil end
    for _, name in ipairs(names) do hosts[#hosts + 1] = name end
  end
  return hosts
end

---Returns the number for each node of a list in Slurm's format.
---@param text string '2(x2),1'
---@return integer[]? counts one for each node; nil if the text is not such a list
---
---```lua
---local host_list = require 'rtrain.launch.host_list'
---assert(table.concat(host_list.counts '2(x2),1', ' ') == '2 2 1')
---```
function host_list.counts(text)
  local counts = {}
  for part in (text .. ','):gmatch('([^,]*),') do
    local count, times = part:match('^(%d+)%(x(%d+)%)$')
    if count == nil then count, times = part:match('^%d+$'), '1' end
    if count == nil or #counts + tonumber(times) > MOST then return nil end
    for _ = 1, tonumber(times) do counts[#counts + 1] = tonumber(count) end
  end
  return counts
end

return host_list
