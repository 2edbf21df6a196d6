-- A GPT that learns to write letter by letter: nanoGPT (Karpathy) with its model, its schedule and its sampling, on a
-- text that is generated here.
local argparse, torch = require 'argparse', require 'torch'
local nn, F = torch.nn, torch.nn.functional

local args = argparse.of_config {
  seed = 1337, max_iters = 20, eval_interval = 10, eval_iters = 3, batch_size = 8, block_size = 32, n_layer = 2, n_head = 4,
  n_embd = 32, dropout = 0.1, bias = false, learning_rate = 1e-2, min_lr = 1e-3, warmup_iters = 4, lr_decay_iters = 20,
  weight_decay = 0.1, beta1 = 0.9, beta2 = 0.99, grad_clip = 1,
}:parse()

-- LayerNorm with an optional bias.
local LayerNorm = nn.Module:extend 'LayerNorm'

function LayerNorm:init(ndim, bias)
  self.weight = nn.Parameter(torch.ones(ndim))
  self.bias = bias and nn.Parameter(torch.zeros(ndim)) or nil
end

function LayerNorm:forward(input) return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5) end

local CausalSelfAttention = nn.Module:extend 'CausalSelfAttention'

function CausalSelfAttention:init(config)
  assert(config.n_embd % config.n_head == 0)
  self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, {bias = config.bias})
  self.c_proj = nn.Linear(config.n_embd, config.n_embd, {bias = config.bias})
  self.resid_dropout = nn.Dropout(config.dropout)
  self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout
end

function CausalSelfAttention:forward(x)
  local B, T, C = unpack(x.shape)
  local q, k, v = unpack(self.c_attn(x):split(self.n_embd, {dim = 2}))
  local function heads(t) return t:view(B, T, self.n_head, C / self.n_head):transpose(1, 2) end
  local y = F.scaled_dot_product_attention(heads(q), heads(k), heads(v),
    {dropout_p = self.training and self.dropout or 0, is_causal = true})
  y = y:transpose(1, 2):contiguous():view(B, T, C)
  return self.resid_dropout(self.c_proj(y))
end

local MLP = nn.Module:extend 'MLP'

function MLP:init(config)
  self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, {bias = config.bias})
  self.gelu = nn.GELU()
  self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, {bias = config.bias})
  self.dropout = nn.Dropout(config.dropout)
end

function MLP:forward(x) return self.dropout(self.c_proj(self.gelu(self.c_fc(x)))) end

local Block = nn.Module:extend 'Block'

function Block:init(config)
  self.ln_1 = LayerNorm(config.n_embd, config.bias)
  self.attn = CausalSelfAttention(config)
  self.ln_2 = LayerNorm(config.n_embd, config.bias)
  self.mlp = MLP(config)
end

function Block:forward(x)
  x = x + self.attn(self.ln_1(x))
  return x + self.mlp(self.ln_2(x))
end

local GPT = nn.Module:extend 'GPT'

local function init_weights(module)
  local name = module.__class__.__name__
  if name == 'Linear' or name == 'Embedding' then nn.init.normal_(module.weight, {mean = 0, std = 0.02}) end
  if name == 'Linear' and module.bias then nn.init.zeros_(module.bias) end
end

function GPT:init(config)
  self.config = config
  local blocks = {}
  for i = 1, config.n_layer do blocks[i] = Block(config) end
  self.transformer = nn.ModuleDict {
    {'wte', nn.Embedding(config.vocab_size, config.n_embd)}, {'wpe', nn.Embedding(config.block_size, config.n_embd)},
    {'drop', nn.Dropout(config.dropout)}, {'h', nn.ModuleList(blocks)}, {'ln_f', LayerNorm(config.n_embd, config.bias)}}
  self.lm_head = nn.Linear(config.n_embd, config.vocab_size, {bias = false})
  self.transformer.wte.weight = self.lm_head.weight
  self:apply(init_weights)
  for name, p in self:named_parameters() do
    if name:find 'c_proj%.weight$' then nn.init.normal_(p, {mean = 0, std = 0.02 / math.sqrt(2 * config.n_layer)}) end
  end
end

function GPT:forward(idx, targets)
  local t = idx:size(1)
  assert(t <= self.config.block_size)
  local tr = self.transformer
  local x = tr.drop(tr.wte(idx) + tr.wpe(torch.arange(t)))
  for _, block in ipairs(tr.h) do x = block(x) end
  x = tr.ln_f(x)
  if targets == nil then return self.lm_head(x[{torch.slice(), {-1}}]) end
  local logits = self.lm_head(x)
  return logits, F.cross_entropy(logits:view(-1, logits:size(-1)), targets:view(-1), {ignore_index = -1})
