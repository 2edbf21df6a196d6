-- torch/utils/data.lua: datasets, samplers and the loader. Each file is read when its first class is used.

local args = require 'rtrain.args'

local FILES = {
  {'torch.utils.data.dataset', 'Dataset', 'TensorDataset', 'Subset', 'ConcatDataset', 'random_split'},
  {'torch.utils.data.sampler', 'Sampler', 'SequentialSampler', 'RandomSampler', 'SubsetRandomSampler',
   'WeightedRandomSampler', 'BatchSampler'},
  {'torch.utils.data.distributed', 'DistributedSampler'},
  {'torch.utils.data.collate', 'default_collate'},
  {'torch.utils.data.worker', 'get_worker_info'},
  {'torch.utils.data.dataloader', 'DataLoader'},
}

local file_of, names = {}, {}
for _, entry in ipairs(FILES) do
  for i = 2, #entry do
    file_of[entry[i]] = entry[1]
    names[#names + 1] = entry[i]
  end
end

return setmetatable({}, {
  __index = function(self, name)
    if type(name) ~= 'string' then return nil end
    if not file_of[name] then args.no_such('torch.utils.data', name, names) end
    local found = require(file_of[name])[name]
    rawset(self, name, found)
    return found
  end,
})
