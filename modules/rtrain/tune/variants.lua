-- rtrain/tune/variants.lua: Variants: the trials of a grid and of random draws, one after the other.
--
-- Pure: trial n depends only on the space, the seed and n. Ray equivalent: ray.tune.search.BasicVariantGenerator.

local class = require 'base.class'
local Random = require 'rtrain.tune.random'
local space = require 'rtrain.tune.space'

local Variants = class('Variants')

---@param tree table the param_space
---@param options {num_samples: integer, seed: integer} how often the whole grid is tried
function Variants:init(tree, options)
  self._tree, self._seed = tree, options.seed
  self._grids, self._draws, self._functions = {}, {}, {}
  self._num_grid = 1
  for _, leaf in ipairs(space.leaves(tree)) do
    local kind = leaf.domain.kind
    local list = kind == 'grid' and self._grids or kind == 'function' and self._functions or self._draws
    list[#list + 1] = leaf
    if kind == 'grid' then self._num_grid = self._num_grid * #leaf.domain.values end
  end
  ---The number of trials.
  self.count = self._num_grid * options.num_samples
end

-- The first grid changes fastest.
function Variants:_set_grid(config, index)
  for _, leaf in ipairs(self._grids) do
    local values = leaf.domain.values
    space.set(config, leaf.path, values[index % #values + 1])
    index = math.floor(index / #values)
  end
end

---@param number integer of the trial, from 0
---@return table? config nil: there are no more
function Variants:suggest(number)
  if number >= self.count then return nil end
  local config = space.without_domains(self._tree)
  local random = Random(self._seed, number)
  self:_set_grid(config, number % self._num_grid)
  for _, leaf in ipairs(self._draws) do space.set(config, leaf.path, leaf.domain:draw(random)) end
  local spec = setmetatable({config = config}, {__index = config})
  for _, leaf in ipairs(self._functions) do space.set(config, leaf.path, leaf.domain:draw(random, spec)) end
  return config
end

---Does nothing: the next trials do not depend on results.
function Variants:add_result() end

return Variants
