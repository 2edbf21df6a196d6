-- torch.serialization: save and load. Functions that would let a file run code are refused by name.

local lu = require 'luaunit'
local torch = require 'torch'

TestSerialization = {}

function TestSerialization.test_save_and_load_are_those_of_torch()
  lu.assertIs(torch.serialization.save, torch.save)
  lu.assertIs(torch.serialization.load, torch.load)
  local path = os.tmpname()
  torch.serialization.save({weight = torch.ones(2, 3)}, path)
  local state = torch.serialization.load(path)
  os.remove(path)
  lu.assertEquals(state.weight:tolist(), {{1, 1, 1}, {1, 1, 1}})
end

function TestSerialization.test_what_would_allow_code_of_a_file_is_refused()
  for _, name in ipairs {'add_safe_globals', 'safe_globals', 'clear_safe_globals', 'get_safe_globals'} do
    local _, problem = pcall(function() return torch.serialization[name] end)
    lu.assertStrContains(tostring(problem), ('torch.serialization.%s is not in this version: no class or function of a file '
      .. 'is ever used'):format(name))
  end
  local _, problem = pcall(function() return torch.serialization.get_unsafe_globals_in_checkpoint end)
  lu.assertStrContains(tostring(problem), 'torch.load names the class or function that it refuses')
end

function TestSerialization.test_an_object_among_the_values_is_refused()
  local net = torch.nn.Linear(2, 1)
  local optimizer = torch.optim.SGD(net:parameters(), {lr = 0.1})
  local loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 1)))
  local Point = require 'base.class' 'Point'
  local path = os.tmpname()
  for _, case in ipairs{
    {{model = net, epoch = 3}, 'value.model: a Linear cannot be saved: save its state_dict()'},
    {{epoch = 3, parts = {1, optimizer}}, 'value.parts[2]: a SGD cannot be saved: save its state_dict()'},
    {{scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)},
     'value.scheduler: a StepLR cannot be saved: save its state_dict()'},
    {{loader = loader}, 'value.loader: a DataLoader cannot be stored here'},
    {{point = Point()}, 'value.point: a Point cannot be stored here'},
    {net, 'torch.save: a Linear cannot be saved: save its state_dict()'},
  } do
    local value, text = unpack(case)
    for _, save in ipairs{torch.save, require('rtrain').async_save} do
      local ok, problem = pcall(save, value, path)
      lu.assertFalse(ok)
      lu.assertEquals(problem.code, 'argument')
      lu.assertStrContains(tostring(problem), (text:gsub('^torch%.save: ', '')))
    end
  end
  local size = net.weight:size()
  torch.save({model = net:state_dict(), optimizer = optimizer:state_dict(), size = size, list = torch.list{}}, path)
  local state = torch.load(path)
  os.remove(path)
  lu.assertEquals(state.model.weight.shape, {1, 2})
  lu.assertEquals(state.size, {1, 2})
end

function TestSerialization.test_a_wrong_name_gets_the_near_one()
  local _, problem = pcall(function() return torch.serialization.lod end)
  lu.assertStrContains(tostring(problem), "did you mean 'load'?")
end

os.exit(lu.LuaUnit.run())
