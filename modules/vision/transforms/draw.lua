-- vision/transforms/draw.lua: the random numbers of transforms: from the sample's generator in a loader, otherwise from
-- the default generator.
--
-- The same numbers are drawn in the same order as in torchvision, so that equal seeds give equal parameters.

local torch = require 'torch'
local worker = require 'torch.utils.data.worker'

local draw = {}

---Returns a number in [0, 1).
---@return number
function draw.real() return torch.rand({1}, {generator = worker.sample_generator()}):item() end

---Returns an integer from `low` to `high` - 1.
---@param low integer
---@param high integer
---@return integer
function draw.integer(low, high) return torch.randint(low, high, {1}, {generator = worker.sample_generator()}):item() end

---Returns several integers from `low` to `high` - 1.
---@param low integer
---@param high integer
---@param count integer
---@return integer[]
function draw.integers(low, high, count)
  return torch.randint(low, high, {count}, {generator = worker.sample_generator()}):tolist()
end

---Returns a number between the bounds.
---@param from number
---@param to number
---@return number
function draw.uniform(from, to)
  return torch.empty{1}:uniform_(from, to, {generator = worker.sample_generator()}):item()
end

---Returns a number whose logarithm is uniformly distributed between the logarithms of the bounds.
---@param range number[] {from, to}
---@return number
function draw.ratio(range)
  local bounds = torch.tensor(range):log():tolist()
  return torch.empty{1}:uniform_(bounds[1], bounds[2], {generator = worker.sample_generator()}):exp():item()
end

---Returns the numbers 0 … count - 1 in random order.
---@param count integer
---@return integer[]
function draw.permutation(count) return torch.randperm(count, {generator = worker.sample_generator()}):tolist() end

---Returns one of 0 … #weights - 1, with probabilities in proportion to the weights.
---@param weights number[]
---@return integer
function draw.choice(weights)
  return torch.multinomial(torch.tensor(weights), 1, {generator = worker.sample_generator()}):item()
end

---Returns positive numbers that sum to 1 in each row.
---@param concentration torch.Tensor (rows, numbers)
---@return torch.Tensor
function draw.dirichlet(concentration)
  return torch._sample_dirichlet(concentration, {generator = worker.sample_generator()})
end

---Returns normally distributed numbers.
---@param shape integer[]
---@return torch.Tensor float32
function draw.normal(shape)
  return torch.empty(shape, {dtype = 'float32'}):normal_{generator = worker.sample_generator()}
end

---Returns numbers in [0, 1).
---@param shape integer[]
---@return torch.Tensor
function draw.reals(shape) return torch.rand(shape, {generator = worker.sample_generator()}) end

return draw
