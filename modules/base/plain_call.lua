-- base/plain_call.lua: makes a function with declared parameters that is fast for calls without keywords.
--
-- General binding of arguments needs tables and loops: half a microsecond, as much as a small operator. For a call with
-- only positional arguments, generated code makes the table of its parameters in one step.

local TEMPLATE = [[
local bind, fn, defaults, select, type = ...
local %(defaults) = %(picked)
return function(...)
  local count = select('#', ...)
  if count < %(required) or count > %(count) or type((select(-1, ...))) == 'table' then return fn(bind(...)) end
  local %(names) = ...
  if %(missing) then return fn(bind(...)) end
  %(fill)
  return fn({%(fields)})
end
]]

local function listed(count, text)
  local out = {}
  for i = 1, count do out[i] = text:gsub('#', tostring(i)) end
  return out
end

local function code_of(signature)
  local count, required = #signature.names, 0
  local missing, fill, fields = {}, {}, {}
  for i, name in ipairs(signature.names) do
    if signature.required[i] then
      required = i
      missing[#missing + 1] = ('a%d == nil'):format(i)
    elseif signature.defaults[name] ~= nil then
      fill[#fill + 1] = ('if a%d == nil then a%d = d%d end'):format(i, i, i)
    end
    fields[i] = ('[%q] = a%d'):format(name, i)
  end
  local parts = {
    count = count, required = math.max(required, 1),
    names = table.concat(listed(count, 'a#'), ', '), defaults = table.concat(listed(count, 'd#'), ', '),
    picked = table.concat(listed(count, 'defaults[#]'), ', '),
    missing = #missing > 0 and table.concat(missing, ' or ') or 'false',
    fill = table.concat(fill, '\n  '), fields = table.concat(fields, ', '),
  }
  return (TEMPLATE:gsub('%%%((%l+)%)', parts))
end

---@param signature table of args.signature
---@param fn fun(bound: table): any
---@return fun(...): any call binds its arguments and calls fn
return function(signature, fn)
  local defaults = {}
  for i, name in ipairs(signature.names) do defaults[i] = signature.defaults[name] end
  local function bind(...) return signature:bind(...) end
  return assert(loadstring(code_of(signature), '@rtrain://base/plain_call'))(bind, fn, defaults, select, type)
end
