-- torch/optim/swa_utils/update_bn.lua: recomputes the statistics of batch normalization for averaged weights.

local torch = require 'torch'

-- Returns the layers that track the statistics of their batches.
local function normalizations(model)
  local out = {}
  for _, module in ipairs(model:modules()) do
    if module.reset_running_stats and module.track_running_stats and module.num_batches_tracked then
      out[#out + 1] = {module = module, momentum = module.momentum}
    end
  end
  return out
end

local function run(loader, model, device)
  for batch in loader do
    local input = type(batch) == 'table' and batch[1] or batch
    model(device and input:to(device) or input)
  end
end

---Runs the model over the first value of each batch of the loader to set the running statistics of its BatchNorm
---layers, which averaged weights need. The layers' momentum and the mode are restored, also after an error. PyTorch
---equivalent: torch.optim.swa_utils.update_bn.
---
---```lua
---local torch = require 'torch'
---local data = torch.utils.data
---local model = torch.nn.Sequential(torch.nn.BatchNorm1d(1))
---local loader = data.DataLoader(data.TensorDataset(torch.arange(8):view(8, 1):float()), {batch_size = 4})
---torch.optim.swa_utils.update_bn(loader, model)
---assert(model[1].running_mean:item() == 3.5)
---```
---@param loader any a DataLoader, or another value for a for loop
---@param model nn.Module
---@param device? string the device to which batches are moved
local function update_bn(loader, model, device)
  local layers, was_training = normalizations(model), model.training
  if #layers == 0 then return end
  model:train()
  for _, layer in ipairs(layers) do
    layer.module:reset_running_stats()
    layer.module.momentum = false  -- the mean over all batches
  end
  local ok, err = pcall(torch.no_grad, run, loader, model, device)
  for _, layer in ipairs(layers) do layer.module.momentum = layer.momentum end
  model:train(was_training)
  if not ok then error(err, 0) end
end

return {update_bn = update_bn}
