-- vision/transforms/functional/geometry.lua: matrices of affine and perspective maps, and their grids for grid_sampler.

local torch = require 'torch'

local geometry = {}

---Returns the matrix {a, b, c, d, e, f} from positions in the result to positions in the image, for a map that shears,
---rotates and scales about the centre, and then shifts.
---@param map {center: number[], angle: number, translate: number[], scale: number, shear: number[]} degrees and pixels
---@return number[]
function geometry.inverse_affine_matrix(map)
  local rotation, sx, sy = math.rad(map.angle), math.rad(map.shear[1]), math.rad(map.shear[2])
  local cx, cy = map.center[1], map.center[2]
  local tx, ty = map.translate[1], map.translate[2]
  local cos, sin = math.cos(rotation - sy) / math.cos(sy), math.sin(rotation - sy) / math.cos(sy)
  local a, b = cos, -math.cos(rotation - sy) * math.tan(sx) / math.cos(sy) - math.sin(rotation)
  local c, d = sin, -math.sin(rotation - sy) * math.tan(sx) / math.cos(sy) + math.cos(rotation)
  -- The inverse of rotation and shear has determinant 1.
  local m = {d / map.scale, -b / map.scale, 0, -c / map.scale, a / map.scale, 0}
  m[3] = m[1] * (-cx - tx) + m[2] * (-cy - ty) + cx
  m[6] = m[4] * (-cx - tx) + m[5] * (-cy - ty) + cy
  return m
end

---Returns {height, width} that contain the whole rotated image.
---@param matrix number[]
---@param size integer[] {height, width}
---@return integer[]
function geometry.expanded_size(matrix, size)
  local h, w = size[1], size[2]
  local corners = torch.tensor{{-0.5 * w, -0.5 * h, 1}, {-0.5 * w, 0.5 * h, 1}, {0.5 * w, 0.5 * h, 1},
                               {0.5 * w, -0.5 * h, 1}}:float()
  local moved = corners:matmul(torch.tensor(matrix):float():view{2, 3}:t())
  local middle = torch.tensor{w * 0.5, h * 0.5}:float()
  -- Uses four decimals, so that a rounding error does not add a pixel.
  local function whole(x) return (x / 1e-4):trunc() * 1e-4 end
  local min, max = whole(moved:amin(0) + middle):floor(), whole(moved:amax(0) + middle):ceil()
  local extent = (max - min):tolist()
  return {extent[2], extent[1]}
end

-- Returns x, y, 1 of each pixel's centre: (1, h · w, 3).
local function base_grid(size, x_from, y_from, like)
  local h, w = size[1], size[2]
  local base = torch.empty({1, h, w, 3}, {dtype = like.dtype, device = like.device})
  base:select(-1, 0):copy_(torch.linspace(x_from, x_from + w - 1, w))
  base:select(-1, 1):copy_(torch.linspace(y_from, y_from + h - 1, h):unsqueeze(-1))
  base:select(-1, 2):fill_(1)
  return base:view{1, h * w, 3}
end

local function tensor_like(values, like) return torch.tensor(values, {dtype = like.dtype, device = like.device}) end

---@param matrix number[] result of inverse_affine_matrix
---@param size integer[] {height, width} of the image
---@param out integer[] {height, width} of the result
---@param like torch.Tensor determines dtype and device
---@return torch.Tensor grid (1, h, w, 2)
function geometry.affine_grid(matrix, size, out, like)
  local base = base_grid(out, -out[2] * 0.5 + 0.5, -out[1] * 0.5 + 0.5, like)
  local theta = tensor_like(matrix, like):view{1, 2, 3}
  local scaled = theta:transpose(1, 2) / tensor_like({0.5 * size[2], 0.5 * size[1]}, like)
  return base:bmm(scaled):view{1, out[1], out[2], 2}
end

---Returns the eight coefficients of the map from the endpoints to the startpoints.
---@param startpoints number[][]
---@param endpoints number[][]
---@return number[]
function geometry.perspective_coefficients(startpoints, endpoints)
  local rows, values = {}, {}
  for i, from in ipairs(endpoints) do
    local to = startpoints[i]
    rows[#rows + 1] = {from[1], from[2], 1, 0, 0, 0, -to[1] * from[1], -to[1] * from[2]}
    rows[#rows + 1] = {0, 0, 0, from[1], from[2], 1, -to[2] * from[1], -to[2] * from[2]}
    values[#values + 1], values[#values + 2] = {to[1]}, {to[2]}
  end
  local double = {dtype = 'float64'}
  local solution = torch.linalg.lstsq(torch.tensor(rows, double), torch.tensor(values, double), {driver = 'gels'})
  return solution:float():view(-1):tolist()
end

---@param coefficients number[] result of perspective_coefficients
---@param size integer[] {height, width}
---@param like torch.Tensor determines dtype and device
---@return torch.Tensor grid (1, h, w, 2)
function geometry.perspective_grid(coefficients, size, like)
  local c, h, w = coefficients, size[1], size[2]
  local base = base_grid(size, 0.5, 0.5, like)
  local above = tensor_like({{{c[1], c[2], c[3]}, {c[4], c[5], c[6]}}}, like)
  local below = tensor_like({{{c[7], c[8], 1}, {c[7], c[8], 1}}}, like)
  local scaled = above:transpose(1, 2) / tensor_like({0.5 * w, 0.5 * h}, like)
  return (base:bmm(scaled) / base:bmm(below:transpose(1, 2)) - 1):view{1, h, w, 2}
end

---Returns the grid that keeps an image unchanged.
---@param h integer
---@param w integer
---@return torch.Tensor grid (1, h, w, 2)
function geometry.identity_grid(h, w)
  local function places(size) return torch.linspace((-size + 1) / size, (size - 1) / size, size) end
  local x, y = places(w):view{1, w}:expand(h, w), places(h):view{h, 1}:expand(h, w)
  return torch.stack({x, y}, -1):unsqueeze(0)
end

return geometry
