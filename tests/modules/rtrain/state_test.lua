-- train.state outside of a run: the values that it saves and restores, and those that it refuses.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local random_state = require 'rtrain.session.random_state'
local data = torch.utils.data

local message_of = require('refusal').message_of

local function in_folder(fn) return train.tempdir(fn) end

TestRandomState = {}

function TestRandomState.test_looking_changes_nothing()
  math.randomseed(7)
  torch.manual_seed(7)
  local wanted = {math.random(), math.random(2 ^ 30), torch.rand(1):item()}
  math.randomseed(7)
  torch.manual_seed(7)
  local found = {}
  for i, draw in ipairs {math.random, function() return math.random(2 ^ 30) end, function() return torch.rand(1):item() end} do
    random_state.get()
    found[i] = draw()
  end
  lu.assertEquals(found, wanted)
end

function TestRandomState.test_both_generators_go_on()
  math.randomseed(3)
  torch.manual_seed(3)
  local state = random_state.get()
  local function draws()
    local out = {}
    for i = 1, 200 do out[i] = math.random() + torch.rand(1):item() end
    return out
  end
  local wanted = draws()
  random_state.set(state)
  lu.assertEquals(draws(), wanted)
end

function TestRandomState.test_other_ranks_get_numbers_of_their_own()
  torch.manual_seed(3)
  local state = random_state.get()
  local function of(rank)
    random_state.derive(state, rank)
    return {torch.rand(1):item(), math.random()}
  end
  lu.assertEquals(of(1), of(1))
  lu.assertNotEquals(of(1), of(2))
end

TestTrainState = {}

local function parts()
  local model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.1})
  return {model = model, optimizer = optimizer, scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1),
          scaler = torch.amp.GradScaler('cpu', {init_scale = 2 ^ 10, growth_interval = 2}), generator = torch.Generator(5),
          loader = data.DataLoader(data.TensorDataset(torch.arange(12)), {batch_size = 3, shuffle = true}),
          epoch = 0, best = {accuracy = 0.5, names = {'a', 'b'}}, weights = torch.ones(2)}
end

local function train_step(given)
  given.optimizer:zero_grad()
  given.scaler:scale(given.model(torch.randn(5, 3)):pow(2):mean()):backward()
  given.scaler:step(given.optimizer)
  given.scaler:update()
end

local function check_that_every_part_is_put_back(options)
  in_folder(function(dir)
    torch.manual_seed(1)
    local first = parts()
    local state = train.state(first)
    local rest, save = {}, nil
    for i, x in first.loader:enumerate() do
      train_step(first)
      if i == 1 then
        first.scheduler:step()
        state.epoch, state.best = 4, {accuracy = 0.75}
        save = state:save(dir, options)
        rest.random = torch.rand(2, {generator = first.generator}):tolist()
      elseif i > 1 then
        rest[#rest + 1] = x:tolist()
      end
    end
    local weight = first.model[1].weight
    if save then save:result() end

    torch.manual_seed(99)
    local second = parts()
    local restored = train.state(second)
    lu.assertTrue(restored:load(train.Checkpoint.from_directory(dir)))
    lu.assertEquals({restored.epoch, restored.best}, {4, {accuracy = 0.75}})
    lu.assertEquals(restored.weights:tolist(), {1, 1})
    lu.assertEquals(torch.rand(2, {generator = second.generator}):tolist(), rest.random)
    lu.assertEquals(second.scheduler:get_last_lr(), first.scheduler:get_last_lr())
    local seen = {}
    for x in second.loader do
      train_step(second)
      seen[#seen + 1] = x:tolist()
    end
    lu.assertEquals(seen, {rest[1], rest[2]})
    lu.assertTrue(torch.equal(second.model[1].weight, weight))
    lu.assertEquals(second.scaler:get_scale(), first.scaler:get_scale())
  end)
end

function TestTrainState.test_every_part_is_put_back() check_that_every_part_is_put_back() end

function TestTrainState.test_what_was_saved_in_the_background_is_that_moment()
  check_that_every_part_is_put_back {async = true}
end

function TestTrainState.test_wrong_options_are_refused()
  in_folder(function(dir)
    local state = train.state {epoch = 0}
    lu.assertStrContains(message_of(state.save, state, dir, {asynk = true}), "did you mean 'async'")
    lu.assertStrContains(message_of(state.save, state, dir, {async = 1}), 'async is true or false')
  end)
end

function TestTrainState.test_without_a_checkpoint_nothing_is_loaded()
  lu.assertFalse(train.state({epoch = 1}):load(nil))
end

function TestTrainState.test_wrong_parts_are_refused()
  local model = torch.nn.Linear(1, 1)
  for text, fn in next, {
    ["expected a table of parts"] = function() train.state(model) end,
    ["'save' cannot be a part's name"] = function() train.state {save = 1} end,
    ["'_x' cannot be a part's name"] = function() train.state {_x = 1} end,
    ["callback is a function"] = function() train.state {callback = print} end,
    ["dataset is a TensorDataset"] = function() train.state {dataset = data.TensorDataset(torch.ones(1))} end,
  } do
    lu.assertStrContains(message_of(fn), text)
  end
end

function TestTrainState.test_a_checkpoint_of_other_parts_is_refused()
  in_folder(function(dir)
    local model = torch.nn.Linear(1, 1)
    lu.assertStrContains(message_of(function() train.state({model = model}):load(dir) end), 'has no train_state.pt')
    train.state({model = model, epoch = 1}):save(dir)
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 1})
    local message = message_of(function() train.state({model = model, optimizer = optimizer}):load(dir) end)
    lu.assertStrContains(message, "has no 'optimizer': it was saved with model")
    lu.assertStrContains(message_of(function() train.state({model = model}):load(5) end), 'got a number')
    lu.assertStrContains(message_of(function() train.state({model = model}):save(nil) end), 'got a nil')
  end)
