-- vision/datasets/shapes10.lua: Shapes10: drawn shapes of ten kinds, for machines without data sets.
--
-- Only sums, products, quotients and square roots, one operation at a time, and 64-bit integers are used: these are
-- exact or rounded alike on every machine, unlike sines and logarithms.

local args = require 'base.args'
local base = require 'vision.datasets.vision_dataset'
local errors = require 'base.errors'
local ffi = require 'ffi'
local torch = require 'torch'

local NOISE = 12  -- largest noise, in levels
local IMAGES_AT_ONCE = 256

local abs, floor, max, min, sqrt = math.abs, math.floor, math.max, math.min, math.sqrt

-- Returns numbers in [0, 1) from a 64-bit state, by SplitMix64.
local function next_number(state)
  state[0] = state[0] + 0x9e3779b97f4a7c15ULL
  local z = state[0]
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xbf58476d1ce4e5b9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94d049bb133111ebULL
  return tonumber(bit.rshift(bit.bxor(z, bit.rshift(z, 31)), 11)) * 0x1p-53
end

-- Each function returns the approximate distance of a point from a shape that fills -1 … 1; negative inside. They have
-- no branches, so that a loop over pixels is compiled as one trace.
local SHAPES = {
  {'disk', function(u, v) return sqrt(u * u + v * v) - 1 end},
  {'ring', function(u, v)
    local r = sqrt(u * u + v * v)
    return max(r - 1, 0.62 - r)
  end},
  {'square', function(u, v) return max(abs(u), abs(v)) - 0.8 end},
  {'frame', function(u, v)
    local r = max(abs(u), abs(v))
    return max(r - 0.85, 0.55 - r)
  end},
  {'triangle', function(u, v) return max(-0.5 - v, (sqrt(3) * abs(u) + v - 1) / 2) end},
  {'cross', function(u, v) return max(max(abs(u), abs(v)) - 1, min(abs(u), abs(v)) - 0.28) end},
  {'bar', function(u, v) return max(abs(u) - 1, abs(v) - 0.22) end},
  {'crescent', function(u, v) return max(sqrt(u * u + v * v) - 1, 0.77 - sqrt((u - 0.45) * (u - 0.45) + v * v)) end},
  {'star', function(u, v) return (min(abs(u) + 3 * abs(v), 3 * abs(u) + abs(v)) - 1) / 3 end},
  {'checks', function(u, v)
    local r = max(abs(u), abs(v))
    return max(r - 0.9, -u * v / (r + 1e-9))
  end},
}

-- Returns the pose of a shape: its centre, its radius in pixels, its rotation. The points ((1 - t²) / (1 + t²), 2 t /
-- (1 + t²)) for t in -1 … 1 are the right half of the circle; a sign selects the left half.
local function random_pose(state, size)
  local pose = {radius = size * (0.24 + 0.2 * next_number(state))}
  local room = size - 2 * pose.radius
  pose.x, pose.y = pose.radius + room * next_number(state), pose.radius + room * next_number(state)
  local t = 2 * next_number(state) - 1
  local sign = next_number(state) < 0.5 and -1 or 1
  pose.c, pose.s = sign * (1 - t * t) / (1 + t * t), sign * 2 * t / (1 + t * t)
  return pose
end

-- Returns the background levels of each channel, and the difference to those of the shape, which is large in one
-- channel.
local function random_colours(state, channels)
  local grounds, changes = {}, {}
  for k = 1, channels do
    grounds[k] = 255 * next_number(state)
    changes[k] = 255 * next_number(state) - grounds[k]
  end
  local k = floor(channels * next_number(state)) + 1
  if abs(changes[k]) < 100 then changes[k] = grounds[k] < 128 and 110 or -110 end
  return grounds, changes
end

-- Computes the part of each pixel that the shape covers, as if its edge were straight.
local function cover(covered, distance, pose, size)
  local c, s, px, py, radius = pose.c, pose.s, pose.x, pose.y, pose.radius
  for at = 0, size * size - 1 do
    local y = floor(at / size)
    local dx, dy = at - y * size + 0.5 - px, y + 0.5 - py
    local outside = distance((c * dx + s * dy) / radius, (c * dy - s * dx) / radius)
    covered[at] = max(0, min(1, 0.5 - outside * radius))
  end
end

