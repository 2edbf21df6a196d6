"""A script whose network gets an input of a wrong size."""

NET = """
    local torch = require 'torch'
    local nn, F = torch.nn, torch.nn.functional
    local Net = nn.Module:extend('Net')
    function Net:init()
      self.fc1 = nn.Linear(4, 8)
      self.fc2 = nn.Linear(9, 2)
    end
    function Net:forward(x)
      x = F.relu(self.fc1(x))
      return self.fc2(x)
    end
    local function step(model)
      local out = model(torch.ones(3, 4))
      return out:sum()
    end
"""
