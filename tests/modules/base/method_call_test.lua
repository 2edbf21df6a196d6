-- A dot instead of a colon in a method call: the error names the method and shows the correct call.
local lu = require 'luaunit'
local class = require 'base.class'
local message_of = require('refusal').message_of
local torch = require 'torch'
local train = require 'rtrain'
local nn, data = torch.nn, torch.utils.data

local Net = nn.Module:extend('Net')
function Net:init() self.fc1 = nn.Linear(4, 8) end
function Net:forward(x) return self.fc1(x) end

TestMethodCall = {}

function TestMethodCall:test_what_users_of_python_write()
  local m, x = Net(), torch.ones(2, 4)
  local o = torch.optim.SGD(m:parameters(), {lr = 0.1})
  local loader = data.DataLoader(data.TensorDataset(x))
  local loss = m(x):sum()
  local trainer = train.TorchTrainer {train_loop_per_worker = function() end}
  local layers, averaged = nn.ModuleList {}, torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2))
  local cases = {
    ['m:forward(...)'] = function() m.forward(x) end,
    ['m:parameters()'] = function() m.parameters() end,
    ['m:train()'] = function() m.train() end,
    ['m:to(...)'] = function() m.to('cpu') end,
    ['m.fc1:state_dict()'] = function() m.fc1.state_dict() end,
    ['o:step()'] = function() o.step() end,
    ['o:zero_grad()'] = function() o.zero_grad() end,
    ['loader:enumerate()'] = function() local _ = loader.enumerate() end,
    ['loss:backward()'] = function() loss.backward() end,
    ['loss:item()'] = function() local _ = loss.item() end,
    ['x:sum(...)'] = function() local _ = x.sum(0) end,
    ['x:mul(...)'] = function() local _ = x.mul(2) end,
    ['x:len()'] = function() local _ = x.len() end,
    ['x:norm()'] = function() local _ = x.norm() end,
    ['trainer:fit()'] = function() trainer.fit() end,
    ['layers:append(...)'] = function() layers.append(m) end,
    ['averaged:update_parameters(...)'] = function() averaged.update_parameters(m) end,
  }
  for text, case in pairs(cases) do
    local name = text:match ':(.-)%('
    local message, err = message_of(case)
    lu.assertStrContains(message, ("'%s' is a method: write %s"):format(name, text))
    lu.assertEquals(err.code, 'argument')
    lu.assertStrContains(message, 'method_call_test.lua:')
  end
end

function TestMethodCall:test_steps_that_are_watched()
  local o = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 0.1})
  local scheduler = torch.optim.lr_scheduler.StepLR(o, 1)
  lu.assertStrContains(message_of(function() o.step() end), "'step' is a method: write o:step()")
  lu.assertStrContains(message_of(function() scheduler.step() end), 'write scheduler:step()')
  local generator = torch.Generator()
  lu.assertStrContains(message_of(function() generator.manual_seed(1) end), 'write generator:manual_seed(...)')
end

function TestMethodCall:test_a_dot_that_is_meant_is_no_slip()
  local x, y = torch.ones(2), torch.ones(2)
  lu.assertEquals(x.add(x, y):tolist(), {2, 2})
  lu.assertStrContains(message_of(function() local _ = x.add(x, torch.ones(3)) end), 'add: ')
  local Other = Net:extend('Other')
  function Other:init() Net.init(self); self.activation = torch.relu end
  local other = Other()
  lu.assertStrContains(message_of(function() other.activation('text') end), 'relu: ')
  lu.assertEquals(Net.forward(other, torch.ones(1, 4)).shape, {1, 8})
end

function TestMethodCall:test_a_forward_that_does_not_use_its_self_is_told_too()
  local Activation, Pair = nn.Module:extend('Activation'), nn.Module:extend('Pair')
  function Activation:forward(x) return torch.relu(x) end
  function Pair:forward(a, _) return a end
  local activation, pair, x = Activation(), Pair(), torch.ones(1)
  lu.assertStrContains(message_of(function() activation.forward(x) end), "'forward' is a method: write activation:forward(...)")
  lu.assertStrContains(message_of(function() pair.forward(x, x) end), "'forward' is a method: write pair:forward(...)")
  lu.assertStrContains(message_of(function() pair.forward() end), "'forward' is a method: write pair:forward()")
  lu.assertStrContains(message_of(function() Activation().forward(x) end), "'forward' is a method: write module:forward(...)")
  lu.assertEquals(activation:forward(x):item(), 1)
  local Softer = Activation:extend('Softer')
  function Softer:forward(input) return Activation.forward(self, input) end
  lu.assertEquals(Softer()(x):item(), 1)
  local unbound = Activation.forward
  Softer.forward = unbound
  lu.assertEquals(Softer()(x):item(), 1)
  -- In a class that is not a module, forward is an ordinary method: autograd.Function's begins with a context.
  local Twice = torch.autograd.Function:extend('Twice')
  function Twice.forward(self, value) self:save_for_backward(value) return value * 2 end
  function Twice.backward(_, grad) return grad * 2 end
  lu.assertEquals(Twice.apply(torch.ones(1, {requires_grad = true})):item(), 2)
end

-- Returns the names of a namespace that lists them.
local function names_of(namespace)
  local meta = getmetatable(namespace)
  if meta and meta.__names then return meta.__names(namespace) end
  local names = {}
  for name in pairs(namespace) do names[#names + 1] = name end
  return names
end

local NAMESPACES = {
  nn, nn.utils, torch.optim, torch.optim.lr_scheduler, torch.optim.swa_utils, data, torch.amp, torch.profiler, train,
  require 'rtrain.data',
  require 'vision.transforms', require 'vision.datasets', require 'vision.models',
}

local stranger = require 'base.class'('Stranger')()  -- an instance of an unrelated class

function TestMethodCall:test_every_method_of_every_public_class_checks_its_self()
  local classes, methods = 0, 0
  for _, namespace in ipairs(NAMESPACES) do
    for _, name in ipairs(names_of(namespace)) do
      local ok, of = pcall(function() return namespace[name] end)
      if ok and class.is_class(of) then
        classes = classes + 1
        for key, method in pairs(of) do
          local is_method = type(method) == 'function' and not key:find '^_' and debug.getlocal(method, 1) == 'self'
          if is_method and key ~= 'init' and key ~= 'forward' then
            methods = methods + 1
            for _, wrong in ipairs {{}, {'text'}, {{}}, {torch.ones(1)}, {stranger}} do
              lu.assertStrContains(message_of(method, wrong[1]), ("'%s' is a method: write"):format(key))
            end
          end
        end
      end
    end
  end
  lu.assertTrue(classes > 200 and methods > 200, ('%d classes, %d methods'):format(classes, methods))
end

os.exit(lu.LuaUnit.run(), true)
