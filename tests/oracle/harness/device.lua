-- The device on which the cases run: the CPU, whose answers are in the golden files, or another device that must agree
-- with the CPU (tests/gpu). The seed is that of the golden files; only random answers depend on it.

local device = {name = 'cpu', seed = 0}

---@generic T: torch.Tensor|nn.Module
---@param value T made on the CPU
---@return T there
function device.move(value) return device.name == 'cpu' and value or value:to(device.name) end

return device
