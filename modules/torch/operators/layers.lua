-- torch/operators/layers.lua: operators of layers, also in torch.nn.functional under the same names.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Computes input · weightᵀ + bias.
---
---```lua
---local torch = require 'torch'
---assert(torch.linear(torch.ones(5, 3), torch.ones(2, 3)).shape[2] == 2)
---```
---@param input torch.Tensor (…, in)
---@param weight torch.Tensor (out, in)
---@param bias? torch.Tensor|nil (out)
---@return torch.Tensor # (…, out)
function torch.linear(input, weight, bias) end

---Computes input1ᵀ · weight · input2 + bias.
---
---```lua
---local torch = require 'torch'
---assert(torch.bilinear(torch.ones(5, 3), torch.ones(5, 2), torch.ones(4, 3, 2)).shape[2] == 4)
---```
---@param input1 torch.Tensor (…, in1)
---@param input2 torch.Tensor (…, in2)
---@param weight torch.Tensor (out, in1, in2)
---@param bias? torch.Tensor|nil (out)
---@return torch.Tensor # (…, out)
function torch.bilinear(input1, input2, weight, bias) end

---Computes a convolution over one dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.conv1d(torch.ones(1, 2, 9), torch.ones(4, 2, 3), nil, {padding = 1}).shape[3] == 9)
---```
---@param input torch.Tensor (N, C, L) or (C, L)
---@param weight torch.Tensor (out, C / groups, k)
---@param bias? torch.Tensor|nil (out)
---@param stride? integer|integer[]
---@param padding? integer|integer[]|string zeros on both sides, 'same' or 'valid'
---@param dilation? integer|integer[]
---@param groups? integer
---@return torch.Tensor # (N, out, L′), L′ = ⌊(L + 2 · padding - dilation · (k - 1) - 1) / stride⌋ + 1
function torch.conv1d(input, weight, bias, stride, padding, dilation, groups) end

---Computes a convolution over two dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3), nil, {stride = 2}).shape[4] == 3)
---```
---@param input torch.Tensor (N, C, H, W) or (C, H, W)
---@param weight torch.Tensor (out, C / groups, kh, kw)
---@param bias? torch.Tensor|nil (out)
---@param stride? integer|integer[]
---@param padding? integer|integer[]|string zeros on both sides, 'same' or 'valid'
---@param dilation? integer|integer[]
---@param groups? integer
---@return torch.Tensor # (N, out, H′, W′), H′ = ⌊(H + 2 · padding - dilation · (kh - 1) - 1) / stride⌋ + 1
function torch.conv2d(input, weight, bias, stride, padding, dilation, groups) end

---Computes a convolution over three dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.conv3d(torch.ones(1, 1, 4, 4, 4), torch.ones(2, 1, 2, 2, 2)).shape[5] == 3)
---```
---@param input torch.Tensor (N, C, D, H, W) or (C, D, H, W)
---@param weight torch.Tensor (out, C / groups, kd, kh, kw)
---@param bias? torch.Tensor|nil (out)
---@param stride? integer|integer[]
---@param padding? integer|integer[]|string zeros on both sides, 'same' or 'valid'
---@param dilation? integer|integer[]
---@param groups? integer
---@return torch.Tensor # (N, out, D′, H′, W′)
function torch.conv3d(input, weight, bias, stride, padding, dilation, groups) end

---Computes a transposed convolution over two dimensions: the gradient of conv2d by its input.
---
---```lua
---local torch = require 'torch'
---assert(torch.conv_transpose2d(torch.ones(1, 3, 4, 4), torch.ones(3, 2, 2, 2), nil, 2).shape[4] == 8)
---```
---@param input torch.Tensor (N, C, H, W)
---@param weight torch.Tensor (C, out / groups, kh, kw)
---@param bias? torch.Tensor|nil (out)
---@param stride? integer|integer[]
---@param padding? integer|integer[]
---@param output_padding? integer|integer[]
---@param groups? integer
---@param dilation? integer|integer[]
---@return torch.Tensor # (N, out, H′, W′), H′ = (H - 1) · stride - 2 · padding + dilation · (kh - 1) + output_padding + 1
function torch.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation) end

---Computes a transposed convolution over one dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.conv_transpose1d(torch.ones(1, 3, 4), torch.ones(3, 2, 2), nil, 2).shape[3] == 8)
---```
---@param input torch.Tensor (N, C, L)
---@param weight torch.Tensor (C, out / groups, k)
---@param bias? torch.Tensor|nil (out)
---@param stride? integer|integer[]
---@param padding? integer|integer[]
---@param output_padding? integer|integer[]
---@param groups? integer
---@param dilation? integer|integer[]
---@return torch.Tensor # (N, out, L′)
function torch.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation) end

