-- base/record.lua: tables from C++ with the fields of a class: other fields cannot be read or set.

local args = require 'base.args'
local errors = require 'base.errors'

local record = {}

---Makes a table strict.
---@param name string name of the class, for messages
---@param fields string[] names of all fields
---@param given table the values; a field without a value is nil
---@return table given
---Raises code 'argument' for an unknown field in `given`. Reading or setting an unknown field later also raises it.
function record.of(name, fields, given)
  args.options(given, fields, name)
  local known = {}
  for _, field in ipairs(fields) do known[field] = true end
  local function check(field)
    if known[field] then return end
    errors.raise('argument', ("%s: unknown field '%s'%s"):format(name, tostring(field),
      errors.suggestion(tostring(field), fields)))
  end
  return setmetatable(given, {
    __index = function(_, field) check(field) end,
    __newindex = function(self, field, value)
      check(field)
      rawset(self, field, value)
    end,
  })
end

return record
