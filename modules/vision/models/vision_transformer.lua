-- vision/models/vision_transformer.lua: VisionTransformer (Dosovitskiy et al. 2021).

local args = require 'base.args'
local builder = require 'vision.models.builder'
local errors = require 'base.errors'
local nn = require 'torch.nn'
local ordered = require 'base.ordered'
local torch = require 'torch'

local function default_norm(size) return nn.LayerNorm(size, {eps = 1e-6}) end

-- Linear, GELU, Dropout, Linear, Dropout.
local function feed_forward(hidden_dim, mlp_dim, dropout)
  local mlp = nn.Sequential(nn.Linear(hidden_dim, mlp_dim), nn.GELU(), nn.Dropout(dropout),
    nn.Linear(mlp_dim, hidden_dim), nn.Dropout(dropout))
  for _, layer in ipairs{mlp[1], mlp[4]} do
    nn.init.xavier_uniform_(layer.weight)
    nn.init.normal_(layer.bias, {std = 1e-6})
  end
  return mlp
end

-- One layer: (N, S, hidden_dim) → the same shape.
local EncoderBlock = nn.Module:extend('EncoderBlock')

function EncoderBlock:init(a)
  self.ln_1 = a.norm_layer(a.hidden_dim)
  self.self_attention = nn.MultiheadAttention(a.hidden_dim, a.num_heads, {dropout = a.attention_dropout,
                                                                           batch_first = true})
  self.dropout = nn.Dropout(a.dropout)
  self.ln_2 = a.norm_layer(a.hidden_dim)
  self.mlp = feed_forward(a.hidden_dim, a.mlp_dim, a.dropout)
end

function EncoderBlock:forward(input)
  local x = self.ln_1(input)
  x = self.self_attention(x, x, x, {need_weights = false})
  x = self.dropout(x) + input
  return x + self.mlp(self.ln_2(x))
end

-- Adds the position embedding, then applies all layers: (N, S, hidden_dim) → the same shape.
local Encoder = nn.Module:extend('Encoder')

function Encoder:init(a, seq_length)
  self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, a.hidden_dim):normal_(0, 0.02))
  self.dropout = nn.Dropout(a.dropout)
  local layers = ordered.new()
  for i = 0, a.num_layers - 1 do layers['encoder_layer_' .. i] = EncoderBlock(a) end
  self.layers = nn.Sequential(layers)
  self.ln = a.norm_layer(a.hidden_dim)
end

function Encoder:forward(x) return self.ln(self.layers(self.dropout(x + self.pos_embedding))) end

local function patch_stem(a)
  local conv = nn.Conv2d(3, a.hidden_dim, a.patch_size, a.patch_size)
  return conv, function()
    nn.init.trunc_normal_(conv.weight, {std = math.sqrt(1 / (3 * a.patch_size ^ 2))})
    nn.init.zeros_(conv.bias)
  end
end

local STEM_FIELDS = {'out_channels', 'kernel_size', 'stride', 'norm_layer', 'activation_layer'}

-- Convolutions in place of the single patch convolution (Xiao et al. 2021).
local function conv_stem(a)
  local stem, channels = ordered.new(), 3
  for i, given in ipairs(a.conv_stem_configs) do
    local config = args.options(given, STEM_FIELDS, 'conv_stem_configs')
    local padding = math.floor((config.kernel_size - 1) / 2)
    stem['conv_bn_relu_' .. i - 1] = nn.Sequential(
      nn.Conv2d(channels, config.out_channels, config.kernel_size, {stride = config.stride, padding = padding,
                                                                    bias = false}),
      (config.norm_layer or nn.BatchNorm2d)(config.out_channels),
      (config.activation_layer or nn.ReLU){inplace = true})
    channels = config.out_channels
  end
  local last = nn.Conv2d(channels, a.hidden_dim, 1)
  stem.conv_last = last
  return nn.Sequential(stem), function()
    nn.init.normal_(last.weight, {mean = 0, std = math.sqrt(2 / a.hidden_dim)})
    nn.init.zeros_(last.bias)
  end
end

local function make_heads(a)
  local heads = ordered.new()
  if a.representation_size then
    heads.pre_logits = nn.Linear(a.hidden_dim, a.representation_size)
    heads.act = nn.Tanh()
  end
  heads.head = nn.Linear(a.representation_size or a.hidden_dim, a.num_classes)
  return nn.Sequential(heads)
end

local function initialize_heads(a, heads)
  if a.representation_size then
    nn.init.trunc_normal_(heads.pre_logits.weight, {std = math.sqrt(1 / a.hidden_dim)})
    nn.init.zeros_(heads.pre_logits.bias)
  end
  nn.init.zeros_(heads.head.weight)
  nn.init.zeros_(heads.head.bias)
end

