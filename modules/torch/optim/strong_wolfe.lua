-- torch/optim/strong_wolfe.lua: a line search that ends when the strong Wolfe conditions hold.
--
-- Nocedal and Wright 2006, algorithms 3.5 and 3.6, with the safeguards of minFunc, as in PyTorch. A point of the search
-- is {t, f, g, gtd}: the step size, the loss there, its gradient, and the gradient's product with the direction. As in
-- PyTorch gtd is a tensor, and t may be one: the search is sensitive enough for the dtype's rounding to show.

local strong_wolfe = {}

local C1, C2, TOLERANCE_CHANGE = 1e-4, 0.9, 1e-9

local function value(x) return type(x) == 'number' and x or x:item() end

-- Returns the smaller and the larger value, which may be tensors.
local function sorted(a, b)
  if value(b) < value(a) then return b, a end
  return a, b
end

-- Returns the minimum of the cubic through two points with their slopes, inside the bounds.
local function cubic_minimum(a, b, low, high)
  if not low then low, high = sorted(a.t, b.t) end
  local d1 = a.gtd + b.gtd - 3 * (a.f - b.f) / (a.t - b.t)
  local square = d1 * d1 - a.gtd * b.gtd
  -- This is false for NaN, too.
  local has_minimum = value(square) >= 0
  if not has_minimum then return (low + high) / 2 end
  local d2 = square:sqrt()
  local minimum
  if value(a.t) <= value(b.t) then
    minimum = b.t - (b.t - a.t) * ((b.gtd + d2 - d1) / (b.gtd - a.gtd + 2 * d2))
  else
    minimum = a.t - (a.t - b.t) * ((a.gtd + d2 - d1) / (a.gtd - b.gtd + 2 * d2))
  end
  if value(low) > value(minimum) then minimum = low end
  return value(high) < value(minimum) and high or minimum
end

local function is_flat_enough(point, start) return math.abs(value(point.gtd)) <= value(-C2 * start.gtd) end

local function is_too_high(point, start) return point.f > value(start.f + C1 * point.t * start.gtd) end

-- Extends the step until two points bracket a good one. Returns them, or one point that is already good.
local function bracket(evaluate, start, t, max_ls)
  local previous, iterations = start, 0
  local point = evaluate(t)
  while iterations < max_ls do
    if is_too_high(point, start) or iterations > 1 and point.f >= previous.f then return {previous, point}, iterations end
    if is_flat_enough(point, start) then return {point}, iterations end
    if value(point.gtd) >= 0 then return {previous, point}, iterations end
    local nearest, farthest = point.t + 0.01 * (point.t - previous.t), point.t * 10
    local next_t = cubic_minimum(previous, point, nearest, farthest)
    previous, point = point, evaluate(next_t)
    iterations = iterations + 1
  end
  return {start, point}, iterations
end

-- Returns a step size well inside the bracket: two in a row near its end count as no progress.
local function safeguarded(t, a, b, is_stuck)
  local low, high = sorted(a.t, b.t)
  local margin = 0.1 * (high - low)
  if value((sorted(high - t, t - low))) >= value(margin) then return t, false end
  if not (is_stuck or value(t) >= value(high) or value(t) <= value(low)) then return t, true end
  local is_high = math.abs(value(t - high)) < math.abs(value(t - low))
  return is_high and high - margin or low + margin, false
end

-- Narrows the bracket. Its points keep their places, from which the cubic is computed; `low` is the place of the better
-- one.
local function zoom(evaluate, start, points, search)
  local function by_loss() if points[1].f <= points[2].f then return 1, 2 else return 2, 1 end end
  local low, high = by_loss()
  local is_stuck = false
  for _ = search.iterations + 1, search.max_ls do
    if math.abs(value(points[2].t - points[1].t)) * search.d_norm < TOLERANCE_CHANGE then break end
    local t
    t, is_stuck = safeguarded(cubic_minimum(points[1], points[2]), points[1], points[2], is_stuck)
    local point = evaluate(t)
    if is_too_high(point, start) or point.f >= points[low].f then
      points[high] = point
      low, high = by_loss()
    else
      if is_flat_enough(point, start) then return point end
      if value(point.gtd * (points[high].t - points[low].t)) >= 0 then points[high] = points[low] end
      points[low] = point
    end
  end
  return points[low]
end

---Searches along d from a point with known f and gradient g.
---@param evaluate_at fun(t: number|torch.Tensor, d: torch.Tensor): number, torch.Tensor loss and flat gradient at t
---@param given {t: number|torch.Tensor, d: torch.Tensor, f: number, g: torch.Tensor, gtd: torch.Tensor, max_ls: integer}
---@return {t: number|torch.Tensor, f: number, g: torch.Tensor, evals: integer} found
function strong_wolfe.search(evaluate_at, given)
  local evals = 0
  local function evaluate(t)
    evals = evals + 1
    local f, g = evaluate_at(t, given.d)
    return {t = t, f = f, g = g, gtd = g:dot(given.d)}
  end
  local start = {t = 0, f = given.f, g = given.g, gtd = given.gtd}
  local points, iterations = bracket(evaluate, start, given.t, given.max_ls)
  local found = points[1]
  if #points == 2 then
    found = zoom(evaluate, start, points,
      {iterations = iterations, max_ls = given.max_ls, d_norm = given.d:abs():max():item()})
  end
  return {t = found.t, f = found.f, g = found.g, evals = evals}
end

return strong_wolfe
