-- Averages of weights. tests/oracle compares their values with PyTorch's.
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'
local nn, swa_utils = torch.nn, torch.optim.swa_utils

local message_of = require('refusal').message_of

TestSwa = {}

function TestSwa:test_average_is_a_module_of_its_own()
  local model = nn.Linear(2, 1)
  local average = swa_utils.AveragedModel(model)
  local first = model.weight:detach():clone()
  average:update_parameters(model)
  nn.init.zeros_(model.weight)
  lu.assertTrue(torch.equal(average.module.weight, first))
  lu.assertEquals(average(torch.ones(3, 2)).shape, torch.ones(3, 1).shape)
  lu.assertEquals(ordered.keys(average:state_dict()), {'n_averaged', 'module.weight', 'module.bias'})
  local other = swa_utils.AveragedModel(nn.Linear(2, 1))
  other:load_state_dict(average:state_dict())
  other:update_parameters(model)
  lu.assertTrue(torch.allclose(other.module.weight, first / 2))
end

function TestSwa:test_update_bn_leaves_the_model_as_it_was()
  local model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, {momentum = 0.3})):eval()
  local data = torch.utils.data
  swa_utils.update_bn(data.DataLoader(data.TensorDataset(torch.randn(12, 2), torch.zeros(12)), {batch_size = 4}), model)
  lu.assertEquals({model.training, model[2].momentum, model[2].num_batches_tracked:item()}, {false, 0.3, 3})
  lu.assertStrContains(message_of(swa_utils.update_bn, data.DataLoader(data.TensorDataset(torch.randn(2, 5))), model), 'linear')
  lu.assertEquals({model.training, model[2].momentum}, {false, 0.3})
end

function TestSwa:test_refuses_what_is_wrong()
  local model = nn.Linear(1, 1)
  local both = {avg_fn = swa_utils.get_ema_avg_fn(), multi_avg_fn = swa_utils.get_ema_multi_avg_fn()}
  lu.assertStrContains(message_of(swa_utils.AveragedModel, model, both), 'only one of avg_fn and multi_avg_fn')
  lu.assertStrContains(message_of(swa_utils.get_ema_avg_fn, 1.5), 'invalid decay value 1.5')
  local average = swa_utils.AveragedModel(model)
  lu.assertStrContains(message_of(average.update_parameters, average, nn.Identity()), 'the model has 0 tensors')
end

os.exit(lu.LuaUnit.run(), true)
