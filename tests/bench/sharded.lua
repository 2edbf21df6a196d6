-- The training program of the benchmark `sharded_step`, the twin of peers/sharded.py: a transformer of 46 million
-- parameters, sharded ('fsdp') or replicated ('ddp').
local torch = require 'torch'
local nn = require 'torch.nn'
local F = require 'torch.nn.functional'
local train = require 'rtrain'

local VOCABULARY, WIDTH, LAYERS, TOKENS = 8192, 512, 12, 128

local Model = nn.Module:extend 'Model'

function Model:init()
  self.embed = nn.Embedding(VOCABULARY, WIDTH)
  local layers = {}
  for i = 1, LAYERS do
    layers[i] = nn.TransformerEncoderLayer(WIDTH, 8, {dim_feedforward = 4 * WIDTH, dropout = 0, batch_first = true,
                                                      norm_first = true})
  end
  self.layers = nn.ModuleList(layers)
  self.head = nn.Linear(WIDTH, VOCABULARY)
end

function Model:forward(ids)
  local x = self.embed(ids)
  for _, layer in ipairs(self.layers) do x = layer(x) end
  return self.head(x)
end

local function train_func(config)
  local events = require('events').open(config.events, train.get_context():get_world_rank())
  torch.manual_seed(0)
  local kwargs = config.strategy == 'fsdp' and {wrap = nn.TransformerEncoderLayer} or nil
  local model = train.torch.prepare_model(Model(), {parallel_strategy = config.strategy, parallel_strategy_kwargs = kwargs})
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 1e-4})
  events:mark('model')
  local rank, loss = train.get_context():get_world_rank(), nil
  for step = 1, config.steps do
    local ids = ((torch.arange(config.batch * TOKENS) + rank) * (step * 7919) % VOCABULARY):view(config.batch, TOKENS)
    optimizer:zero_grad()
    loss = F.cross_entropy(model(ids):view(-1, VOCABULARY), ids:view(-1))
    loss:backward()
    optimizer:step()
    events:mark('step')
  end
  events:mark('loss', loss:item())
  train.report{loss = loss:item()}
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {steps = 4, batch = 2, strategy = 'fsdp', events = '/tmp'},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
