-- rtrain/data/ingest/scaling.lua: Scaling: decides from the waiting time of the loop how many ingest workers run.
--
-- Doubles the number if the loop waited for rows in more than 5 % of a window. Removes one if the loop hardly waited in
-- five windows and the remaining workers could have done the work with time to spare, so that the number does not
-- oscillate.

local class = require 'base.class'

local WINDOW_S = 1
local STALL, CALM = 0.05, 0.01
local CALM_WINDOWS = 5
-- The largest load of the workers that remain.
local MOST_BUSY = 0.7

---Arguments: most, the largest number of ingest workers; it begins with one.
---
---```lua
---local scaling = require 'rtrain.data.ingest.scaling'(4)
---assert(scaling:decide {elapsed_s = 1, waited_s = 0.4, busy_s = 1} == 2)
---assert(scaling:decide {elapsed_s = 1, waited_s = 0.1, busy_s = 2} == 4)
---```
---@class data.Scaling
---@overload fun(most: integer): data.Scaling
local Scaling = class('Scaling')

Scaling.WINDOW_S = WINDOW_S

function Scaling:init(most) self._most, self._calm, self.active = most, 0, 1 end

local function could_be_fewer(self, window)
  local left = self.active - 1
  return left >= 1 and window.waited_s <= CALM * window.elapsed_s and window.busy_s <= MOST_BUSY * left * window.elapsed_s
end

---Returns the number from now on.
---@param window {elapsed_s: number, waited_s: number, busy_s: number} waited_s: of the loop; busy_s: of all ingest workers
---@return integer
function Scaling:decide(window)
  self._calm = could_be_fewer(self, window) and self._calm + 1 or 0
  if window.waited_s > STALL * window.elapsed_s then
    self.active = math.min(self._most, 2 * self.active)
  elseif self._calm == CALM_WINDOWS then
    self.active, self._calm = self.active - 1, 0
  end
  return self.active
end

return Scaling
