-- torch/nn/transformer.lua: the encoder of a transformer.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local F = require 'torch.nn.functional'
local Dropout = require('torch.nn.dropout').Dropout
local LayerNorm = require('torch.nn.normalization').LayerNorm
local Linear = require('torch.nn.linear').Linear
local Module = require('torch.nn.module').Module
local ModuleList = require('torch.nn.container').ModuleList
local MultiheadAttention = require('torch.nn.attention').MultiheadAttention

---Self-attention and a feed-forward network (Vaswani et al. 2017). Arguments: d_model, nhead, {dim_feedforward = 2048,
---dropout = 0.1, activation = 'relu' | 'gelu' | function, layer_norm_eps = 1e-5, batch_first = false, norm_first = false,
---bias = true, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16, batch_first = true})
---assert(layer(torch.randn(2, 5, 8)).shape[3] == 8)
---```
---@class nn.TransformerEncoderLayer: nn.Module
---@overload fun(d_model: integer, nhead: integer, options?: table): nn.TransformerEncoderLayer
local TransformerEncoderLayer = Module:extend('TransformerEncoderLayer')

local layer_signature = args.signature('TransformerEncoderLayer', {'d_model', 'nhead', {'dim_feedforward', 2048},
  {'dropout', 0.1}, {'activation', 'relu'}, {'layer_norm_eps', 1e-5}, {'batch_first', false}, {'norm_first', false},
  {'bias', true}, {'device'}, {'dtype'}})

local ACTIVATIONS = {relu = F.relu, gelu = F.gelu}

function TransformerEncoderLayer:init(...)
  local a = layer_signature:bind(...)
  local like = {bias = a.bias, device = a.device, dtype = a.dtype}
  self._arguments = a
  self.self_attn = MultiheadAttention(a.d_model, a.nhead, {dropout = a.dropout, bias = a.bias,
    batch_first = a.batch_first, device = a.device, dtype = a.dtype})
  self.linear1 = Linear(a.d_model, a.dim_feedforward, like)
  self.dropout = Dropout(a.dropout)
  self.linear2 = Linear(a.dim_feedforward, a.d_model, like)
  self.norm_first = a.norm_first
  local norm = {eps = a.layer_norm_eps, bias = a.bias, device = a.device, dtype = a.dtype}
  -- One assignment each: a multiple one would register them from right to left.
  self.norm1 = LayerNorm(a.d_model, norm)
  self.norm2 = LayerNorm(a.d_model, norm)
  self.dropout1 = Dropout(a.dropout)
  self.dropout2 = Dropout(a.dropout)
  self.activation = type(a.activation) == 'string' and ACTIVATIONS[a.activation] or a.activation
  if type(self.activation) == 'string' then
    errors.raise('argument', ("TransformerEncoderLayer: activation is 'relu', 'gelu' or a function, got '%s'"):format(
      a.activation))
  end
end

---src (L, N, d_model), or (N, L, d_model) with batch_first.
---@param src torch.Tensor
---@param options? {src_mask: torch.Tensor, src_key_padding_mask: torch.Tensor}
---@return torch.Tensor
function TransformerEncoderLayer:forward(src, options)
  options = args.options(options, {'src_mask', 'src_key_padding_mask'}, 'TransformerEncoderLayer')
  local function attention(x)
    return self.dropout1((self.self_attn(x, x, x, {attn_mask = options.src_mask,
      key_padding_mask = options.src_key_padding_mask, need_weights = false})))
  end
  local function feed_forward(x)
    return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
  end
  if self.norm_first then
    local x = src + attention(self.norm1(src))
    return x + feed_forward(self.norm2(x))
  end
  local x = self.norm1(src + attention(src))
  return self.norm2(x + feed_forward(x))
end

---Several encoder layers one after the other, all beginning with the parameters of the given one, as in PyTorch.
---Arguments: encoder_layer, num_layers, {norm}.
---@class nn.TransformerEncoder: nn.Module
---@overload fun(encoder_layer: nn.TransformerEncoderLayer, num_layers: integer, options?: table): nn.TransformerEncoder
local TransformerEncoder = Module:extend('TransformerEncoder')

local encoder_signature = args.signature('TransformerEncoder', {'encoder_layer', 'num_layers', {'norm'}})

function TransformerEncoder:init(...)
  local a = encoder_signature:bind(...)
  self.layers = ModuleList()
  local state = a.encoder_layer:state_dict()
  for _ = 1, a.num_layers do
    local layer = TransformerEncoderLayer(a.encoder_layer._arguments)
    layer:load_state_dict(state)
    self.layers:append(layer)
  end
  self.num_layers, self.norm = a.num_layers, a.norm
end

---@param src torch.Tensor (L, N, d_model), or (N, L, d_model) with batch_first
---@param options? {mask: torch.Tensor, src_key_padding_mask: torch.Tensor}
---@return torch.Tensor
function TransformerEncoder:forward(src, options)
  options = args.options(options, {'mask', 'src_key_padding_mask'}, 'TransformerEncoder')
  for _, layer in ipairs(self.layers) do
    src = layer(src, {src_mask = options.mask, src_key_padding_mask = options.src_key_padding_mask})
  end
  return self.norm and self.norm(src) or src
end

return {TransformerEncoderLayer = TransformerEncoderLayer, TransformerEncoder = TransformerEncoder}
