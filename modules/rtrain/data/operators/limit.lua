-- rtrain/data/operators/limit.lua: limit: the first rows.

local Operator = require 'rtrain.data.operators.operator'

---Returns the first rows of the stream; later rows are not computed.
---@class data.Limit: data.Operator
local Limit = Operator:extend('Limit')
Limit.is_global = true
Limit.preserves_rows = false

function Limit:init(limit) self._limit, self.name = limit, ('Limit(%d)'):format(limit) end

function Limit:stream(upstream)
  local missing = self._limit
  return function()
    if missing == 0 then return nil end
    local block = upstream()
    if block == nil then return nil end
    if block:num_rows() > missing then block = block:narrow(0, missing) end
    missing = missing - block:num_rows()
    return block
  end
end

function Limit:schema_of(schema) return schema end

function Limit:rows_of(num_rows) return math.min(num_rows, self._limit) end

return Limit
