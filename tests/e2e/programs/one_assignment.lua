-- A block of attention whose constructor sets several layers in one assignment: the order of the parameters, their seeded
-- first values, Adam's states and the gradients' norm are those of Python. The program prints all bytes.
local torch = require 'torch'
local ordered = require 'base.ordered'
local nn, F = torch.nn, torch.nn.functional

-- Returns the bytes of float32 numbers.
local function hex(x)
  local words = {}
  for i, word in ipairs(x:detach():view('int32'):reshape(-1):tolist()) do words[i] = ('%08x'):format(word % 2 ^ 32) end
  return table.concat(words, ' ')
end

local Block = nn.Module:extend 'Block'

function Block:init(width)
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
  self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
  self.scale, self.up, self.down = nn.Parameter(torch.rand(width)), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
end

function Block:forward(x)
  local y = self.norm1(x)
  local scores = torch.matmul(self.query(y), self.key(y):transpose(1, 2)) / math.sqrt(x:size(2))
  x = x + self.scale * torch.matmul(F.softmax(scores, {dim = 2}), self.value(y))
  return x + self.down(F.relu(self.up(self.norm2(x))))
end

torch.manual_seed(3)
local model = Block(4)
for name, parameter in model:named_parameters() do print('first', name, hex(parameter)) end

local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.05, weight_decay = 0.01, fused = false})
for step = 1, 10 do
  local x = torch.randn(3, 5, 4)
  optimizer:zero_grad()
  local loss = F.mse_loss(model(x), x:flip(1))
  loss:backward()
  local norm = nn.utils.clip_grad_norm_(model:parameters(), 1)
  optimizer:step()
  print('step', step, hex(loss), hex(norm))
end

for name, tensor in ordered.items(model:state_dict()) do print('last', name, hex(tensor)) end
local state = optimizer:state_dict().state
for i = 0, #model:parameters() - 1 do print('Adam', i, hex(state[i].exp_avg), hex(state[i].exp_avg_sq)) end
