-- rtrain/data/dataset/mix_stopping_condition.lua: MixStoppingCondition: where Dataset:mix ends.

---Where Dataset:mix ends; the values work as strings too. Ray equivalent: ray.data.MixStoppingCondition.
---@class data.MixStoppingCondition
---@field STOP_ON_LONGEST_DROP string with the last row of all: a dataset that has no rows left drops out, and the others share
---  the rest of the rows by their weights
---@field STOP_ON_SHORTEST string where the next row is that of a dataset which has none left
return require 'base.namespace'('data.MixStoppingCondition', nil, {
  STOP_ON_LONGEST_DROP = 'stop_on_longest_drop',
  STOP_ON_SHORTEST = 'stop_on_shortest',
})
