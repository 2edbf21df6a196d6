-- torch.nn.utils.parameters_count and summary.
local lu = require 'luaunit'
local torch = require 'torch'
local nn = torch.nn

local message_of = require('refusal').message_of

TestSummary = {}

local function model() return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 10)) end

function TestSummary.test_parameters_are_counted()
  local net = model()
  lu.assertEquals(nn.utils.parameters_count(net), 40 + 8 + 650)
  net[1]:requires_grad_(false)
  lu.assertEquals(nn.utils.parameters_count(net, {trainable_only = true}), 8 + 650)
  local shared = nn.Linear(3, 3)
  lu.assertEquals(nn.utils.parameters_count(nn.Sequential(shared, shared)), 12)
  lu.assertStrContains(message_of(nn.utils.parameters_count, torch.ones(1)), 'expected an nn.Module, got Tensor')
end

function TestSummary.test_rows_and_text()
  local net = model()
  local found = nn.utils.summary(net, torch.zeros(2, 1, 6, 6))
  local rows = {}
  for i, row in ipairs(found.rows) do rows[i] = {row.name, row.class, row.output_shape, row.parameters} end
  lu.assertEquals(rows, {{'', 'Sequential', '(2, 10)', 0}, {'0', 'Conv2d', '(2, 4, 4, 4)', 40},
    {'1', 'BatchNorm2d', '(2, 4, 4, 4)', 8}, {'2', 'Flatten', '(2, 64)', 0}, {'3', 'Linear', '(2, 10)', 650}})
  lu.assertEquals({found.parameters, found.trainable_parameters, found.size_bytes}, {698, 698, 698 * 4 + 2 * 16 + 8})
  local text = tostring(found)
  lu.assertStrContains(text, '0        Conv2d       (2, 4, 4, 4)          40\n')
  lu.assertStrContains(text, '698 parameters, 698 of them trainable')
end

-- The call changes neither modes, hooks, statistics nor the random number generator.
function TestSummary.test_the_model_is_left_as_it_was()
  local net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.BatchNorm1d(2))
  net[1]:eval()
  torch.manual_seed(0)
  local before = torch.random.get_rng_state()
  nn.utils.summary(net, torch.ones(3, 2))
  lu.assertTrue(torch.equal(before, torch.random.get_rng_state()))
  lu.assertEquals({net.training, net[1].training, net[2].training}, {true, false, true})
  lu.assertEquals(net[3].num_batches_tracked:item(), 0)
  message_of(nn.utils.summary, net, torch.ones(3, 7))
  lu.assertEquals({net.training, net[1].training, net[2].training}, {true, false, true})
end

function TestSummary.test_outputs_that_are_lists()
  local found = nn.utils.summary(nn.LSTM(2, 4), torch.zeros(5, 1, 2))
  lu.assertEquals(found.rows[1].output_shape, '(5, 1, 4), (1, 1, 4), (1, 1, 4)')
  lu.assertEquals(nn.utils.summary(nn.Linear(1, 1)).rows[1].output_shape, '')
end

os.exit(lu.LuaUnit.run(), true)
