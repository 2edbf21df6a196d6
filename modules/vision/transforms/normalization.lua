-- vision/transforms/normalization.lua: Normalize and LinearTransformation.

local errors = require 'base.errors'
local normalize = require('vision.transforms.functional.normalization').normalize
local repr = require 'torch.nn.repr'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'
local transform = require 'vision.transforms.transform'

---Computes (x - mean) / std for each channel of floats (…, c, h, w). Arguments: mean, std (lists, or a number for one
---channel), inplace = false.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.Normalize(0.5, 0.25)(torch.ones(1, 2, 2)):max():item() == 2)
---```
---@class vision.Normalize
---@overload fun(mean: number|number[], std: number|number[], options?: {inplace: boolean}): vision.Normalize
local Normalize = transform.define('Normalize', {'mean', 'std', {'inplace', false}}, function(self)
  self.mean, self.std = sizes.of_channels('Normalize: mean', self.mean), sizes.of_channels('Normalize: std', self.std)
  for _, std in ipairs(self.std) do
    if std == 0 then errors.raise('argument', 'Normalize: std must not be 0') end
  end
end)
Normalize.takes_batches = true

function Normalize:extra_repr() return ('mean=%s, std=%s'):format(repr.list(self.mean), repr.list(self.std)) end

function Normalize:forward(image) return normalize(image, self.mean, self.std, self.inplace) end

function Normalize:fuse(plan)
  return plan:change_tensor(function(levels) return normalize(levels, self.mean, self.std) end)
end

---Flattens (…, c, h, w), subtracts a vector and multiplies by a square matrix, as whitening does. Arguments:
---transformation_matrix (d, d), mean_vector (d), d = c · h · w.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.LinearTransformation(torch.eye(4) * 2, torch.ones(4))(torch.ones(1, 2, 2)):sum():item() == 0)
---```
---@class vision.LinearTransformation
---@overload fun(transformation_matrix: torch.Tensor, mean_vector: torch.Tensor): vision.LinearTransformation
local LinearTransformation = transform.define('LinearTransformation', {'transformation_matrix', 'mean_vector'},
  function(self)
    local matrix, mean = self.transformation_matrix, self.mean_vector
    if not (torch.is_tensor(matrix) and torch.is_tensor(mean)) then
      errors.raise('argument', 'LinearTransformation: expected two Tensors, a matrix (d, d) and a vector (d)')
    end
    if matrix:dim() ~= 2 or matrix:size(0) ~= matrix:size(1) or mean:dim() ~= 1 or mean:size(0) ~= matrix:size(0) then
      errors.raise('argument', ('LinearTransformation: expected a matrix (d, d) and a vector (d), got %s and %s'):format(
        tostring(matrix.shape), tostring(mean.shape)))
    end
    if matrix.dtype ~= mean.dtype then
      errors.raise('argument', ('LinearTransformation: the matrix is %s, the vector %s'):format(matrix.dtype, mean.dtype))
    end
  end)
LinearTransformation.takes_batches = true

function LinearTransformation:extra_repr()
  return ('transformation_matrix=%s, mean_vector=%s'):format(tostring(self.transformation_matrix.shape),
    tostring(self.mean_vector.shape))
end

function LinearTransformation:forward(image)
  local count = self.mean_vector:size(0)
  if not torch.is_tensor(image) or image:dim() < 3 or image:size(-3) * image:size(-2) * image:size(-1) ~= count then
    errors.raise('argument', ('LinearTransformation: expected an image (…, c, h, w) of %d numbers, got %s'):format(count,
      torch.is_tensor(image) and 'shape ' .. tostring(image.shape) or 'a ' .. type(image)))
  end
  local flat = image:reshape{-1, count} - self.mean_vector
  return flat:mm(self.transformation_matrix:to(flat.dtype)):view(image:size())
end

return {Normalize = Normalize, LinearTransformation = LinearTransformation}
