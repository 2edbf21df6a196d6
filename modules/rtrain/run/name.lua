-- rtrain/run/name.lua: the name of a run that was given none: `<script>-<date>-<4 hex>`.

local run_name = {}

local function random_hex()
  local source = assert(io.open('/dev/urandom', 'rb'))
  local a, b = source:read(2):byte(1, 2)
  source:close()
  return ('%02x%02x'):format(a, b)
end

---@param script string path of the script
---@return string name
function run_name.make(script)
  local base = (script:match('([^/]+)$') or 'run'):gsub('%.lua$', ''):gsub('[^%w_.-]', '_'):gsub('^%.+', '')
  return ('%s-%s-%s'):format(base == '' and 'run' or base, os.date '%Y%m%d', random_hex())
end

return run_name
