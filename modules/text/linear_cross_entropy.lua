-- text/linear_cross_entropy.lua: the cross entropy of a linear layer's logits, without the logits of all rows at once.

local args = require 'base.args'
local errors = require 'base.errors'
local torch = require 'torch'

local PARTS = 16 -- of the rows: a part has its logits at a time
local FEW_NUMBERS = 2 ^ 24 -- 64 MiB of float32: each chunk adds to the gradient of all weights, so few are faster
local NAMES = {'ignore_index', 'label_smoothing', 'z_loss', 'reduction', 'softcap', 'chunk_size'}

-- Computes the loss of one chunk. Writes the gradient of its logits over them, in place: there is no second copy. What rows
-- have one number of is (rows, 1), which train.compile computes together with the logits. `factors`: of the rows' losses in
-- the result, 0 where a label is ignored.
local function chunk_loss(logits, labels, factors, a, wants_gradient)
  local cap, classes = a.softcap, logits.shape[2]
  if cap then logits:div_(cap):tanh_():mul_(cap) end
  local capped = cap and wants_gradient and logits:clone() or nil
  local picked, sum = logits:gather(1, labels), a.label_smoothing > 0 and logits:sum(1, true)
  local most = logits:amax(1, true)
  local denominator = logits:sub_(most):exp_():sum(1, true)
  local lse = denominator:log() + most
  if wants_gradient then
    local slope = a.z_loss > 0 and (1 + lse * (2 * a.z_loss)) / denominator or denominator:reciprocal()
    logits:mul_(slope * factors)
    if a.label_smoothing > 0 then logits:sub_(factors * (a.label_smoothing / classes)) end
  end
  local loss = lse - picked * (1 - a.label_smoothing)
  if sum then loss = loss - sum * (a.label_smoothing / classes) end
  if a.z_loss > 0 then loss = loss + lse:square() * a.z_loss end
  local total = (loss * factors):sum()
  if not wants_gradient then return total end
  logits:scatter_add_(1, labels, factors * (a.label_smoothing - 1))
  if cap then logits:mul_(capped:div_(cap):square_():neg_():add_(1)) end
  return total
end

local Loss = torch.autograd.Function:extend 'linear_cross_entropy'

function Loss.forward(ctx, hidden, weight, labels, a)
  local rows, classes = hidden.shape[1], weight.shape[1]
  local chunk = a.chunk_size or math.max(math.ceil(rows / PARTS), math.floor(FEW_NUMBERS / classes), 1)
  labels = labels:unsqueeze(1)
  local counted = labels:ne(a.ignore_index):to('float32')
  local safe = labels:masked_fill(labels:eq(a.ignore_index), 0)
  local factors = a.reduction == 'mean' and counted / counted:sum() or counted
  local wants = ctx.needs_input_grad[1] or ctx.needs_input_grad[2]
  local grad_hidden = ctx.needs_input_grad[1] and torch.empty_like(hidden) or nil
  local grad_weight = ctx.needs_input_grad[2] and torch.zeros_like(weight) or nil
  local total = torch.zeros({}, {dtype = 'float32', device = hidden.device})
  -- The same memory for all chunks.
  local product = torch.empty({math.min(chunk, rows), classes}, {dtype = hidden.dtype, device = hidden.device})
  local exact = hidden.dtype ~= 'float32' and torch.empty_like(product, {dtype = 'float32'}) or product
  for first = 0, rows - 1, chunk do
    local count = math.min(chunk, rows - first)
    local part = hidden:narrow(0, first, count)
    local small, logits = product:narrow(0, 0, count), exact:narrow(0, 0, count)
    torch.mm(part, weight:t(), {out = small})
    if exact ~= product then logits:copy_(small) end
    total:add_(chunk_loss(logits, safe:narrow(0, first, count), factors:narrow(0, first, count), a, wants))
    if wants then
      if exact ~= product then small:copy_(logits) end
      if grad_hidden then torch.mm(small, weight, {out = grad_hidden:narrow(0, first, count)}) end
      if grad_weight then grad_weight:addmm_(small:t(), part) end
    end
  end
  ctx.grad_hidden, ctx.grad_weight = grad_hidden, grad_weight
  return total
end

function Loss.backward(ctx, grad)
  local function scaled(tensor) return tensor and tensor * grad:to(tensor.dtype) end
  return scaled(ctx.grad_hidden), scaled(ctx.grad_weight), nil, nil
end

---Returns the cross entropy of `hidden · weightᵀ` and the labels: F.cross_entropy(F.linear(hidden, weight), labels), whose
---logits would need rows · classes numbers. Here a chunk of rows has its logits at a time, in forward, which computes the
---gradients too (Hsu et al. 2024, Liger Kernel).
---@param hidden torch.Tensor (rows, width)
---@param weight torch.Tensor (classes, width)
---@param labels torch.Tensor int64, (rows)
---@param options? table ignore_index: a label that does not count (-100); label_smoothing: share of the probability that is
---  spread over all classes (0); z_loss: weight of the squared logarithm of the softmax's denominator (0); reduction: 'mean'
---  or 'sum'; softcap: bounds logits to ±softcap; chunk_size: rows whose logits are in memory together
---@return torch.Tensor # a number, float32
---Errors: 'argument' for other shapes or a wrong option.
---
---```lua
---local text, torch = require 'text', require 'torch'
---local hidden, weight, labels = torch.randn(6, 4), torch.randn(10, 4), torch.tensor({1, 2, 3, -100, 0, 9}, {dtype = 'int64'})
---local loss = text.linear_cross_entropy(hidden, weight, labels)
---local expected = torch.nn.functional.cross_entropy(hidden:matmul(weight:t()), labels)
---assert(math.abs(loss:item() - expected:item()) < 1e-5)
---```
return function(hidden, weight, labels, options)
  local a = args.options(options, NAMES, 'linear_cross_entropy')
  if hidden:dim() ~= 2 or weight:dim() ~= 2 or labels:dim() ~= 1 or hidden.shape[2] ~= weight.shape[2]
    or hidden.shape[1] ~= labels.shape[1] then
    local function shape(tensor) return '{' .. table.concat(tensor.shape, ', ') .. '}' end
    errors.raise('argument', ('linear_cross_entropy: expected hidden {rows, width}, weight {classes, width}, '
      .. 'labels {rows}, got %s, %s, %s'):format(shape(hidden), shape(weight), shape(labels)))
  end
  local reduction = args.one_of('linear_cross_entropy: reduction', a.reduction or 'mean', {'mean', 'sum'})
  a = {ignore_index = a.ignore_index or -100, label_smoothing = a.label_smoothing or 0, z_loss = a.z_loss or 0,
       reduction = reduction, softcap = a.softcap, chunk_size = a.chunk_size}
  return Loss.apply(hidden, weight, labels, a)
end
