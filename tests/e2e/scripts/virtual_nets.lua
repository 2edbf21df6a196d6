-- tests/e2e/scripts/virtual_nets.lua: models, and what a training ended with, bit by bit, for runs with virtual workers.

local ordered = require 'base.ordered'
local torch = require 'torch'
local nn = torch.nn

local nets = {}

function nets.mlp() return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4)) end

function nets.plain() return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)) end

function nets.conv()
  return nn.Sequential(nn.Unflatten(1, {1, 4, 4}), nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2),
    nn.Flatten(), nn.Linear(8 * 4, 4))
end

local Lstm = nn.Module:extend 'Lstm'

function Lstm:init()
  self.lstm = nn.LSTM(4, 12, {batch_first = true, num_layers = 2, dropout = 0.2})
  self.out = nn.Linear(12, 4)
end

function Lstm:forward(x) return self.out((self.lstm(x:view{-1, 4, 4})):select(1, 3)) end

function nets.lstm() return Lstm() end

function nets.transformer()
  return nn.Sequential(nn.Unflatten(1, {4, 4}), nn.TransformerEncoderLayer(4, 2, {dim_feedforward = 8, batch_first = true}),
    nn.Flatten(), nn.Linear(16, 4))
end

local MOST_NUMBERS = 5000  -- of a tensor; of a larger one a hash is written

-- Returns the bits of all tensors in a nested map, in its order.
local function add(out, name, value)
  if type(value) == 'table' and not torch.is_tensor(value) then
    for _, key in ipairs(ordered.keys_of(value)) do add(out, name .. '.' .. tostring(key), value[key]) end
  elseif type(value) == 'userdata' and torch.is_tensor(value) then
    local numbers = {(require('torch._C')._hash_tensors{value})}
    if value:numel() <= MOST_NUMBERS then
      numbers = value:detach():double():flatten():tolist()
      for i, number in ipairs(numbers) do numbers[i] = ('%a'):format(number) end
    end
    out[#out + 1] = name .. ' ' .. table.concat(numbers, ' ')
  end
end

-- Rows of datasets, as tensors, by their number.
local function rows_of(task)
  return function(row)
    local x, y = task.sample(row.id)
    return {x = x, y = y}
  end
end

local function images(count, net, size, epochs)
  local task = {net = net, batch_size = 2, epochs = epochs}
  function task.sample(id)
    local generator = torch.Generator():manual_seed(100 + id)
    return torch.randn(size, {generator = generator}), id % 4
  end
  function task.set()
    local xs, ys = {}, {}
    for id = 0, count - 1 do xs[id + 1], ys[id + 1] = task.sample(id) end
    return torch.utils.data.TensorDataset(torch.stack(xs), torch.tensor(ys))
  end
  function task.dataset() return require('rtrain.data').range(count):random_shuffle{seed = 7}:map(rows_of(task)) end
  function task.loss(model, batch)
    return nn.functional.cross_entropy(model(batch.x or batch[1]), (batch.y or batch[2]):long())
  end
  return task
end

-- torchvision's ResNet-18 with a dropout before its last layer, for small images.
local function resnet18()
  local net = require('vision.models').resnet18{num_classes = 4}
  net.fc = nn.Sequential(nn.Dropout(0.3), net.fc)
  return net
end

-- Blocks of documents one after the other, as text.pack makes them.
local function packed()
  local LENGTH, VOCAB = 12, 30
  local task = {batch_size = 2, epochs = 2}
  function task.net()
    return require('text').models.LlamaForCausalLM{vocab_size = VOCAB, hidden_size = 16, intermediate_size = 32,
      num_hidden_layers = 2, num_attention_heads = 2, attention_dropout = 0.1, max_position_embeddings = 32}
  end
  local function block(id)
    local ids, positions = {}, {}
    local first = 3 + id % 7  -- where the second document begins
    for i = 1, LENGTH do ids[i], positions[i] = (id * 7 + i * i) % VOCAB, i <= first and i - 1 or i - first - 1 end
    local labels = {unpack(ids)}
    labels[1], labels[first + 1] = -100, -100
    return ids, positions, labels
  end
  function task.set()
    local rows = {}
    for id = 0, 58 do rows[id + 1] = {block(id)} end
    return torch.utils.data.TensorDataset(torch.tensor(rows, {dtype = 'int64'}))
  end
  function task.dataset()
    local text, items = require 'text', {}
    local vocab = {}
    for i = 0, VOCAB - 1 do vocab[#vocab + 1] = ('"w%d": %d'):format(i, i) end
    local tokenizer = text.Tokenizer.from_str(('{"model": {"type": "WordLevel", "unk_token": "w0", "vocab": {%s}}, '
      .. '"pre_tokenizer": {"type": "WhitespaceSplit"}}'):format(table.concat(vocab, ', ')))
    for id = 0, 89 do
      local words = {}
      for i = 1, 3 + id % 9 do words[i] = 'w' .. (id * 7 + i * i) % VOCAB end
      items[id + 1] = {text = table.concat(words, ' ')}
    end
    return text.pack(require('rtrain.data').from_items(items), {tokenizer = tokenizer, length = LENGTH, separator = 'w29',
      shuffle = true, seed = 3, folder = 'tokens'})
  end
  function task.loss(model, batch)
    if torch.is_tensor(batch) then
      batch = {input_ids = batch:select(1, 0), position_ids = batch:select(1, 1), labels = batch:select(1, 2)}
    end
    return model(batch.input_ids, {position_ids = batch.position_ids, labels = batch.labels}).loss
  end
  return task
end

-- Trainings: a network, its loss, its samples as a dataset of torch and as one of rtrain.data.
-- ResNet-18 has no batch of one image, which its BatchNorm cannot have, among 5 virtual workers or 8.
nets.tasks = {
  conv = images(66, nets.conv, {16}, 3), resnet18 = images(80, resnet18, {3, 32, 32}, 1), packed = packed(),
}

function nets.write(path, parts)
  local out = {}
  for _, name in ipairs(ordered.keys_of(parts)) do add(out, name, parts[name]:state_dict()) end
  local file = assert(io.open(path, 'w'))
  file:write(table.concat(out, '\n'), '\n')
  file:close()
end

return nets
