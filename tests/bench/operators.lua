-- Nanoseconds per eager operation on small tensors from Lua; prints "name<TAB>ns", the minimum of all loops. Twin of
-- peers/operators.py and operators_floor.cpp: change all three.
--
--   operators.lua CALLS REPEATS [NAME]
local torch = require 'torch'
local F = torch.nn.functional
local clock = require 'events'

-- On a GPU the loops are short: after some thousand queued calls each call waits for the device.
local device = os.getenv 'BENCH_DEVICE' or 'cpu'
local function on_device(tensor) return device == 'cpu' and tensor or tensor:to(device) end
local function randn(...) return on_device(torch.randn(...)) end

torch.manual_seed(0)
local x, y = randn(4), randn(4)
local a, b = randn(8, 8), randn(8, 8)
local p, q = randn(2, 4, 4), randn(2, 4, 4)
local batch, weight, bias = randn(4, 8), randn(8, 8), randn(8)
local leaf = randn(4):requires_grad_()
local rows = on_device(torch.tensor({0, 2, 4}, {dtype = 'int64'}))
local column = on_device(torch.zeros(8, 1, {dtype = 'int64'}))
local mask, labels = a:gt(0), on_device(torch.randint(0, 8, {8}))
local words = randn(10, 4)

local CASES = {
  {'add', function() return x + y end},
  {'sub', function() return x - y end},
  {'mul', function() return x * y end},
  {'div', function() return x / y end},
  {'add_scalar', function() return x + 1 end},
  {'mul_scalar', function() return x * 0.5 end},
  {'rsub', function() return 1 - x end},
  {'pow', function() return x ^ 2 end},
  {'neg', function() return -x end},
  {'add_', function() return x:add_(y) end},
  {'mul_scalar_', function() return x:mul_(0.999) end},
  {'add_alpha', function() return torch.add(x, y, {alpha = 2}) end},
  {'mul_grad', function() return leaf * y end},
  {'mm', function() return a:mm(b) end},
  {'matmul', function() return torch.matmul(a, b) end},
  {'bmm', function() return torch.bmm(p, q) end},
  {'addmm', function() return torch.addmm(bias, batch, weight) end},
  {'linear', function() return F.linear(batch, weight, bias) end},
  {'dot', function() return x:dot(y) end},
  {'view', function() return a:view(64) end},
  {'reshape', function() return a:reshape(4, 16) end},
  {'transpose', function() return a:transpose(0, 1) end},
  {'permute', function() return p:permute(2, 0, 1) end},
  {'unsqueeze', function() return x:unsqueeze(0) end},
  {'squeeze', function() return x:squeeze() end},
  {'expand', function() return x:expand(3, 4) end},
  {'flatten', function() return torch.flatten(p, 1) end},
  {'chunk', function() return a:chunk(2) end},
  {'cat', function() return torch.cat({x, y}) end},
  {'stack', function() return torch.stack({x, y}) end},
  {'sum', function() return a:sum() end},
  {'sum_dim', function() return a:sum(1) end},
  {'mean', function() return a:mean() end},
  {'mean_keepdim', function() return a:mean(1, {keepdim = true}) end},
  {'max', function() return a:max() end},
  {'max_dim', function() return a:max(1) end},
  {'argmax', function() return a:argmax(1) end},
  {'softmax', function() return torch.softmax(a, 1) end},
  {'log_softmax', function() return F.log_softmax(a, 1) end},
  {'relu', function() return F.relu(x) end},
  {'gelu', function() return F.gelu(x) end},
  {'sigmoid', function() return x:sigmoid() end},
  {'exp', function() return x:exp() end},
  {'sqrt', function() return x:sqrt() end},
  {'eq', function() return x:eq(y) end},
  {'gt_scalar', function() return x:gt(0) end},
  {'where', function() return torch.where(mask, a, b) end},
  {'clamp', function() return a:clamp(-1, 1) end},
  {'masked_fill', function() return a:masked_fill(mask, 0) end},
  {'zeros', function() return torch.zeros(2, 2) end},
  {'ones', function() return torch.ones(4) end},
  {'zeros_like', function() return torch.zeros_like(x) end},
  {'arange', function() return torch.arange(4) end},
  {'randn', function() return torch.randn(4) end},
  {'select', function() return a[0] end},
  {'slice', function() return a[torch.slice(0, 4)] end},
  {'index', function() return a[rows] end},
  {'narrow', function() return a:narrow(0, 1, 2) end},
  {'item', function() return y[0]:item() end},
  {'clone', function() return x:clone() end},
  {'detach', function() return leaf:detach() end},
  {'to_dtype', function() return x:to('float64') end},
  {'index_select', function() return a:index_select(0, rows) end},
  {'gather', function() return a:gather(1, column) end},
  {'embedding', function() return F.embedding(rows, words) end},
  {'layer_norm', function() return F.layer_norm(batch, {8}, bias, bias) end},
  {'cross_entropy', function() return F.cross_entropy(a, labels) end},
  {'mse_loss', function() return F.mse_loss(x, y) end},
}

-- Compiles a separate loop for each case, as in a script: traces of one loop do not help the others.
local LOOP = [[
local now = ...
return function(case, calls)
  local start = now()
  for _ = 1, calls do case() end
  return (now() - start) * 1e9 / calls
end
]]

local calls, repeats, only = tonumber(arg[1]), tonumber(arg[2]), arg[3]
torch.set_num_threads(1)
for _, entry in ipairs(CASES) do
  local name, case = entry[1], entry[2]
  if not only or only == name then
    local nanoseconds = loadstring(LOOP)(clock.now)
    local best = nanoseconds(case, math.ceil(calls / 4))
    for _ = 1, repeats do
      if device ~= 'cpu' then torch.cuda.synchronize() end
      best = math.min(best, nanoseconds(case, calls))
    end
    io.write(('%s\t%.1f\n'):format(name, best))
  end
end