end

-- Weight decay applies to matrices, but not to biases and norms.
function GPT:configure_optimizers(weight_decay, learning_rate, betas)
  local decay, nodecay = {}, {}
  for _, p in self:named_parameters() do
    local list = p:dim() >= 2 and decay or nodecay
    list[#list + 1] = p
  end
  return torch.optim.AdamW({{params = decay, weight_decay = weight_decay}, {params = nodecay, weight_decay = 0}},
    {lr = learning_rate, betas = betas})
end

function GPT:generate(idx, max_new_tokens, temperature, top_k)
  return torch.no_grad(function()
    for _ = 1, max_new_tokens do
      local first = math.max(idx:size(1) - self.config.block_size, 0)
      local logits = self(idx:narrow(1, first, idx:size(1) - first))[{torch.slice(), -1}] / temperature
      local values = torch.topk(logits, math.min(top_k, logits:size(-1)))
      logits = logits:masked_fill(logits:lt(values[{torch.slice(), {-1}}]), -math.huge)
      idx = torch.cat({idx, torch.multinomial(F.softmax(logits, {dim = -1}), {num_samples = 1})}, 1)
    end
    return idx
  end)
end

-- Generates the text: sentences of a few words.
torch.manual_seed(args.seed)
local NOUNS, VERBS = {'the cat', 'a dog', 'my owl', 'the fox'}, {'sees', 'hears', 'likes', 'follows'}
local draws, sentences = torch.randint(4, {400, 3}):tolist(), {}
for i, row in ipairs(draws) do
  sentences[i] = ('%s %s %s.\n'):format(NOUNS[row[1] + 1], VERBS[row[2] + 1], NOUNS[row[3] + 1])
end
local text = table.concat(sentences)

local chars, stoi = {}, {}
for c in text:gmatch '.' do
  if not stoi[c] then chars[#chars + 1], stoi[c] = c, true end
end
table.sort(chars)
for i, c in ipairs(chars) do stoi[c] = i - 1 end

local ids = {}
for c in text:gmatch '.' do ids[#ids + 1] = stoi[c] end
local data = torch.tensor(ids, {dtype = torch.int64})
local split = math.floor(0.9 * #ids)
local parts = {train = data:narrow(0, 0, split), val = data:narrow(0, split, #ids - split)}

local function get_batch(name)
  local part = parts[name]
  local x, y = {}, {}
  for i, start in ipairs(torch.randint(#part - args.block_size, {args.batch_size}):tolist()) do
    x[i], y[i] = part:narrow(0, start, args.block_size), part:narrow(0, start + 1, args.block_size)
  end
  return torch.stack(x), torch.stack(y)
end

local function get_lr(it)
  if it < args.warmup_iters then return args.learning_rate * (it + 1) / (args.warmup_iters + 1) end
  if it > args.lr_decay_iters then return args.min_lr end
  local ratio = (it - args.warmup_iters) / (args.lr_decay_iters - args.warmup_iters)
  return args.min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (args.learning_rate - args.min_lr)
end

args.vocab_size = #chars
local model = GPT(args)
local optimizer = model:configure_optimizers(args.weight_decay, args.learning_rate, {args.beta1, args.beta2})
print(('%d characters, %d parameters'):format(#chars, nn.utils.parameters_count(model)))

local function estimate_loss()
  model:eval()
  local out = {}
  torch.no_grad(function()
    for _, name in ipairs {'train', 'val'} do
      local losses = torch.zeros(args.eval_iters)
      for k = 0, args.eval_iters - 1 do
        local _, loss = model(get_batch(name))
        losses[k] = loss:item()
      end
      out[name] = losses:mean():item()
    end
  end)
  model:train()
  return out
end

for it = 0, args.max_iters do
  for _, group in ipairs(optimizer.param_groups) do group.lr = get_lr(it) end
  if it % args.eval_interval == 0 then
    local losses = estimate_loss()
    print(('step %d train loss %.6f val loss %.6f'):format(it, losses.train, losses.val))
  end
  if it == args.max_iters then break end
  local _, loss = model(get_batch 'train')
  optimizer:zero_grad()
  loss:backward()
  local norm = nn.utils.clip_grad_norm_(model:parameters(), args.grad_clip)
  optimizer:step()
  print(('iter %d loss %.6f norm %.5f lr %.6f'):format(it, loss:item(), norm:item(), get_lr(it)))
end

model:eval()
local written = {}
for i, id in ipairs(model:generate(torch.zeros(1, 1):long(), 60, 0.8, 5)[0]:tolist()) do written[i] = chars[id + 1] end
print(table.concat(written))