---Computes a transposed convolution over three dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2), nil, 2).shape[5] == 4)
---```
---@param input torch.Tensor (N, C, D, H, W)
---@param weight torch.Tensor (C, out / groups, kd, kh, kw)
---@param bias? torch.Tensor|nil (out)
---@param stride? integer|integer[]
---@param padding? integer|integer[]
---@param output_padding? integer|integer[]
---@param groups? integer
---@param dilation? integer|integer[]
---@return torch.Tensor # (N, out, D′, H′, W′)
function torch.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation) end

---Computes a convolution over one dimension with the channels last.
---
---```lua
---local torch = require 'torch'
---assert(torch.conv_tbc(torch.ones(5, 1, 2), torch.ones(3, 2, 4), torch.zeros(4)).shape[3] == 4)
---```
---@param input torch.Tensor (L, N, C)
---@param weight torch.Tensor (k, C, out)
---@param bias torch.Tensor (out)
---@param pad? integer on both sides
---@return torch.Tensor # (L′, N, out)
function torch.conv_tbc(input, weight, bias, pad) end

---Computes the mean of each window.
---
---```lua
---local torch = require 'torch'
---assert(torch.avg_pool1d(torch.ones(1, 1, 4), 2).shape[3] == 2)
---```
---@param input torch.Tensor (N, C, L) or (C, L)
---@param kernel_size integer|integer[]
---@param stride? integer|integer[] default: kernel_size
---@param padding? integer|integer[]
---@param ceil_mode? boolean
---@param count_include_pad? boolean whether padding counts
---@return torch.Tensor # (N, C, L′)
function torch.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad) end

---Computes the mean of each window.
---
---```lua
---local torch = require 'torch'
---assert(torch.avg_pool3d(torch.ones(1, 1, 2, 2, 2), 2).shape[5] == 1)
---```
---@param input torch.Tensor (N, C, D, H, W) or (C, D, H, W)
---@param kernel_size integer|integer[]
---@param stride? integer|integer[] default: kernel_size
---@param padding? integer|integer[]
---@param ceil_mode? boolean
---@param count_include_pad? boolean whether padding counts
---@param divisor_override? integer instead of the size of the window
---@return torch.Tensor # (N, C, D′, H′, W′)
function torch.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) end

---Computes means such that the output has the given length.
---
---```lua
---local torch = require 'torch'
---assert(torch.adaptive_avg_pool1d(torch.ones(1, 2, 7), 3).shape[3] == 3)
---```
---@param input torch.Tensor (N, C, L) or (C, L)
---@param output_size integer|integer[]
---@return torch.Tensor # (N, C, output_size)
function torch.adaptive_avg_pool1d(input, output_size) end

---Interleaves the channels of the groups (Zhang et al. 2018).
---
---```lua
---local torch = require 'torch'
---assert(torch.channel_shuffle(torch.arange(4):view(1, 4, 1), 2)[0][1]:item() == 2)
---```
---@param input torch.Tensor (N, C, …)
---@param groups integer divides C
---@return torch.Tensor # of the shape of input
function torch.channel_shuffle(input, groups) end

---As channel_shuffle, with a separate kernel.
---@param input torch.Tensor (N, C, …)
---@param groups integer divides C
---@return torch.Tensor # of the shape of input
function torch.native_channel_shuffle(input, groups) end

---Computes the distances between vectors, row by row.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.pairwise_distance(torch.zeros(1, 2), torch.tensor{{3, 4}}):item() - 5) < 1e-4)
---```
---@param x1 torch.Tensor (N, D) or (D)
---@param x2 torch.Tensor (N, D) or (D)
---@param p? number order of the norm
---@param eps? number added to the difference
---@param keepdim? boolean
---@return torch.Tensor # (N)
function torch.pairwise_distance(x1, x2, p, eps, keepdim) end

---Computes the distances between all pairs of rows.
---
---```lua
---local torch = require 'torch'
---assert(torch.pdist(torch.ones(4, 2)).shape[1] == 6)
---```
---@param input torch.Tensor (N, D)
---@param p? number order of the norm
---@return torch.Tensor # (N · (N - 1) / 2)
function torch.pdist(input, p) end

---Returns the greatest value of each window.
---
---```lua
---local torch = require 'torch'
---assert(torch.max_pool2d(torch.ones(1, 1, 4, 4), 2).shape[4] == 2)
---```
---@param input torch.Tensor (N, C, H, W) or (C, H, W)
---@param kernel_size integer|integer[]
---@param stride? integer|integer[] default: kernel_size
---@param padding? integer|integer[]
---@param dilation? integer|integer[]
---@param ceil_mode? boolean
---@return torch.Tensor # (N, C, H′, W′)
function torch.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode) end

---Computes the mean of each window.
---
---```lua
---local torch = require 'torch'
---assert(torch.avg_pool2d(torch.ones(1, 1, 4, 4), 2):mean():item() == 1)
---```
---@param input torch.Tensor (N, C, H, W) or (C, H, W)
---@param kernel_size integer|integer[]
---@param stride? integer|integer[] default: kernel_size
---@param padding? integer|integer[]
---@param ceil_mode? boolean
---@param count_include_pad? boolean whether padding counts
---@param divisor_override? integer instead of the size of the window
---@return torch.Tensor # (N, C, H′, W′)
function torch.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) end

