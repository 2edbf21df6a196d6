-- rtrain/data/executor/plan.lua: Plan: a source and the operators applied to it. A plan is immutable plain data that is
-- sent to workers.

local class = require 'base.class'
local fragments = require 'rtrain.data.rows.fragments'

---A source and operators. Only an Execution runs them.
---@class data.Plan
---@field source data.Source
---@field operators data.Operator[]
---@overload fun(source: data.Source, operators?: data.Operator[]): data.Plan
local Plan = class('Plan')

function Plan:init(source, operators) self.source, self.operators = source, operators or {} end

---Returns a plan with an additional operator.
---@param operator data.Operator
---@return data.Plan
function Plan:with(operator)
  local operators = {}
  for i, own in ipairs(self.operators) do operators[i] = own end
  operators[#operators + 1] = operator
  return Plan(self.source, operators)
end

---Returns the plan of the first operators.
---@param count integer
---@return data.Plan
function Plan:first(count)
  local operators = {}
  for i = 1, count do operators[i] = self.operators[i] end
  return Plan(self.source, operators)
end

---Returns the place of the last global operator, 0 if there is none.
---@return integer
function Plan:last_global()
  for i = #self.operators, 1, -1 do
    if self.operators[i].is_global then return i end
  end
  return 0
end

---Returns whether all operators are fused and each row of the source becomes one row, in order.
---@return boolean
function Plan:preserves_rows()
  for _, operator in ipairs(self.operators) do
    if operator.is_global or not operator.preserves_rows then return false end
  end
  return true
end

local function rows_of_source(source, may_count)
  local rows = source:num_rows()
  if rows ~= nil or not may_count then return rows end
  return fragments.num_rows(fragments.counted(source, source:fragments{seed = 0, epoch = 0}))
end

---Returns the number of rows after the first `count` operators (default: all), nil if that requires reading the data.
---@param may_count? boolean whether files may be read once to count their rows
---@param count? integer
---@return integer|nil
function Plan:num_rows(may_count, count)
  local rows = rows_of_source(self.source, may_count)
  for i = 1, count or #self.operators do
    if rows == nil then return nil end
    rows = self.operators[i]:rows_of(rows, function(plan) return plan:num_rows(may_count) end)
  end
  return rows
end

---Returns the number of rows to which `slices` of an execution refer: those of the source, or those that the last
---global operator returns. nil if that requires reading the data.
---@return integer|nil
function Plan:sliceable_rows() return self:num_rows(true, self:last_global()) end

---Returns whether each row to which `slices` refer becomes one row.
---@return boolean
function Plan:keeps_slices()
  for i = self:last_global() + 1, #self.operators do
    if not self.operators[i].preserves_rows then return false end
  end
  return true
end

---Returns whether a part of the rows to which `slices` refer costs as much as any other part with as many rows, wherever
---its rows are.
---@return boolean
function Plan:gives_any_rows()
  local place = self:last_global()
  if place == 0 then return self.source:gives_any_rows() end
  return self.operators[place]:gives_any_rows(self:first(place - 1))
end

---Returns whether a rank that has the rows of some steps saves the work behind the last global operator, which reads all its
---input anyway.
---@return boolean
function Plan:selects_steps()
  local place = self:last_global()
  return place > 0 and not self.operators[place].runs_inputs and self:keeps_slices()
end

---Returns the columns if they are known without running anything.
---@return {name: string, type: string}[]|nil
function Plan:schema()
  local schema = self.source:schema()
  for _, operator in ipairs(self.operators) do
    if schema == nil then return nil end
    schema = operator:schema_of(schema, function(plan) return plan:schema() end)
  end
  return schema
end

---Returns whether seed or epoch change the rows or their order.
---@return boolean
function Plan:is_random()
  if self.source.is_random then return true end
  for _, operator in ipairs(self.operators) do
    if operator:is_random() then return true end
  end
  return false
end

return Plan