---A transformer over the patches of an image: (N, 3, image_size, image_size) → logits (N, num_classes). The names in
---state_dict and the initial parameters for a seed are torchvision's. Arguments: image_size, patch_size (divides
---image_size), num_layers, num_heads (divides hidden_dim), hidden_dim, mlp_dim, {dropout = 0, attention_dropout = 0,
---num_classes = 1000, representation_size (width of an additional layer with tanh before the last), norm_layer
---(function(size); LayerNorm with eps = 1e-6), conv_stem_configs (a list of {out_channels, kernel_size, stride,
---norm_layer, activation_layer}: convolutions that make the patches)}.
---
---```lua
---local torch = require 'torch'
---local models = require 'vision.models'
---local model = models.VisionTransformer{image_size = 32, patch_size = 4, num_layers = 2, num_heads = 2, hidden_dim = 8,
---                                       mlp_dim = 16, num_classes = 10}
---assert(model(torch.zeros(2, 3, 32, 32)).shape[2] == 10)
---assert(model.encoder.pos_embedding.shape[2] == 65)  -- 8 · 8 patches and the class token
---```
---@class vision.VisionTransformer: nn.Module
---@overload fun(image_size: integer|table, patch_size?: integer, num_layers?: integer, ...: any): vision.VisionTransformer
---@field class_token torch.Tensor (1, 1, hidden_dim)
---@field heads nn.Sequential the layers that compute logits
local VisionTransformer = nn.Module:extend('VisionTransformer')

local signature = args.signature('VisionTransformer', {'image_size', 'patch_size', 'num_layers', 'num_heads',
  'hidden_dim', 'mlp_dim', {'dropout', 0}, {'attention_dropout', 0}, {'num_classes', 1000}, {'representation_size'},
  {'norm_layer'}, {'conv_stem_configs'}})

function VisionTransformer:init(...)
  local a = signature:bind(...)
  if a.image_size % a.patch_size ~= 0 then
    errors.raise('argument', ('VisionTransformer: patch_size = %s must divide image_size = %s'):format(
      tostring(a.patch_size), tostring(a.image_size)))
  end
  a.norm_layer = a.norm_layer or default_norm
  self.image_size, self.patch_size, self.hidden_dim, self.mlp_dim = a.image_size, a.patch_size, a.hidden_dim, a.mlp_dim
  self.num_classes, self.representation_size = a.num_classes, a.representation_size
  local initialize_stem
  self.conv_proj, initialize_stem = (a.conv_stem_configs and conv_stem or patch_stem)(a)
  self.class_token = nn.Parameter(torch.zeros(1, 1, a.hidden_dim))
  self.seq_length = (a.image_size / a.patch_size) ^ 2 + 1
  self.encoder = Encoder(a, self.seq_length)
  self.heads = make_heads(a)
  initialize_stem()
  initialize_heads(a, self.heads)
end

-- (N, 3, H, W) → (N, patches, hidden_dim).
local function patches(self, x)
  local size = self.image_size
  if x:dim() ~= 4 or x.shape[3] ~= size or x.shape[4] ~= size then
    errors.raise('argument', ('VisionTransformer: expected images of shape (N, 3, %d, %d), got %s'):format(size, size,
      tostring(x.shape)))
  end
  return self.conv_proj(x):flatten(2):permute{0, 2, 1}
end

function VisionTransformer:forward(x)
  x = patches(self, x)
  x = torch.cat({self.class_token:expand{x.shape[1], -1, -1}, x}, 1)
  return self.heads(self.encoder(x):select(1, 0))
end

local function variant(name, patch_size, num_layers, num_heads, hidden_dim, mlp_dim)
  return builder(name, VisionTransformer, {patch_size = patch_size, num_layers = num_layers, num_heads = num_heads,
    hidden_dim = hidden_dim, mlp_dim = mlp_dim}, {image_size = 224})
end

local vision_transformer = {VisionTransformer = VisionTransformer}

---ViT-B/16. Arguments: {image_size = 224, num_classes = 1000 and the other keywords of VisionTransformer}; `weights` can only
---be nil.
vision_transformer.vit_b_16 = variant('vit_b_16', 16, 12, 12, 768, 3072)
---ViT-B/32; arguments as vit_b_16.
vision_transformer.vit_b_32 = variant('vit_b_32', 32, 12, 12, 768, 3072)
---ViT-L/16; arguments as vit_b_16.
vision_transformer.vit_l_16 = variant('vit_l_16', 16, 24, 16, 1024, 4096)
---ViT-L/32; arguments as vit_b_16.
vision_transformer.vit_l_32 = variant('vit_l_32', 32, 24, 16, 1024, 4096)
---ViT-H/14; arguments as vit_b_16.
vision_transformer.vit_h_14 = variant('vit_h_14', 14, 32, 16, 1280, 5120)

return vision_transformer
