-- An optimizer that computes on the CPU, for parameters on simulated GPUs, whose kernels compute nothing.
local torch = require 'torch'

local HostSGD = torch.optim.Optimizer:extend 'HostSGD'

function HostSGD:init(params) torch.optim.Optimizer.init(self, params, {lr = 0.1}) end

function HostSGD:step()
  for _, group in ipairs(self.param_groups) do
    for _, param in ipairs(group.params) do
      torch.no_grad(function() param:copy_(param:to 'cpu' - param.grad:to 'cpu' * group.lr) end)
    end
  end
end

return HostSGD
