-- rtrain/doc/written_name.lua: expands names as users write them: 'F.relu', 'x:view', 'ray.train.report'.

-- First part of a name → full path.
local ALIASES = {
  F = 'torch.nn.functional', nn = 'torch.nn', optim = 'torch.optim', data = 'torch.utils.data',
  dist = 'torch.distributed', init = 'torch.nn.init', lr_scheduler = 'torch.optim.lr_scheduler',
  autograd = 'torch.autograd', cuda = 'torch.cuda', train = 'rtrain', torchvision = 'vision',
  transforms = 'vision.transforms', datasets = 'vision.datasets', models = 'vision.models', Tensor = 'torch.Tensor',
  x = 'torch.Tensor', class = 'base.class', T = 'vision.transforms',
}

-- Usual names of objects in scripts → their class, if a member follows: 'trainer:fit', 'result.metrics'.
local OBJECTS = {
  trainer = 'rtrain.TorchTrainer', result = 'rtrain.Result', checkpoint = 'rtrain.Checkpoint', config = 'rtrain.ScalingConfig',
  context = 'TrainContext', shard = 'rtrain.data.DataIterator', dataset = 'rtrain.data.Dataset',
  ds = 'rtrain.data.Dataset', loader = 'torch.utils.data.DataLoader', sampler = 'torch.utils.data.DistributedSampler',
  model = 'torch.nn.Module', net = 'torch.nn.Module', optimizer = 'torch.optim.Optimizer',
  scheduler = 'torch.optim.lr_scheduler.LRScheduler', scaler = 'torch.amp.GradScaler', loss = 'torch.Tensor',
  tensor = 'torch.Tensor',
}

local function split(text)
  local parts = {}
  for part in text:gmatch '[^.]+' do parts[#parts + 1] = part end
  return parts
end

---@param text string
---@return string[] parts {'torch', 'nn', 'functional', 'relu'}; a name without its module stays as it is
---@return boolean is_object whether the first part is the usual name of an object
---
---```lua
---local written_name = require 'rtrain.doc.written_name'
---assert(table.concat(written_name 'x:view', '.') == 'torch.Tensor.view')
---assert(table.concat(written_name 'trainer:fit', '.') == 'rtrain.TorchTrainer.fit')
---```
local function written_name(text)
  local plain = text:gsub('[%s()]', ''):gsub(':', '.'):gsub('^ray%.train', 'rtrain'):gsub('^ray%.data', 'rtrain.data')
  local parts = split(plain)
  local object = #parts > 1 and OBJECTS[parts[1]] or nil
  local alias = object or ALIASES[parts[1] or '']
  -- `x` alone does not mean a tensor.
  if not alias or (parts[1] == 'x' and #parts == 1) then return parts, false end
  return split(alias .. plain:sub(#parts[1] + 1)), object ~= nil
end

return written_name
