-- rtrain/nodes/joined_files.lua: joins the small files that a node lacks, so that one call of ssh brings all of them.
--
-- A joined file has for each file a line with its hash and size, then its bytes; the line "end 0" is the last.
-- `remote.receive_joined` takes it apart.

local errors = require 'base.errors'
local read_file = require 'base.read_file'

local joined_files = {}

local LARGEST, MOST_BYTES = 2 ^ 20, 2 ^ 26  -- a larger file goes by itself, and after a break only its rest

-- Writes the joined file of these to the path.
local function write(path, files)
  local out, problem = io.open(path, 'wb')
  if not out then errors.raise('environment', problem) end
  for _, file in ipairs(files) do
    local text, reason = read_file(file.path)
    if not text then errors.raise('environment', reason) end
    -- A file that has changed since its hash was computed: the node refuses it, as it does a damaged one.
    out:write(('%s %d\n'):format(file.hash, #text), text)
  end
  local ok, reason = out:write 'end 0\n'
  out:close()
  if not ok then errors.raise('environment', reason) end
end

-- Returns the files that are sent together, in lists, and the others.
local function divide(missing)
  local lists, others, bytes = {}, {}, MOST_BYTES
  for _, each in ipairs(missing) do
    if each.offset > 0 or each.file.size > LARGEST then
      others[#others + 1] = each
    else
      if bytes + each.file.size > MOST_BYTES then lists[#lists + 1], bytes = {}, 0 end
      bytes = bytes + each.file.size
      table.insert(lists[#lists], each.file)
    end
  end
  return lists, others
end

local function join(files, folder, made)
  local hashes, size = {}, 0
  for i, file in ipairs(files) do hashes[i], size = file.hash, size + file.size end
  local key = table.concat(hashes)
  if not made[key] then
    made.count = (made.count or 0) + 1
    made[key] = {path = ('%s/%d'):format(folder, made.count), hash = key, size = size, is_packed = false, is_joined = true}
    write(made[key].path, files)
  end
  return made[key]
end

---Returns what is sent to a node for the files that it lacks.
---@param missing {file: JobFile, offset: integer}[] of delivery.missing
---@param folder string for joined files
---@param made table joined files that other nodes get too; {} at first
---@return {file: JobFile, offset: integer}[] sent a joined file has `is_joined`
function joined_files.of(missing, folder, made)
  local lists, out = divide(missing)
  for _, files in ipairs(lists) do
    if #files == 1 then
      out[#out + 1] = {file = files[1], offset = 0}
    else
      out[#out + 1] = {file = join(files, folder, made), offset = 0}
    end
  end
  return out
end

return joined_files
