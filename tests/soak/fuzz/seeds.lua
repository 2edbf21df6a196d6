-- seeds.lua FOLDER: small valid files for the fuzz targets, in FOLDER/<target>/. Run by tests/soak/fuzz/run.
local ordered = require 'base.ordered'
local torch = require 'torch'
local vision_io = require 'vision.io'

local folder = assert(arg[1], 'usage: seeds.lua FOLDER')

local function write(target, name, bytes)
  local file = assert(io.open(('%s/%s/%s'):format(folder, target, name), 'wb'))
  file:write(bytes)
  file:close()
end

local function read(path)
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read '*a'
  file:close()
  return bytes
end

local x = torch.arange(6, {dtype = 'float32'}):view(2, 3)
local DTYPES = {'float64', 'float16', 'bfloat16', 'int32', 'int16', 'int8', 'uint8', 'bool', 'complex64', 'uint16',
                'uint32', 'float8_e4m3fn', 'float8_e5m2'}
local of_dtypes = {}
for _, dtype in ipairs(DTYPES) do of_dtypes[dtype] = torch.zeros(2, {dtype = dtype}) end

local shared = {1, 2}
local values = {
  plain = {on = true, off = false, n = 7, big = 2 ^ 40, rate = 0.5, text = 'häß', binary = 'a\255\0b', z = 2i},
  lists = {{1, {2, {3}}}, torch.list{}, {}, shared, shared},
  views = {whole = x, turned = x:t(), row = x[1], empty = torch.zeros(0, 3), scalar = torch.tensor(2.5)},
  dtypes = of_dtypes,
  state = ordered.new{{'weight', x}, {'bias', torch.ones(2):requires_grad_()}},
  sparse = {coo = torch.eye(2):to_sparse(), csr = torch.eye(2):to_sparse_csr()},
}
-- Pickles of Python types that torch.save here does not write.
local pickles = {
  set = 'c__builtin__\nset\n](K\1K\2e\133R',
  counter = 'ccollections\nCounter\n}X\1\0\0\0aK\2s\133R',
  defaultdict = 'ccollections\ndefaultdict\nc__builtin__\nlist\n\133RX\1\0\0\0a]K\1as',
  bytearray = 'c__builtin__\nbytearray\nc_codecs\nencode\nX\2\0\0\0\195\191X\6\0\0\0latin1\134R\133R',
  names = '(ctorch\nfloat16\nctorch\ndevice\nX\4\0\0\0cudaK\1\134Rctorch\nSize\nK\2K\3\134\133R]q\0h\0t',
  ordered = 'ccollections\nOrderedDict\n)Rq\1X\1\0\0\0aK\1s}X\9\0\0\0_metadataNsb',
}
local tensor = 'ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\4tQ' ..
  'K\0K\2K\2\134K\2K\1\134\137ccollections\nOrderedDict\n)R'
pickles.tensor = tensor .. '}X\3\0\0\0neg\136stR'
pickles.parameter = 'ctorch._utils\n_rebuild_parameter\n' .. tensor .. 'tR\136ccollections\nOrderedDict\n)R\135R'
pickles.attributes = 'ctorch._tensor\n_rebuild_from_type_v2\n(' .. tensor:match('^(.-\n.-\n)') .. 'ctorch\nTensor\n' ..
  tensor:match('^.-\n.-\n(.*)$') .. 't}X\3\0\0\0tagX\1\0\0\0ystR'

local path = os.tmpname()
for name, value in pairs(values) do
  torch.save(value, path)
  local bytes = read(path)
  write('archive', name, bytes)
  local first, last = bytes:find('\128\2', 1, true), bytes:find('PK\7\8', 1, true)
  write('pickle', name, bytes:sub(first, last - 1))
end
for name, body in pairs(pickles) do write('pickle', name, '\128\2' .. body .. '.') end

local named = {dtypes = of_dtypes, state = values.state, empty = {}, odd = {['"\\→'] = torch.zeros(0, 3), s = torch.tensor(1)}}
for name, tensors in pairs(named) do
  torch.save_safetensors(tensors, path, {metadata = name == 'state' and {format = 'pt', note = 'x'} or nil})
  write('safetensors', name, read(path))
