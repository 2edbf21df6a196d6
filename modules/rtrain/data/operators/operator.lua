-- rtrain/data/operators/operator.lua: Operator: one step of a plan.
--
-- There are two kinds. A fused operator works on the blocks of one fragment at a time, in the thread that reads it. A
-- global operator (`is_global`) sees the blocks of all fragments, in order, in the consuming thread.

local class = require 'base.class'

---The place of a stream of blocks, for messages and random numbers.
---@class data.Position
---@field label string the fragment, '' if unknown
---@field number integer the fragment's number
---@field first_row integer the number of the stream's first row in the fragment
---@field numbers? torch.Tensor int64: numbers of all rows, counted from `first_row`; nil: neighbouring rows
---@field seed integer of the execution and epoch

---Base of the operators.
---@class data.Operator
local Operator = class('Operator')

---The name in stats and errors: 'Map(to_dict)'.
Operator.name = 'Operator'

---Whether the operator works on the stream of all blocks.
Operator.is_global = false

---Whether a global operator executes its inputs itself, by `stream_of`, so that only the needed part of them runs.
Operator.runs_inputs = false

---Whether each row becomes one row, in the same order.
Operator.preserves_rows = false

---Whether the result for a row depends on that row alone, so that the operator may also run after a shuffle.
Operator.row_wise = false

---Whether the operator calls a user function.
Operator.calls_user = false

---Returns whether a part of a global operator's rows costs as much as any other part with as many rows, wherever its rows
---are. Most operators read all their input anyway.
---@param plan data.Plan the plan before the operator
---@return boolean
function Operator:gives_any_rows(plan) return plan ~= nil and self.is_global end

---Returns the result for a block. Fused operators define this or `stream`.
---@param block data.Block
---@return data.Block
function Operator:apply(block)
  require('base.errors').raise('internal', ('%s has no apply(%s)'):format(self.name, tostring(block)))
end

---Returns the operator's blocks for those of a fragment.
---@param upstream fun(): data.Block|nil
---@param position data.Position
---@return fun(): data.Block|nil
function Operator:stream(upstream, position)
  return function()
    for block in upstream do
      local out = self:apply(block, position)
      if out:num_rows() > 0 then return out end
    end
  end
end

---Returns the operator's blocks, for an operator that executes its inputs itself.
---@param plan data.Plan the plan before the operator
---@param execution data.Execution
---@param options {slices: data.Slices?, part: {rank: integer, world_size: integer}?} only these rows of the
---  result, or a rank's part of the input
---@return fun(): data.Block|nil
function Operator:stream_of(plan, execution, options)
  require('base.errors').raise('internal', ('%s has no stream_of(%s, %s, %s)'):format(self.name, tostring(plan),
    tostring(execution), tostring(options)))
end

---Returns the resulting columns, or nil if that requires reading the data.
---@param schema {name: string, type: string}[]
---@return {name: string, type: string}[]|nil
function Operator:schema_of(schema) return schema and nil end

---Returns the resulting number of rows, or nil if that requires reading the data.
---@param num_rows integer
---@return integer|nil
function Operator:rows_of(num_rows) return self.preserves_rows and num_rows or nil end

---Returns whether seed or epoch change the rows or their order.
---@return boolean
function Operator:is_random() return false end

return Operator
