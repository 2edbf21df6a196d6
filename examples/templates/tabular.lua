-- A price from columns of a table: rtrain.data streams the rows, a small network learns them.
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'rtrain.data'
local nn, F = torch.nn, torch.nn.functional

local COLUMNS = {'area', 'rooms', 'age', 'distance'}
local MEAN, DEVIATION = torch.tensor {80, 3, 40, 10}, torch.tensor {30, 1.2, 25, 6}
local PRICE = 100  -- the loss is of prices in this unit

-- Flats that do not exist, seller's noise included. Your own table: data.read_csv 'flats.csv', read_parquet, read_json.
local function make_table(count, seed)
  math.randomseed(seed)
  local rows = {}
  for i = 1, count do
    local area, age, distance = 30 + 100 * math.random(), 80 * math.random(), 20 * math.random()
    local rooms = math.floor(area / 28) + math.random(0, 1)
    local price = 3.2 * area + 18 * rooms - 0.6 * age + 120 / (1 + distance / 4) + 8 * (math.random() - 0.5)
    rows[i] = {area = area, rooms = rooms, age = age, distance = distance, price = price}
  end
  return data.from_items(rows)
end

local Prices = nn.Module:extend 'Prices'

function Prices:init(config)
  self.net = nn.Sequential(
    nn.Linear(#COLUMNS, config.hidden), nn.ReLU(), nn.Linear(config.hidden, config.hidden), nn.ReLU(),
    nn.Linear(config.hidden, 1))
end

function Prices:forward(x) return self.net(x):squeeze(1) * PRICE end

-- These two are what `rtrain predict` looks for: the network, and what it gets of a batch of rows.
local function build_model(config) return Prices(config) end

local function preprocess(batch)
  local columns = {}
  for i, name in ipairs(COLUMNS) do columns[i] = batch[name]:float() end
  return (torch.stack(columns, 1) - MEAN) / DEVIATION
end

-- The mean error of a price, over the rows of all workers.
local function evaluate(model, rows)
  local total, seen = 0, 0
  torch.no_grad(function()
    for batch in rows do
      total = total + (model(preprocess(batch)) - batch.price):abs():sum():item()
      seen = seen + #batch.price
    end
  end)
  local sums = torch.distributed.all_reduce(torch.tensor {total, seen})
  return (sums[0] / sums[1]):item()
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local model = train.torch.prepare_model(build_model(config))
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr})
  local options = {batch_size = config.batch_size, dtypes = 'float32'}
  local rows = train.get_dataset_shard 'train':iter_torch_batches(options)
  local test_rows = train.get_dataset_shard 'test':iter_torch_batches(options)
  for epoch = 1, config.epochs do
    local total, steps = 0, 0
    for batch in rows do
      local loss = F.smooth_l1_loss(model(preprocess(batch)) / PRICE, batch.price / PRICE)
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      total, steps = total + loss:item(), steps + 1
    end
    local metrics = {epoch = epoch, loss = total / steps, error = evaluate(model, test_rows)}
    train.tempdir(function(dir)
      torch.save(train.torch.unwrap(model):state_dict(), dir .. '/model.pt')
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 0.01, hidden = 32, batch_size = 64, epochs = 10, seed = 0},
  datasets = {train = make_table(4000, 1):random_shuffle(), test = make_table(500, 2)},
  scaling_config = train.ScalingConfig {num_workers = 1, use_gpu = false},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {
    num_to_keep = 2, checkpoint_score_attribute = 'error', checkpoint_score_order = 'min'}},
}:fit()
