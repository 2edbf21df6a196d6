-- Trains in bfloat16 and in float16 with a number to the left of tensors: `0.1 * a`, which is not rounded to their dtype,
-- and `1e5 * x`, which is larger than the largest float16. The program prints all bytes.
local torch = require 'torch'

-- Returns the bytes of a tensor of 16 bits, value by value.
local function hex(x)
  local words = {}
  for i, word in ipairs(x:detach():view('int16'):reshape(-1):tolist()) do words[i] = ('%04x'):format(word % 65536) end
  return table.concat(words, ' ')
end

local function loss_of(w, x, target)
  local scaled = 1e5 * x
  local a = 0.1 * w + 0.3337
  local b = 1.7 / (2.0315 + w * w) - (0.3337 - a)
  return (0.1 * (scaled * a + 1.1 ^ b - target)):pow(2):mean()
end

for _, dtype in ipairs {'bfloat16', 'float16'} do
  torch.manual_seed(1)
  local w = torch.randn(24):to(dtype):requires_grad_()
  local x, target = (1e-3 * torch.rand(24)):to(dtype), torch.randn(24):to(dtype)
  local optimizer = torch.optim.SGD({w}, {lr = 0.5, momentum = 0.9})
  for step = 1, 20 do
    optimizer:zero_grad()
    local loss = loss_of(w, x, target)
    loss:backward()
    optimizer:step()
    torch.no_grad(function() w:sub_(1e-3 * w) end)
    if step % 5 == 0 then print(dtype, step, hex(loss), hex(w), hex(w.grad)) end
  end
end
