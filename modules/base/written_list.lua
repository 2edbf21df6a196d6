-- base/written_list.lua: parses a list of values from the command line.

local errors = require 'base.errors'

local function usage(text, ...) errors.raise('usage', text:format(...)) end

-- Returns the value in the quotes that open at `from`, and its end. A quote in it is doubled or follows a backslash.
-- Returns nil without a closing quote.
local function quoted_value(text, from)
  local quote, out, i = text:sub(from, from), {}, from + 1
  while i <= #text do
    local c, following = text:sub(i, i), text:sub(i + 1, i + 1)
    if c == quote and following ~= quote then return table.concat(out), i end
    if c == quote or c == '\\' and (following == quote or following == '\\') then c, i = following, i + 1 end
    out[#out + 1] = c
    i = i + 1
  end
end

-- Returns the end of the unquoted value that begins at `from`: before the next comma outside of brackets.
local function plain_end(text, from)
  local depth = 0
  for i = from, #text do
    local c = text:sub(i, i)
    if c:find '[%[{(]' then depth = depth + 1 end
    if c:find '[%]})]' then depth = depth - 1 end
    if c == ',' and depth == 0 then return i - 1 end
  end
  return #text
end

---Splits a list as people write it on a command line: 'a,[1,2],"b,c"' gives {'a', '[1,2]', 'b,c'}. Commas in brackets
---or quotes do not separate values. Quotes count only at the beginning of a value: it's stays as it is.
---@param what string beginning of messages
---@param text string
---@return string[] values, table<integer, true> is_quoted which of them were quoted
---Raises code 'usage'.
local function written_list(what, text)
  local out, is_quoted, from = {}, {}, 1
  repeat
    local start, last = text:find('%S', from) or #text + 1
    if text:find('^[\'"]', start) then
      out[#out + 1], last = quoted_value(text, start)
      if last == nil then usage("%s: the quote before %s has no end", what, text:sub(start + 1)) end
      is_quoted[#out] = true
      local rest = text:match('^%s*([^,%s][^,]*)', last + 1)
      if rest then usage("%s: after %s expected a comma, got %s", what, text:sub(start, last), rest) end
      last = (text:find(',', last + 1, true) or #text + 1) - 1
    else
      last = plain_end(text, from)
      out[#out + 1] = text:sub(from, last):match '^%s*(.-)%s*$'
    end
    from = last + 2
  until last >= #text
  return out, is_quoted
end

return written_list
