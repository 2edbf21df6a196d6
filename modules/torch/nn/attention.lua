-- torch/nn/attention.lua: torch.nn.attention: which kernels scaled_dot_product_attention may use.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'

local attention = {}

---The kernels of scaled_dot_product_attention. PyTorch equivalent: torch.nn.attention.SDPBackend.
attention.SDPBackend = {
  MATH = 'math', FLASH_ATTENTION = 'flash_attention', EFFICIENT_ATTENTION = 'efficient_attention',
  CUDNN_ATTENTION = 'cudnn_attention',
}

local SWITCHES = {
  {'math', 'math_sdp'}, {'flash_attention', 'flash_sdp'}, {'efficient_attention', 'mem_efficient_sdp'},
  {'cudnn_attention', 'cudnn_sdp'},
}

local function allowed_among(backends)
  local allowed, names = {}, {}
  for i, entry in ipairs(SWITCHES) do names[i] = entry[1] end
  for _, backend in ipairs(type(backends) == 'table' and backends or {backends}) do
    allowed[args.one_of('sdpa_kernel: backends', backend, names)] = true
  end
  if next(allowed) == nil then errors.raise('argument', 'sdpa_kernel: backends is an SDPBackend, or a list of them') end
  return allowed
end

local function switch(settings)
  local cuda = require 'torch.backends.cuda'
  local before = {}
  for i, entry in ipairs(SWITCHES) do
    before[i] = cuda[entry[2] .. '_enabled']()
    cuda['enable_' .. entry[2]](settings[i])
  end
  return before
end

local function switch_back_and_return(before, ok, ...)
  switch(before)
  if not ok then error((...), 0) end
  return ...
end

---Calls fn; in it scaled_dot_product_attention uses only the given kernels, also in functions that fn calls. Raises an
---error if none of them supports the tensors. PyTorch equivalent: with torch.nn.attention.sdpa_kernel(backends).
---@param backends string|string[] of SDPBackend
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local attention = torch.nn.attention
---local q = torch.randn(1, 2, 4, 8)
---local y = attention.sdpa_kernel(attention.SDPBackend.MATH, torch.scaled_dot_product_attention, q, q, q)
---assert(y.shape == q.shape)
---```
function attention.sdpa_kernel(backends, fn, ...)
  local allowed, settings = allowed_among(backends), {}
  if type(fn) ~= 'function' and not class.of(fn) then
    errors.raise('argument', ('sdpa_kernel: the second argument is a function to call, not a %s'):format(type(fn)))
  end
  for i, entry in ipairs(SWITCHES) do settings[i] = allowed[entry[1]] == true end
  return switch_back_and_return(switch(settings), xpcall(fn, errors.wrap, ...))
end

return require 'base.namespace'('torch.nn.attention', {
  modules = {varlen = 'torch.nn.attention.varlen'},
  absent = {bias = 'pass is_causal, or a mask',
           flex_attention = 'it needs a compiler: use scaled_dot_product_attention with a mask',
           WARN_FOR_UNFUSED_KERNELS = true},
}, attention)
