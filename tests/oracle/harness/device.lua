-- Where the cases run: on the CPU, whose answers the golden files hold, or on another device that has to agree with it
-- (tests/gpu). The seed is that of the golden files, too: with another one only random answers are others.

local device = {name = 'cpu', seed = 0}

---@generic T: torch.Tensor|nn.Module
---@param value T made on the CPU
---@return T there
function device.move(value) return device.name == 'cpu' and value or value:to(device.name) end

return device
