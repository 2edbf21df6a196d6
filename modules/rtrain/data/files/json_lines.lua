-- rtrain/data/files/json_lines.lua: converts files with one JSON array of objects to JSON lines, which the reader
-- accepts.

local errors = require 'base.errors'
local files = require 'rtrain.data.files'

local json_lines = {}

local CHUNK = 2 ^ 16

-- Returns whether the first non-blank character, within 64 KiB, is '['.
local function is_array(path)
  local file = files.open_text(path)
  local head = file:read(CHUNK) or ''
  file:close()
  return head:match '[^%s\239\187\191]' == '['
end

local QUOTE, ESCAPE, OPEN, CLOSE, BEGIN, END = ('"\\{}[]'):byte(1, 6)
local COMMA, NEWLINE, RETURN = (',\n\r'):byte(1, 3)

local function check_write(ok, why)
  if not ok then errors.raise('environment', ('cannot write a copy of the JSON array to /tmp: %s'):format(why)) end
end

-- Copies the elements of the array to lines: outside of strings a line break becomes a blank, and a ',' between
-- elements ends a line.
local function copy_lines(input, output)
  local depth, is_text, is_escaped = 0, false, false
  for chunk in function() return input:read(CHUNK) end do
    local out, first = {}, 1
    for i = 1, #chunk do
      local c = chunk:byte(i)
      local replaced
      if is_escaped then
        is_escaped = false
      elseif is_text then
        is_escaped, is_text = c == ESCAPE, c ~= QUOTE
      elseif c == QUOTE then
        is_text = true
      elseif c == OPEN or c == BEGIN then
        depth = depth + 1
        if depth == 1 then replaced = ' ' end
      elseif c == CLOSE or c == END then
        depth = depth - 1
        if depth == 0 then replaced = '\n' end
      elseif c == NEWLINE or c == RETURN then
        replaced = ' '
      elseif c == COMMA and depth == 1 then
        replaced = '\n'
      end
      if replaced then
        out[#out + 1] = chunk:sub(first, i - 1)
        out[#out + 1] = replaced
        first = i + 1
      end
    end
    out[#out + 1] = chunk:sub(first)
    check_write(output:write(table.concat(out)))
  end
  return depth == 0 and not is_text
end

---Opens a file of JSON lines. A file with one array of objects is first copied to a temporary file of lines.
---@param path string
---@param options table of base._arrow.open_json
---@return userdata cursor
function json_lines.open(path, options)
  local open_json = require('base._arrow').open_json
  if not is_array(path) then return open_json(path, options) end
  local copy = os.tmpname()
  local input, output = files.open_text(path), assert(io.open(copy, 'wb'))
  local is_whole
  local ok, cursor = xpcall(function()
    is_whole = copy_lines(input, output)
    check_write(output:close())
    return open_json(copy, options)
  end, errors.wrap)
  input:close()
  os.remove(copy)
  if is_whole == false then errors.raise('argument', ("cannot read '%s': the JSON array has no end"):format(path)) end
  if ok then return cursor end
  cursor.message = cursor.message:gsub(copy:gsub('%p', '%%%0'), (path:gsub('%%', '%%%%')))
  error(cursor, 0)
end

return json_lines
