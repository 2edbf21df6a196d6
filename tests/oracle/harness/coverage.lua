-- Counts the ATen operators that the cases call.

local C = require 'torch._C'

local coverage = {}

local function totals()
  local names, overloads = 0, 0
  for _, name in ipairs(C.op_names()) do
    names, overloads = names + 1, overloads + #C.op_signatures(name)
  end
  return names, overloads
end

---Returns for example "1895 cases: 540 of 1250 operators, 800 of 1700 overloads": a case counts for the overload that
---its arguments select.
---@param cases table[]
---@return string
function coverage.summary(cases)
  local names, overloads, counts = {}, {}, {names = 0, overloads = 0}
  for _, case in ipairs(cases) do
    local args = case.call and not case.says and case:inputs()
    local ok, overload = pcall(C.op_overload, case.call or '', unpack(args or {}, 1, args and args.n or 0))
    if args and ok and overload then
      if not names[case.call] then names[case.call], counts.names = true, counts.names + 1 end
      if not overloads[overload] then overloads[overload], counts.overloads = true, counts.overloads + 1 end
    end
  end
  local all_names, all_overloads = totals()
  return ('%d cases: %d of %d operators, %d of %d overloads'):format(
    #cases, counts.names, all_names, counts.overloads, all_overloads)
end

return coverage