end

local function number32(n) return string.char(0, 0, math.floor(n / 256), n % 256) end

for _, kind in ipairs{{8, 1}, {9, 1}, {11, 2}, {12, 4}, {13, 4}, {14, 8}} do
  local bytes = '\0\0' .. string.char(kind[1], 2) .. number32(2) .. number32(3) .. ('\1'):rep(6 * kind[2])
  write('idx', 'type' .. kind[1], bytes)
end
write('idx', 'compressed', '\31\139\8\0\0\0\0\0\0\3\99\96\224\96\100\96\96\96\2\0\83\39\183\175\11\0\0\0')

local function npy(descr, shape, content, order)
  local header = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n"):format(descr, order or 'False', shape)
  return '\147NUMPY\1\0' .. string.char(#header, 0) .. header .. content
end
write('npy', 'float', npy('<f4', '(2, 3)', ('\0'):rep(24)))
write('npy', 'fortran', npy('>i2', '(2, 3)', ('\1'):rep(12), 'True'))
write('npy', 'bool', npy('|b1', '(3,)', '\0\1\2'))
write('npy', 'scalar', npy('<c16', '()', ('\0'):rep(16)))
write('npy', 'archive', read(path))

local function write_image(target, name, bytes)
  vision_io.write_file(('%s/%s/%s'):format(folder, target, name), bytes)
end
for channels = 1, 4 do
  local image = torch.randint(0, 256, {channels, 9, 7}, {dtype = 'uint8'})
  write_image('png', 'channels' .. channels, vision_io.encode_png(image))
  if channels % 2 == 1 then write_image('jpeg', 'channels' .. channels, vision_io.encode_jpeg(image)) end
end

local arrow, data = require 'base._arrow', require('torch._C').data
local function texts(kind)
  return {kind = kind, offsets = torch.tensor({0, 1, 1, 4}, {dtype = 'int64'}),
    bytes = torch.tensor({97, 98, 44, 34}, {dtype = 'uint8'}), valid = torch.tensor{true, false, true}}
end
local flat = data.to_arrow({'i', 'f', 'b', 's'},
  {torch.arange(3), torch.rand(3), torch.tensor{true, false, true}, texts 'strings'})
local nested = data.to_arrow({'i', 'p', 't', 'l', 'o'}, {torch.arange(3), texts 'image', torch.rand(3, 2),
  {kind = 'objects', n = 3, values = {{1, 2}, nil, {}}}, {kind = 'objects', n = 3, values = {{a = {1}}, {b = 'x'}}}})
for name, batch in pairs{flat = flat, nested = nested} do
  for writer, options in pairs{parquet_writer = {{}, {compression = 'none', use_dictionary = false}, {compression = 'zstd'}},
    ipc_writer = {{}, {stream = true}, {stream = true, compression = 'lz4'}}, csv_writer = name == 'flat' and {{}} or {}} do
    for i, option in ipairs(options) do
      local out = arrow[writer](path, option)
      out:write(batch)
      out:close()
      write(writer:match '^%a+', name .. i, read(path))
    end
  end
end
for name, depth in pairs{shallow = 90, deep = 6000} do
  local lists, objects = ('['):rep(depth) .. (']'):rep(depth), ('{"a":'):rep(depth / 3) .. '1' .. ('}'):rep(depth / 3)
  write('json', name, ('{"a":%s}\n{"b":%s}\n'):format(name == 'deep' and objects or lists, name == 'deep' and '1' or objects))
  write('value', name .. '_lists', lists)
  write('value', name .. '_objects', objects)
end
for i, parts in ipairs{
  {'"BPE","vocab":{"a":0,"b":1,"ab":2,"<0x0A>":3},"merges":["a b"],"byte_fallback":true',
   '{"type":"NFKC"}', '{"type":"Whitespace"}'},
  {'"WordPiece","vocab":{"[UNK]":0,"a":1,"##b":2},"unk_token":"[UNK]"',
   '{"type":"BertNormalizer"}', '{"type":"BertPreTokenizer"}'},
  {'"Unigram","vocab":[["<unk>",0],["a",-1.5],["ab",-2]],"unk_id":0',
   '{"type":"Replace","pattern":{"Regex":" +"},"content":" "}',
   '{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}'},
  {'"WordLevel","vocab":{"a":0},"unk_token":"a"', '{"type":"Strip","strip_left":true,"strip_right":true}',
   '{"type":"Split","pattern":{"Regex":"[^a-c]+|\\\\w{1,3}"},"behavior":"MergedWithNext","invert":false}'},
} do
  write('tokenizer_json', 'tokenizer' .. i, ('{"added_tokens":[{"id":9,"content":"<s>","lstrip":true,"special":true}],' ..
    '"model":{"type":%s},"normalizer":%s,"pre_tokenizer":%s,"decoder":{"type":"ByteFallback"}}'):format(unpack(parts)))
end
write('results', 'table', 'run,index,attempt,time,loss\na,0,1,2026-11-21T14:03:05.123Z,"0.5"\n')
write('results', 'event', '\9\0\0\0\0\0\0\240?\16\7*\13\10\11\10\4loss\21\0\0\0?')
write('value', 'manifest', '{"format":1,"checkpoint":{"run":"r","attempt":1,"metrics":{"loss":0.5,"x":null},"files":' ..
  '[{"path":"a","size_bytes":1,"xxh3":"00"}]},"xxh3":"0011223344556677","metadata":{"note":"\\u00e4"}}')
write('json', 'lines', '{"a": 1, "b": [1.5, null], "c": {"d": "x"}}\n\n{"a": 2, "b": [], "c": {}}\n{"c": {"d": "\\u00e4"}}')
write('tfrecord', 'file', '\18\0\0\0\0\0\0\0$\31d%\10\16\10\14\10\5label\18\5\26\3\10\1\7\54\140\132\185')
write('tfrecord', 'examples', '\10\13\10\11\10\1a\18\6\18\4\10\2\8\1\10\14\10\12\10\1b\18\7\10\5\10\1x\10\0' ..
  '\10\12\10\10\10\1a\18\5\26\3\10\1\7\10\11\10\9\10\1b\18\4\10\2\10\0')
local function request(...) return table.concat({...}, '\r\n') .. '\r\n\r\n' end
write('http', 'get', '\2' .. request('GET /b/api/runs?limit=3&tag=a%20b HTTP/1.1', 'Host: a', 'Cookie: x=1; c=t',
  'Accept-Encoding: gzip', 'If-None-Match: W/"0"'))
write('http', 'post', '\9' .. request('POST /b/api/runs/one/note HTTP/1.1', 'Host: a:1', 'Origin: http://a:1',
  'Authorization: Bearer t', 'Content-Type: application/json', 'Transfer-Encoding: chunked') ..
  request('4', '{} \n', '0') .. request('GET /b/ HTTP/1.1', 'Host: a'))

-- Frames of host/wire/wire_frame.h.
local function le(n, bytes) return bytes == 0 and '' or string.char(n % 256) .. le(math.floor(n / 256), bytes - 1) end
local function frame(kind, n, payload) return le(9 + #payload, 4) .. kind .. le(n, 8) .. payload end
local function packed(text) return string.char(160 + #text) .. text end
local position = packed 'position' .. '\132' .. packed 'stream' .. packed '0123456789abcdef' .. packed 'first' .. '\1' ..
  packed 'peer_stream' .. packed '' .. packed 'received' .. '\0'
local hello = '\133' .. packed 'version' .. '\1' .. packed 'build' .. packed 'b' .. packed 'link' .. packed 'node-1' ..
  packed 'about' .. packed '' .. position
write('wire', 'hello', frame('h', 0, hello) .. frame('w', 0, '\129' .. position))
write('wire', 'frames',
  frame('d', 1, 'payload') .. frame('a', 1, '') .. frame('p', 5, '') .. frame('s', 3, '') .. frame('f', 3, ''))
os.remove(path)
