-- Files with which test scripts store numbers and wait for each other. conftest.py puts this folder into LUA_PATH.
local files = {}

function files.write(path, text)
  local file = assert(io.open(path, 'w'))
  assert(file:write(text))
  assert(file:close())
end

function files.read(path)
  local file = assert(io.open(path))
  local text = file:read '*a'
  file:close()
  return text
end

function files.exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

function files.wait_for(path)
  while not files.exists(path) do os.execute 'sleep 0.02' end
end

-- Returns true only the first time that any process passes this name.
function files.once(name)
  if files.exists(name) then return false end
  files.write(name, '')
  return true
end

return files
