-- rtrain/data/dataset/mix_stopping_condition.lua: MixStoppingCondition: when Dataset:mix ends.

---When Dataset:mix ends; the values work as strings too. Ray equivalent: ray.data.MixStoppingCondition.
---@class data.MixStoppingCondition
---@field STOP_ON_LONGEST_DROP string after the last row of all datasets: an exhausted dataset drops out, and the
---  others share the rest of the rows by their weights
---@field STOP_ON_SHORTEST string when the next row would come from an exhausted dataset
return require 'base.namespace'('data.MixStoppingCondition', nil, {
  STOP_ON_LONGEST_DROP = 'stop_on_longest_drop',
  STOP_ON_SHORTEST = 'stop_on_shortest',
})
