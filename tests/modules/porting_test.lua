-- PORTING.md has a word for every public name of Ray Train.

local lu = require 'luaunit'

local function read(path)
  local file = assert(io.open(path))
  local text = file:read '*a'
  file:close()
  return text
end

-- Everything between backquotes outside of blocks, as one text.
local function names_in(text)
  local spans = {}
  for span in text:gsub('\n```.-\n```', '\n'):gmatch '`([^`]+)`' do spans[#spans + 1] = span end
  return ' ' .. table.concat(spans, ' ') .. ' '
end

local function has_word(text, word) return text:find('%f[%w_]' .. word .. '%f[^%w_]') ~= nil end

TestPorting = {}

function TestPorting:test_every_name_of_ray_train_is_there()
  local told = names_in(read '../../modules/rtrain/PORTING.md')
  local missing, count = {}, 0
  for line in read('ray_train_names.txt'):gmatch '[^\n]+' do
    if line:sub(1, 1) ~= '#' then
      count = count + 1
      if not has_word(told, line:match '[^.]+$') then missing[#missing + 1] = line end
    end
  end
  lu.assertTrue(count > 100)
  lu.assertEquals(missing, {})
end

os.exit(lu.LuaUnit.run(), true)
