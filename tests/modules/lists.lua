-- Lists of numbers.
local lists = {}

-- Returns the list first, …, last - 1.
function lists.range(first, last)
  local out = {}
  for i = first, last - 1 do out[#out + 1] = i end
  return out
end

-- Returns the list 0, …, n - 1.
function lists.numbers(n) return lists.range(0, n) end

function lists.sorted(list)
  local out = {unpack(list)}
  table.sort(out)
  return out
end

return lists