-- Returns the components of the images from `first` on: the covered part (n, size, size, 1), the background levels and
-- the difference to the shape (n, 1, 1, channels), and noise (n, size, size, channels).
local function plan(first, count, spec)
  local size, channels = spec.size, spec.channels
  local covered = torch.empty({count, size, size, 1}, {dtype = 'float32'})
  local places, state = ffi.cast('float *', covered:data_ptr()), ffi.new 'uint64_t[1]'
  local grounds, changes, noise = {}, {}, {}
  local generator = torch.Generator()
  for i = 0, count - 1 do
    -- The SplitMix64 streams of the images start far apart.
    state[0] = (spec.stream + first + i) * 0xd1342543de82ef95ULL
    cover(places + i * size * size, SHAPES[(first + i) % #SHAPES + 1][2], random_pose(state, size), size)
    grounds[i + 1], changes[i + 1] = random_colours(state, channels)
    generator:manual_seed(floor(next_number(state) * 2 ^ 31))
    noise[i + 1] = torch.randint(-NOISE, NOISE + 1, {size, size, channels}, {generator = generator, dtype = 'int8'})
  end
  return covered, torch.tensor(grounds, {dtype = 'float32'}):view(count, 1, 1, channels),
    torch.tensor(changes, {dtype = 'float32'}):view(count, 1, 1, channels), torch.stack(noise)
end

local function draw(first, count, spec)
  local covered, grounds, changes, noise = plan(first, count, spec)
  return covered:mul(changes):add_(grounds):add_(noise):round_():clamp_(0, 255):to 'uint8'
end

---Drawn shapes of ten kinds in random colours, places, sizes and rotations, on a noisy background: for machines without
---data sets.
---Arguments: {n = 10000, train = true, size = 32, channels = 3, seed = 0, transform, target_transform, download};
---download has no effect, since nothing needs to be downloaded. Image i has the class i % 10 and depends only on (seed,
---train, i, size, channels); it is the same on every machine. Training and test images differ.
---A small ConvNet classifies more than 0.9 of the test images correctly.
---
---```lua
---local datasets = require 'vision.datasets'
---local train_set = datasets.shapes10{n = 20, size = 16}
---local image, label = train_set:get(13)
---assert(#train_set == 20 and image.shape[1] == 16 and image.shape[3] == 3)
---assert(train_set.classes[label + 1] == 'frame')
---```
---@class vision.shapes10: vision.VisionDataset
---@overload fun(options?: table): vision.shapes10
---@field data torch.Tensor uint8 (n, size, size, channels); (n, size, size) for one channel
---@field targets torch.Tensor int64 (n)
local shapes10 = base.VisionDataset:extend('shapes10')

shapes10.classes = {}
for i, shape in ipairs(SHAPES) do shapes10.classes[i] = shape[1] end

local signature = args.signature('shapes10', {{'n', 10000}, {'train', true}, {'size', 32}, {'channels', 3}, {'seed', 0},
  {'transform'}, {'target_transform'}, {'download', false}})

local function check_integer(given, name, least, most)
  local value = given[name]
  if type(value) == 'number' and value == floor(value) and value >= least and value <= most then return end
  errors.raise('argument', ('shapes10: %s must be an integer from %d to %d, not %s'):format(name, least, most,
    tostring(value)))
end

function shapes10:init(...)
  local given = signature:bind(...)
  check_integer(given, 'n', 0, 1e8)
  check_integer(given, 'size', 8, 1024)
  check_integer(given, 'channels', 1, 4)
  check_integer(given, 'seed', 0, 2 ^ 31)
  base.VisionDataset.init(self, nil, given)
  self.train, self.class_to_idx = given.train, base.class_to_idx(self.classes)
  self.data = torch.empty({given.n, given.size, given.size, given.channels}, {dtype = 'uint8'})
  self.targets = torch.arange(given.n, {dtype = 'int64'}):remainder(#SHAPES)
  given.stream = (given.seed * 2 + (given.train and 0 or 1)) * 0x100000001ULL
  for first = 0, given.n - 1, IMAGES_AT_ONCE do
    local count = min(IMAGES_AT_ONCE, given.n - first)
    self.data:narrow(0, first, count):copy_(draw(first, count, given))
  end
  if given.channels == 1 then self.data = self.data:squeeze(3) end
end

return {shapes10 = shapes10}
