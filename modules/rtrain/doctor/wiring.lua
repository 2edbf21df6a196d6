-- rtrain/doctor/wiring.lua: what a link between two GPUs can carry in one direction, according to NVIDIA's driver.

local wiring = {}

local LANE_GB_S = {0.25, 0.5, 0.985, 1.969, 3.938, 7.563}  -- of a lane, by the generation of PCIe

local function to_peer(from, to)
  local count = 0
  for _, bus in ipairs(from.peer_links) do
    if bus == to.bus then count = count + 1 end
  end
  return count
end

local function pcie_of(one)
  local lane = LANE_GB_S[one.pcie_generation]
  return lane and one.pcie_width > 0 and {gb_s = lane * one.pcie_width,
    text = ('PCIe %d x%d'):format(one.pcie_generation, one.pcie_width)}
end

---Returns the nominal bandwidth of the link between two devices of base._system.gpu_wiring; nil where the driver does not
---say it. Over PCIe it is that of the slower slot.
---@param from table
---@param to table
---@return {gb_s: number, text: string}?
function wiring.nominal(from, to)
  local count = math.max(math.min(from.switch_links, to.switch_links), math.min(to_peer(from, to), to_peer(to, from)))
  local speed = math.min(from.nvlink_gb_s, to.nvlink_gb_s)
  if count > 0 then
    if speed == 0 then return nil end
    return {gb_s = count * speed, text = ('%d %s of %.3g GB/s'):format(count, count == 1 and 'NVLink' or 'NVLinks', speed)}
  end
  local one, other = pcie_of(from), pcie_of(to)
  if not one or not other then return nil end
  return one.gb_s <= other.gb_s and one or other
end

return wiring
