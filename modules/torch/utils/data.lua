-- torch/utils/data.lua: datasets, samplers and the loader. Each file is read when its first class is used.

return require 'base.namespace'('torch.utils.data', {
  files = {
    {'torch.utils.data.dataset', 'Dataset', 'IterableDataset', 'TensorDataset', 'Subset', 'random_split'},
    {'torch.utils.data.combined', 'ConcatDataset', 'StackDataset', 'ChainDataset'},
    {'torch.utils.data.sampler', 'Sampler', 'SequentialSampler', 'RandomSampler', 'SubsetRandomSampler',
     'WeightedRandomSampler'},
    {'torch.utils.data.batch_sampler', 'BatchSampler'},
    {'torch.utils.data.distributed', 'DistributedSampler', 'DistributedSamplerWrapper'},
    {'torch.utils.data.collate', 'default_collate', 'default_convert'},
    {'torch.utils.data.worker', 'get_worker_info', 'sample_generator'},
    {'torch.utils.data.dataloader', 'DataLoader'},
  },
  modules = {distributed = 'torch.utils.data.distributed'},
})
