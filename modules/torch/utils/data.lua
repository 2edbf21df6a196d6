-- torch/utils/data.lua: datasets, samplers and the loader. Each file is read when its first class is used.

return require 'rtrain.namespace'('torch.utils.data', {
  files = {
    {'torch.utils.data.dataset', 'Dataset', 'TensorDataset', 'Subset', 'ConcatDataset', 'random_split'},
    {'torch.utils.data.sampler', 'Sampler', 'SequentialSampler', 'RandomSampler', 'SubsetRandomSampler',
     'WeightedRandomSampler', 'BatchSampler'},
    {'torch.utils.data.distributed', 'DistributedSampler'},
    {'torch.utils.data.collate', 'default_collate'},
    {'torch.utils.data.worker', 'get_worker_info'},
    {'torch.utils.data.dataloader', 'DataLoader'},
  },
})
