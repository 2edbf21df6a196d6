-- torch/utils/data/list_sampler.lua: ListSampler: a sampler made of a script's list of indices, or of batches of
-- indices.

local class = require 'base.class'
local torch = require 'torch'
local Sampler = require('torch.utils.data.sampler').Sampler

-- Has the same order in every epoch.
local ListSampler = Sampler:extend('ListSampler')

function ListSampler:init(list) self.list = list end

function ListSampler:len() return #self.list end

function ListSampler:iter()
  local list, i = self.list, 0
  return function()
    i = i + 1
    return list[i]
  end
end

---Accepts the samplers of a DataLoader: any object with iter() and len(), a list, or a tensor of indices.
---@param given any
---@return any sampler
local function as_sampler(given)
  if torch.is_tensor(given) then return ListSampler(given:tolist()) end
  local is_list = type(given) == 'table' and not class.of(given) and given.iter == nil and given.indices == nil
  return is_list and ListSampler(given) or given
end

return as_sampler
