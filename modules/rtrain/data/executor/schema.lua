-- rtrain/data/executor/schema.lua: the column names and types of a plan.

local class = require 'base.class'
local executor = require 'rtrain.data.executor'

---Names and types of columns: a list of {name, type} with the fields `names` and `types`; prints as a table.
---@class data.Schema
---@field names string[]
---@field types string[]
local Schema = class('Schema')

function Schema:init(entries)
  self.names, self.types = {}, {}
  for i, entry in ipairs(entries) do self[i], self.names[i], self.types[i] = entry, entry.name, entry.type end
end

function Schema:__tostring()
  local width = 6
  for _, name in ipairs(self.names) do width = math.max(width, #name) end
  local format = '%-' .. width .. 's  %s'
  local lines = {format:format('Column', 'Type'), format:format(('-'):rep(6), ('-'):rep(4))}
  for i, name in ipairs(self.names) do lines[#lines + 1] = format:format(name, self.types[i]) end
  return table.concat(lines, '\n')
end

-- Returns the schema of the first block, which is computed.
local function schema_of_first_block(plan)
  local execution = executor.execute(plan, {threads = 0, max_rows = 1, seed = 0})
  local block = execution:next()
  execution:close()
  return block and block:schema()
end

---Returns the columns of a plan. If user functions make them, the first rows are computed.
---@param plan data.Plan
---@return data.Schema|nil schema nil if there are no rows to compute it from
local function schema_of(plan)
  local entries = plan:schema() or schema_of_first_block(plan)
  return entries and Schema(entries)
end

return schema_of