---Computes means such that the output has the given size.
---
---```lua
---local torch = require 'torch'
---assert(torch.adaptive_avg_pool2d(torch.ones(1, 2, 7, 7), 1).shape[4] == 1)
---```
---@param input torch.Tensor (N, C, H, W) or (C, H, W)
---@param output_size integer|integer[]
---@return torch.Tensor # (N, C, output_size)
function torch.adaptive_avg_pool2d(input, output_size) end

---Adds a border.
---
---```lua
---local torch = require 'torch'
---assert(torch.pad(torch.ones(1, 2), {1, 1}).shape[2] == 4)
---```
---@param input torch.Tensor any shape
---@param pad integer[] left and right of the last dimension, then of the one before it, …; negative numbers crop
---@param mode? 'constant'|'reflect'|'replicate'|'circular'
---@param value? number for mode 'constant', default 0
---@return torch.Tensor
function torch.pad(input, pad, mode, value) end

---Converts labels to rows with a single 1.
---
---```lua
---local torch = require 'torch'
---assert(torch.one_hot(torch.tensor{2LL}, 3)[0][2]:item() == 1)
---```
---@param input torch.Tensor int64, any shape
---@param num_classes? integer -1: the greatest label + 1
---@return torch.Tensor # (…, num_classes) int64
function torch.one_hot(input, num_classes) end

---Enlarges images by moving channels into pixels.
---
---```lua
---local torch = require 'torch'
---assert(torch.pixel_shuffle(torch.ones(1, 4, 2, 2), 2).shape[4] == 4)
---```
---@param input torch.Tensor (…, C · r², H, W)
---@param upscale_factor integer r
---@return torch.Tensor # (…, C, H · r, W · r)
function torch.pixel_shuffle(input, upscale_factor) end

---Moves pixels of images into channels.
---
---```lua
---local torch = require 'torch'
---assert(torch.pixel_unshuffle(torch.ones(1, 1, 4, 4), 2).shape[2] == 4)
---```
---@param input torch.Tensor (…, C, H · r, W · r)
---@param downscale_factor integer r
---@return torch.Tensor # (…, C · r², H, W)
function torch.pixel_unshuffle(input, downscale_factor) end

---Computes the cosine of the angle between vectors.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.cosine_similarity(torch.ones(1, 3), torch.ones(1, 3)):item() - 1) < 1e-6)
---```
---@param x1 torch.Tensor
---@param x2 torch.Tensor broadcasts with x1
---@param dim? integer
---@param eps? number smallest product of the lengths
---@return torch.Tensor # without dim
function torch.cosine_similarity(x1, x2, dim, eps) end

---Computes softmax(query · keyᵀ · scale + mask) · value (Vaswani et al. 2017), with the fastest available kernel.
---
---```lua
---local torch = require 'torch'
---local q = torch.randn(2, 4, 5, 8)
---assert(torch.scaled_dot_product_attention(q, q, q, {is_causal = true}).shape[4] == 8)
---```
---@param query torch.Tensor (N, …, L, E)
---@param key torch.Tensor (N, …, S, E)
---@param value torch.Tensor (N, …, S, V)
---@param attn_mask? torch.Tensor|nil (…, L, S): bool, true where attention is allowed, or numbers added to the scores
---@param dropout_p? number
---@param is_causal? boolean a position attends only to itself and to earlier ones
---@param scale? number default 1 / √E
---@param enable_gqa? boolean allows fewer heads of keys than of queries
---@return torch.Tensor # (N, …, L, V)
function torch.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa) end

---Zeroes elements with probability p and scales the others by 1 / (1 - p). F.dropout has defaults.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.dropout(torch.ones(3), 0.5, false), torch.ones(3)))
---```
---@param input torch.Tensor any shape
---@param p number
---@param train boolean false: returns input
---@return torch.Tensor
function torch.dropout(input, p, train) end

---Selects rows of a table by their indices. F.embedding takes the indices first.
---
---```lua
---local torch = require 'torch'
---assert(torch.embedding(torch.eye(3), torch.tensor{2LL})[0][2]:item() == 1)
---```
---@param weight torch.Tensor (num_embeddings, dim)
---@param indices torch.Tensor int64, any shape
---@param padding_idx? integer a row that gets no gradient
---@param scale_grad_by_freq? boolean
---@param sparse? boolean
---@return torch.Tensor # (…, dim)
function torch.embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse) end

---Normalizes over the last dimensions (Ba et al. 2016).
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.layer_norm(torch.arange(4):float(), {4}):mean():item()) < 1e-6)
---```
---@param input torch.Tensor (…, normalized_shape)
---@param normalized_shape integer[]
---@param weight? torch.Tensor|nil (normalized_shape)
---@param bias? torch.Tensor|nil (normalized_shape)
---@param eps? number added to the variance
---@return torch.Tensor # of the shape of input
function torch.layer_norm(input, normalized_shape, weight, bias, eps) end

return torch