end

TestShardedState = {}

function TestShardedState.setUp() torch.distributed.init_process_group('gloo', {rank = 0, world_size = 1}) end
function TestShardedState.tearDown() torch.distributed.destroy_process_group() end

local function sharded(width)
  local model = torch.nn.Sequential(torch.nn.Linear(2, width or 3), torch.nn.Linear(width or 3, 1))
  torch.distributed.fsdp.fully_shard(model)
  return model, torch.optim.Adam(model:parameters(), {lr = 0.1})
end

local function step(model, optimizer)
  optimizer:zero_grad()
  model(torch.ones(4, 2)):pow(2):sum():backward()
  optimizer:step()
end

function TestShardedState.test_an_optimizer_without_its_model_is_found_by_numbers()
  in_folder(function(dir)
    local model, optimizer = sharded()
    step(model, optimizer)
    train.state({optimizer = optimizer}):save(dir)
    local _, new = sharded()
    train.state({optimizer = new}):load(dir)
    local function mean_of(each) return each:state_dict().state[0].exp_avg:full_tensor() end
    lu.assertTrue(torch.equal(mean_of(new), mean_of(optimizer)))
    local other, third = sharded()
    lu.assertStrContains(message_of(function() train.state({model = other, optimizer = third}):load(dir) end), "has no 'model'")
  end)
end

function TestShardedState.test_another_model_is_refused_and_nothing_changed()
  in_folder(function(dir)
    local model, optimizer = sharded()
    step(model, optimizer)
    train.state({model = model, optimizer = optimizer}):save(dir)
    local other, new = sharded(5)
    local before = other[1].weight:full_tensor()
    local message = message_of(function() train.state({model = other, optimizer = new}):load(dir) end)
    lu.assertStrContains(message, 'float32 [3, 2]: it does not fit into float32 [5, 2]')
    lu.assertTrue(torch.equal(other[1].weight:full_tensor(), before))
    local smaller = torch.nn.Sequential(torch.nn.Linear(2, 3))
    message = message_of(function() train.state({model = smaller}):load(dir) end)
    lu.assertStrContains(message, "the checkpoint has '1.bias' of 'model', which this Sequential has not")
  end)
end

function TestShardedState.test_a_user_defined_optimizers_own_state_is_refused()
  in_folder(function(dir)
    local model, optimizer = sharded()
    optimizer.state.average = {1}
    lu.assertStrContains(message_of(function() train.state({model = model, optimizer = optimizer}):save(dir) end),
      "keeps 'average' under a name")
  end)
end

os.exit(lu.LuaUnit.run(), true)
