-- Slurm's short forms of node lists and of numbers per node.

local lu = require 'luaunit'
local host_list = require 'rtrain.launch.host_list'

TestHostList = {}

function TestHostList.test_nodes_of_a_list()
  for text, expected in next, {
    ['n0'] = 'n0',
    ['n[0-1]'] = 'n0 n1',
    ['n[0-3,7],m1'] = 'n0 n1 n2 n3 n7 m1',
    ['n[08-11]'] = 'n08 n09 n10 n11',
    ['n[099-101]'] = 'n099 n100 n101',
    ['gpu-[1,3]-ib'] = 'gpu-1-ib gpu-3-ib',
    ['r[0-1]n[0-1]'] = 'r0n0 r0n1 r1n0 r1n1',
    ['a,b,c[2]'] = 'a b c2',
    ['login.cluster.example'] = 'login.cluster.example',
  } do
    local hosts = host_list.expand(text)
    lu.assertEquals(hosts and table.concat(hosts, ' '), expected, text)
  end
end

function TestHostList.test_what_is_not_a_list()
  for _, text in ipairs {'', 'n[0-', 'n0]', 'n[]', 'n[a-b]', 'n[3-1]', 'n[0-1', 'n[[0-1]]', 'n0,,n1', 'n[0-99999999]',
                         'n[0-999]m[0-999]'} do
    lu.assertNil(host_list.expand(text), text)
  end
end

function TestHostList.test_numbers_of_each_node()
  for text, expected in next, {['1'] = '1', ['2(x2),1'] = '2 2 1', ['1(x3)'] = '1 1 1', ['4,2(x2),8'] = '4 2 2 8'} do
    lu.assertEquals(table.concat(host_list.counts(text), ' '), expected, text)
  end
  for _, text in ipairs {'', 'x2', '2(x', '2(2)', '1,', '1(x99999999)', '-1'} do lu.assertNil(host_list.counts(text), text) end
end

os.exit(lu.LuaUnit.run(), true)
