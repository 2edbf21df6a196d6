-- A small GPT that reads characters: it learns to add from lines like 7+5=12, or to write like your text: --set text=FILE.
local torch = require 'torch'
local train = require 'rtrain'
local nn, F = torch.nn, torch.nn.functional

local Block = nn.Module:extend 'Block'

function Block:init(width, heads)
  self.heads = heads
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
  self.attention, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
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
  self.tokens, self.places = nn.Embedding(256, config.width), nn.Embedding(config.context, config.width)
  self.blocks = nn.ModuleList()
  for _ = 1, config.layers do self.blocks:append(Block(config.width, config.heads)) end
  self.norm, self.head = nn.LayerNorm(config.width), nn.Linear(config.width, 256, {bias = false})
end

function GPT:forward(bytes)
  local x = self.tokens(bytes) + self.places(torch.arange(bytes:size(1), {device = bytes.device}))
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(self.norm(x))
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

-- Pieces of the text from random places, and the same one byte later: what is to be said.
local function random_batch(bytes, config, device)
  local starts = torch.randint(0, #bytes - config.context, {config.batch_size, 1})
  local places = starts + torch.arange(config.context)
  return bytes[places]:to(device), bytes[places + 1]:to(device)
end

-- Goes on with the prompt until the end of a line.
local function complete(model, prompt, config, device)
  local text = prompt
  torch.no_grad(function()
    for _ = 1, 40 do
      local seen = text:sub(-config.context)
      local next_byte = model(torch.tensor({{seen:byte(1, -1)}}, {dtype = 'int64', device = device}))[0][-1]:argmax():item()
      text = text .. string.char(next_byte)
      if next_byte == 10 then break end
    end
  end)
  return text
end

local function train_func(config)
  local rank, device = train.get_context():get_world_rank(), train.torch.get_device()
  local bytes = read_text(config)
  torch.manual_seed(config.seed)
  local net = GPT(config)
  local model = train.torch.prepare_model(net)
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr, weight_decay = 0.01})
  torch.manual_seed(config.seed + rank)  -- each worker reads places of its own
  local total = 0
  for step = 1, config.steps do
    local x, y = random_batch(bytes, config, device)
    local loss = F.cross_entropy(model(x):view(-1, 256), y:view(-1))
    optimizer:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(model:parameters(), 1)
    optimizer:step()
    total = total + loss:item()
    if step % config.report_every == 0 then
      local metrics = {step = step, loss = total / config.report_every}
      total = 0
      if rank == 0 then print((complete(net, config.prompt, config, device):gsub('\n', ''))) end
      train.tempdir(function(dir)
        torch.save(net:state_dict(), dir .. '/model.pt')
        train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    text = '', prompt = '7+5=', lr = 0.003, steps = 400, report_every = 50, batch_size = 32, context = 32, width = 64,
    layers = 2, heads = 4, seed = 0,
  },
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
