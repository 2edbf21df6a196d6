-- rtrain/data/operators/operator.lua: one step of a plan.
--
-- There are two kinds. A fused operator works on the blocks of one fragment at a time, in the thread that reads it. A global
-- one (`is_global`) sees the blocks of all fragments, in order, in the consuming thread.

local class = require 'base.class'

---Where a stream of blocks lies, for messages and random numbers.
---@class data.Position
---@field label string the fragment, '' where there is nothing to say
---@field number integer the fragment's number
---@field first_row integer the number of the stream's first row in the fragment
---@field seed integer of the execution and epoch

---Base of the operators.
---@class data.Operator
local Operator = class('Operator')

---The name in stats and errors: 'Map(to_dict)'.
Operator.name = 'Operator'

---Whether it works on the stream of all blocks.
Operator.is_global = false

---Whether a global operator runs its inputs itself, so that only what it needs of them is run: it has `stream_of`.
Operator.runs_inputs = false

---Whether each row becomes one row, in the same order.
Operator.preserves_rows = false

---Whether what becomes of a row depends on that row alone, so that the operator may as well follow a shuffle.
Operator.row_wise = false

---Whether it calls a function of the user.
Operator.calls_user = false

---What becomes of a block: fused operators define this or `stream`.
---@param block data.Block
---@return data.Block
function Operator:apply(block)
  require('base.errors').raise('internal', ('%s has no apply(%s)'):format(self.name, tostring(block)))
end

---The operator's blocks for those of a fragment.
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

---The operator's blocks, of one that runs its inputs.
---@param plan data.Plan what comes before the operator
---@param execution data.Execution
---@param options {slices: data.Interval[]?, part: {rank: integer, world_size: integer}?} only these rows of what it gives,
---  or a rank's part of what goes in
---@return fun(): data.Block|nil
function Operator:stream_of(plan, execution, options)
  require('base.errors').raise('internal', ('%s has no stream_of(%s, %s, %s)'):format(self.name, tostring(plan),
    tostring(execution), tostring(options)))
end

---The columns that become of these, or nil when only the data can tell.
---@param schema {name: string, type: string}[]
---@return {name: string, type: string}[]|nil
function Operator:schema_of(schema) return schema and nil end

---The number of rows that become of that many, or nil when only the data can tell.
---@param num_rows integer
---@return integer|nil
function Operator:rows_of(num_rows) return self.preserves_rows and num_rows or nil end

---Whether seed or epoch change its rows or their order.
---@return boolean
function Operator:is_random() return false end

return Operator
