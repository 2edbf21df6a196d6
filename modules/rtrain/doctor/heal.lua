-- rtrain/doctor/heal.lua: the test of a training on all devices in which one worker dies: the others go on from the last
-- step with a new one, and the weights in the end are those that the CPU computes.
--
-- It fits a line with products of matrices: y = x w, of which each rank has other rows.

local notes = require 'rtrain.doctor.notes'
local row = require 'rtrain.doctor.row'

local heal = {}

local STEPS, LOST_BEFORE = 8, 4
local ROWS, COLUMNS = 32, 4
local RATE = 0.01
local TOLERANCE = 1e-4

-- Returns the rows of a rank in a step, and what the line has there.
local function batch(rank, step)
  local torch = require 'torch'
  local x = torch.randn({ROWS, COLUMNS}, {generator = torch.Generator():manual_seed(100 * step + rank)})
  return x, torch.mm(x, torch.arange(1, COLUMNS + 1, {dtype = 'float32'}):view(COLUMNS, 1))
end

-- Returns the gradient of half the squared error, a product of matrices.
local function gradient(x, y, weight)
  local torch = require 'torch'
  return torch.mm(x:t(), torch.addmm(y, x, weight, {beta = -1})):t()
end

-- Returns the largest difference from the weights that the CPU computes in float64 with the rows of all ranks.
local function error_of(weight, num)
  local torch = require 'torch'
  local expected = torch.zeros({1, COLUMNS}, {dtype = 'float64'})
  for step = 0, STEPS - 1 do
    local sum = torch.zeros_like(expected)
    for rank = 0, num - 1 do
      local x, y = batch(rank, step)
      sum = sum + gradient(x:double(), y:double(), expected:t())
    end
    expected = expected - sum * (RATE / num)
  end
  return (weight:cpu():double() - expected):abs():max():item()
end

-- An optimizer whose step is a product too: weight = weight - rate * gradient.
local function optimizer_of(parameters)
  local torch = require 'torch'
  local Products = torch.optim.Optimizer:extend 'Products'
  function Products:step()
    local param = self.param_groups[1].params[1]
    local one = torch.ones({1, 1}, {device = param.device})
    torch.no_grad(function() param:copy_(torch.addmm(param, one, param.grad, {alpha = -RATE})) end)
  end
  return Products(parameters, {})
end

-- Dies in the place of the test, once.
local function die(folder)
  notes.write(folder, 'lost', {at_ms = require('base._system').now_ms()})
  os.execute 'kill -9 $PPID'
end

---Trains; each rank calls it. The last rank dies once. Rank 0 notes the facts as 'heal', and reports a checkpoint.
---@param where string the rank's device
---@param folder string of the notes
function heal.train(where, folder)
  local torch, train = require 'torch', require 'rtrain'
  local system = require 'base._system'
  local context = train.get_context()
  local rank, num = context:get_world_rank(), context:get_world_size()
  local net = torch.nn.Linear(COLUMNS, 1, {bias = false})
  torch.no_grad(function() net.weight:zero_() end)
  net:to(where)
  local state = train.state {model = net, optimizer = optimizer_of(net:parameters()), step = 0}
  train.elastic(state, function()
    while state.step < STEPS do
      if num > 1 and rank == num - 1 and state.step == LOST_BEFORE and not notes.read(folder, 'lost') then die(folder) end
      local x, y = batch(rank, state.step)
      net.weight.grad = torch.no_grad(function() return gradient(x:to(where), y:to(where), net.weight:t()):contiguous() end)
      torch.distributed.all_reduce(net.weight.grad, 'avg')
      state.optimizer:step()
      state.step = state.step + 1
      local lost = rank == 0 and state.step == LOST_BEFORE + 1 and notes.read(folder, 'lost')
      if lost then notes.write(folder, 'healed', {seconds = (system.now_ms() - lost.at_ms) / 1000}) end
      state:commit()
    end
  end)
  if rank == 0 then
    notes.write(folder, 'trained', {error = error_of(net.weight, num), weight = net.weight:detach():cpu():view(-1):tolist()})
  end
  train.tempdir(function(temp)
    if rank == 0 then torch.save({weight = net.weight:detach()}, temp .. '/model.pt') end
    local checkpoint = rank == 0 and train.Checkpoint.from_directory(temp) or nil
    train.report({step = state.step}, {checkpoint = checkpoint})
  end)
end

---Says what the notes of the training mean.
---@param folder string of the notes
---@param num integer of devices
---@param said string the error with which the test has ended
---@return rtrain.DoctorRow
function heal.judge(folder, num, said)
  local trained, healed = notes.read(folder, 'trained'), notes.read(folder, 'healed')
  local figures = {seconds = healed and healed.seconds, error = trained and trained.error}
  if not trained then
    local what = notes.read(folder, 'lost') and 'after the loss of a worker the training does not go on'
      or 'the training does not come to its end'
    return row.failure('heal', ('%s: %s'):format(what, said), {
      mend = '`rtrain doctor --report FILE` keeps what the workers said'})
  end
  if not row.is_within(trained.error, TOLERANCE) then
    return row.failure('heal', ('the weights differ by %.3g from those that the CPU computes'):format(trained.error), {
      mend = 'a device or a link gives wrong numbers: see above', figures = figures})
  end
  if num == 1 then
    return row.ok('heal', 'one device trains as the CPU does; it takes two to go on after a loss', {figures = figures})
  end
  if not healed then
    return row.failure('heal', 'the training began again instead of going on after the loss of a worker', {
      mend = '`rtrain doc train.elastic`', figures = figures})
  end
  return row.ok('heal', ('a worker has died, %.1f s later the training went on; the weights are those that the CPU computes')
    :format(healed.seconds), {figures = figures})
end

return heal
