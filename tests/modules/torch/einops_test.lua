-- torch.einops against permute, reshape and reductions.
local lu = require 'luaunit'
local torch = require 'torch'
local einops = torch.einops

TestEinops = {}

local x = torch.arange(48):view(2, 3, 2, 4):float()

local function same(actual, expected)
  lu.assertEquals(tostring(actual.shape), tostring(expected.shape))
  lu.assertTrue(torch.equal(actual, expected))
end

function TestEinops:test_rearrange()
  same(einops.rearrange(x, 'b c h w -> b (c h) w'), x:reshape{2, 6, 4})
  same(einops.rearrange(x, 'b c h w -> (w h) c b'), x:permute(3, 2, 1, 0):reshape{8, 3, 2})
  same(einops.rearrange(x, 'b ... (w p) -> (b p) ... w', {p = 2}),
    x:view(2, 3, 2, 2, 2):permute(0, 4, 1, 2, 3):reshape{4, 3, 2, 2})
  same(einops.rearrange(x, 'b ... -> b (...)'), x:reshape{2, 24})
  same(einops.rearrange(x, 'b c h w -> b c 1 (h w) ()'), x:reshape{2, 3, 1, 8, 1})
  same(einops.rearrange({x, x}, 'n b c h w -> b n c h w'), torch.stack({x, x}, 1))
end

function TestEinops:test_reduce_and_repeat()
  same(einops.reduce(x, 'b c h (w 2) -> b c w', 'max'), x:view(2, 3, 2, 2, 2):amax{2, 4})
  same(einops.reduce(x, 'b c h w -> c', 'mean'), x:mean{0, 2, 3})
  same(einops.reduce(x, '... -> ', 'sum'), x:sum())
  same(einops.reduce(x, 'b c h w -> b w', 'prod'), x:prod(2):prod(1))
  same(einops.reduce(x, 'b c h w -> h', function(y, dims) return y:amin(dims) end), x:amin{0, 1, 3})
  same(einops.repeat_(x, 'b c h w -> b c h (w 3)'), x:repeat_interleave(3, 3))
  same(einops.repeat_(x, 'b c h w -> b n c h w', {n = 2}), x:unsqueeze(1):expand(2, 2, 3, 2, 4))
end

function TestEinops:test_patterns_that_do_not_fit()
  local wrong = {
    ['b c -> c b'] = 'the left side has 2 axes, the tensor 4', ['b c h w -> b c'] = "'h' is on one side alone: reduce",
    ['b c h (5 w) -> b c h w'] = 'an axis of size 4', ['b b h w -> b h w'] = "'b' stands twice",
    ['b (c d e) h w -> b c d e h w'] = "sizes of 'c' and 'd' are not known", ['b (c h w -> b c h w'] = "'(' without ')'",
    ['b c h w -> b c h w n'] = "'n' is on one side alone: repeat", ['b c h w'] = "one '->'",
    ['b c h + -> b'] = "'+' is not a name",
  }
  for pattern, message in pairs(wrong) do lu.assertErrorMsgContains(message, einops.rearrange, x, pattern) end
  lu.assertErrorMsgContains("no axis 'q'", einops.rearrange, x, 'a b c d -> a b c d', {q = 2})
  lu.assertErrorMsgContains("give the size of 'n'", einops.repeat_, x, 'b c h w -> b c h w n')
end

os.exit(lu.LuaUnit.run(), true)
