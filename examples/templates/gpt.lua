-- A small GPT that reads characters: it learns to add from lines like 7+5=12, or to write like your text: --set text=FILE.
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local nn, F = torch.nn, torch.nn.functional

local Block = nn.Module:extend 'Block'

function Block:init(width, heads)
  self.heads = heads
  self.norm1 = nn.LayerNorm(width)
  self.norm2 = nn.LayerNorm(width)
  self.attention = nn.Linear(width, 3 * width)
  self.project = nn.Linear(width, width)
  self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
end

function Block:forward(x)
  local n, length, width = x:size(0), x:size(1), x:size(2)
  local qkv = self.attention(self.norm1(x)):view(n, length, 3, self.heads, width / self.heads):permute(2, 0, 3, 1, 4)
  local y = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {is_causal = true})
  x = x + self.project(y:transpose(1, 2):reshape(n, length, width))
  return x + self.mlp(self.norm2(x))
end

local GPT = nn.Module:extend 'GPT'

function GPT:init(config)
  self.tokens = nn.Embedding(256, config.width)
  self.places = nn.Embedding(config.context, config.width)
  self.blocks = nn.ModuleList()
  for _ = 1, config.layers do self.blocks:append(Block(config.width, config.heads)) end
  self.norm = nn.LayerNorm(config.width)
  self.head = nn.Linear(config.width, 256, {bias = false})
end

function GPT:forward(bytes)
  local x = self.tokens(bytes) + self.places(torch.arange(bytes:size(1), {device = bytes.device}))
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(self.norm(x))
end

-- These two are what `rtrain predict` looks for: the network, and what it gets of a batch of rows with a column `text`.
local function build_model(config) return GPT(config) end

local function preprocess(batch)
  local longest, rows = 0, {}
  for _, text in ipairs(batch.text) do longest = math.max(longest, #text) end
  for i, text in ipairs(batch.text) do rows[i] = {(('\n'):rep(longest - #text) .. text):byte(1, -1)} end
  return torch.tensor(rows, {dtype = 'int64'})
end

-- The text as bytes: a file's, or sums of numbers below 10.
local function read_text(config)
  local lines = {}
  if config.text ~= '' then
    local file = assert(io.open(config.text, 'rb'))
    lines[1] = file:read '*a'
    file:close()
  else
    math.randomseed(config.seed)
    for i = 1, 20000 do
      local a, b = math.random(0, 9), math.random(0, 9)
      lines[i] = ('%d+%d=%d\n'):format(a, b, a + b)
    end
  end
  local text = table.concat(lines)
  local bytes = {}
  for i = 1, #text do bytes[i] = text:byte(i) end
  return torch.tensor(bytes, {dtype = 'int64'})
end

-- Pieces of the text, and the same one byte later: what is to be said.
local function make_loader(config)
  local bytes = read_text(config)
  local count = math.floor((#bytes - 1) / config.context)
  assert(count > 0, 'the text has no more bytes than config.context')
  local function pieces(first) return bytes:narrow(0, first, count * config.context):view(count, config.context) end
  local set = data.TensorDataset(pieces(0), pieces(1))
  return train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = config.batch_size, shuffle = true}))
end

-- Goes on with the prompt until the end of a line.
local function complete(model, config)
  local text, device = config.prompt, train.torch.get_device()
  torch.no_grad(function()
    for _ = 1, 40 do
      local seen = text:sub(-config.context)
      local next_byte = model(preprocess {text = {seen}}:to(device))[0][-1]:argmax():item()
      text = text .. string.char(next_byte)
      if next_byte == 10 then break end
    end
  end)
  return text
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local loader = make_loader(config)
  local net = build_model(config)
  local model = train.torch.prepare_model(net)
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr, weight_decay = 0.01})
  for epoch = 1, config.epochs do
    loader.sampler:set_epoch(epoch)
    local total = 0
    for x, y in loader do
      local loss = F.cross_entropy(model(x):view(-1, 256), y:view(-1))
      optimizer:zero_grad()
      loss:backward()
      nn.utils.clip_grad_norm_(model:parameters(), 1)
      optimizer:step()
      total = total + loss:item()
    end
    if train.get_context():get_world_rank() == 0 then print((complete(net, config):gsub('\n', ''))) end
    train.tempdir(function(dir)
      torch.save(net:state_dict(), dir .. '/model.pt')
      train.report({epoch = epoch, loss = total / #loader}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    text = '', prompt = '7+5=', lr = 0.003, epochs = 4, batch_size = 32, context = 32, width = 64,
    layers = 2, heads = 4, seed = 0,
  },
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
