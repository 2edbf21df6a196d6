-- text/linear_cross_entropy.lua: the cross entropy of a linear layer's logits, without the logits of all rows at once.

local args = require 'base.args'
local errors = require 'base.errors'
local torch = require 'torch'

local CHUNK_NUMBERS = 2 ^ 23 -- logits that are in memory together: 32 MiB of float32
local NAMES = {'ignore_index', 'label_smoothing', 'z_loss', 'reduction', 'softcap', 'chunk_size'}

-- Computes the loss of one chunk, and writes the gradient of its logits over them.
local function chunk_loss(logits, labels, counted, a, wants_gradient)
  local cap = a.softcap
  if cap then logits:div_(cap):tanh_():mul_(cap) end
  local capped = cap and wants_gradient and logits:clone() or nil
  local lse = logits:logsumexp(1)
  local picked = logits:gather(1, labels:unsqueeze(1)):squeeze(1)
  local classes = logits.shape[2]
  local loss = lse - picked * (1 - a.label_smoothing)
  if a.label_smoothing > 0 then loss = loss - logits:sum(1) * (a.label_smoothing / classes) end
  if a.z_loss > 0 then loss = loss + lse:square() * a.z_loss end
  local total = (loss * counted):sum()
  if not wants_gradient then return total end
  logits:sub_(lse:unsqueeze(1)):exp_()
  if a.z_loss > 0 then logits:mul_((1 + lse * (2 * a.z_loss)):unsqueeze(1)) end
  if a.label_smoothing > 0 then logits:sub_(a.label_smoothing / classes) end
  logits:scatter_add_(1, labels:unsqueeze(1), torch.full({labels.shape[1], 1}, a.label_smoothing - 1,
    {dtype = logits.dtype, device = logits.device}))
  if cap then logits:mul_(1 - (capped / cap):square()) end
  logits:mul_(counted:unsqueeze(1))
  return total
end

local Loss = torch.autograd.Function:extend 'linear_cross_entropy'

function Loss.forward(ctx, hidden, weight, labels, a)
  local rows, classes = hidden.shape[1], weight.shape[1]
  local chunk = a.chunk_size or math.max(1, math.floor(CHUNK_NUMBERS / classes))
  local counted = labels:ne(a.ignore_index):to('float32')
  local safe = labels:masked_fill(labels:eq(a.ignore_index), 0)
  local scale = a.reduction == 'mean' and counted:sum():reciprocal() or torch.ones({}, {device = hidden.device})
  local wants = ctx.needs_input_grad[1] or ctx.needs_input_grad[2]
  local grad_hidden = ctx.needs_input_grad[1] and torch.empty_like(hidden) or nil
  local grad_weight = ctx.needs_input_grad[2] and torch.zeros_like(weight) or nil
  local total = torch.zeros({}, {dtype = 'float32', device = hidden.device})
  for first = 0, rows - 1, chunk do
    local count = math.min(chunk, rows - first)
    local part = hidden:narrow(0, first, count)
    local logits = part:matmul(weight:t()):to('float32')
    total:add_(chunk_loss(logits, safe:narrow(0, first, count), counted:narrow(0, first, count), a, wants))
    if wants then
      logits = logits:mul_(scale):to(hidden.dtype)
      if grad_hidden then torch.mm(logits, weight, {out = grad_hidden:narrow(0, first, count)}) end
      if grad_weight then grad_weight:addmm_(logits:t(), part) end
    end
  end
  ctx.grad_hidden, ctx.grad_weight = grad_hidden, grad_weight
  return total * scale
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
---@param options? {ignore_index: integer, label_smoothing: number, z_loss: number, reduction: 'mean'|'sum', softcap: number, chunk_size: integer}
---  ignore_index: a label that does not count (-100); label_smoothing: share of the probability that is spread over all
---  classes (0); z_loss: weight of the squared logarithm of the softmax's denominator (0); softcap: logits are between
----softcap and softcap; chunk_size: rows whose logits are in memory together
---@return torch.Tensor # a number, float32
---Errors: 'argument' for other shapes or a wrong option.
---
---```lua
---local text, torch = require 'text', require 'torch'
---local hidden, weight, labels = torch.randn(6, 4), torch.randn(10, 4), torch.tensor({1, 2, 3, -100, 0, 9})
---local loss = text.linear_cross_entropy(hidden, weight, labels)
---local expected = torch.nn.functional.cross_entropy(hidden:matmul(weight:t()), labels)
---assert(math.abs(loss:item() - expected:item()) < 1e-5)
---```
return function(hidden, weight, labels, options)
  local a = args.options(options, NAMES, 'linear_cross_entropy')
  if hidden:dim() ~= 2 or weight:dim() ~= 2 or labels:dim() ~= 1 or hidden.shape[2] ~= weight.shape[2]
    or hidden.shape[1] ~= labels.shape[1] then
    local function shape(tensor) return '{' .. table.concat(tensor.shape, ', ') .. '}' end
    errors.raise('argument', ('linear_cross_entropy: expected hidden {rows, width}, weight {classes, width}, labels {rows}, got %s, %s, %s')
      :format(shape(hidden), shape(weight), shape(labels)))
  end
  a = {ignore_index = a.ignore_index or -100, label_smoothing = a.label_smoothing or 0, z_loss = a.z_loss or 0,
       reduction = args.one_of('linear_cross_entropy: reduction', a.reduction or 'mean', {'mean', 'sum'}), softcap = a.softcap,
       chunk_size = a.chunk_size}
  return Loss.apply(hidden, weight, labels, a)
end
