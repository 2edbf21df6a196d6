"""Models sharded with fully_shard: memory, what is refused, and what goes on after an error."""

import pytest

from sharded_runs import sharded  # noqa: F401  (a fixture)


def test_a_rank_has_its_rows(sharded):
    out = sharded(
        """
        local before = model():state_dict()['2.weight']
        local parts = model()
        fully_shard(parts[3])
        fully_shard(parts)
        out.rows, out.name = parts[3].weight:size(0), tostring(parts[3])
        out.has_same = torch.equal(parts[3].weight:full_tensor(), before)
        out.is_local = torch.equal(parts[3].weight:to_local(), before:narrow(0, 0, 2))
        parts[3]:reshard()
        parts[3]:unshard()
        parts[3]:unshard()
        out.whole = parts[3].weight:size(0)
        parts[3]:reshard()
        out.again = parts[3].weight:size(0)
        parts(x):sum():backward()
        out.grad, out.whole_grad = parts[3].weight.grad:size(0), parts[3].weight.grad:full_tensor():size(0)
        """,
        ranks=3,
    )
    assert (out["rows"], out["whole"], out["again"], out["grad"], out["whole_grad"]) == (2, 5, 2, 2, 5)
    assert out["name"].startswith("FSDPLinear(in_features=6")
    assert out["has_same"] and out["is_local"]


def test_more_ranks_than_rows(sharded):
    out = sharded(
        """
        torch.manual_seed(rank)
        local layer = fully_shard(nn.Linear(4, 2))
        local optimizer = torch.optim.AdamW(layer:parameters(), {lr = 0.1})
        out.counts = {}
        for i, each in ipairs(dist.all_gather(torch.tensor{layer.weight:size(0)})) do out.counts[i] = each:item() end
        local first
        for step = 1, 20 do
          optimizer:zero_grad()
          local loss = (layer(x) - 1):pow(2):mean()
          loss:backward()
          nn.utils.clip_grad_norm_(layer:parameters(), 10)
          optimizer:step()
          first = first or loss:item()
          out.ratio = loss:item() / first
        end
        """,
        ranks=3,
    )
    assert out["counts"] == [1, 1, 0]
    assert out["ratio"] < 0.2


def test_rows_are_no_whole_parameter(sharded):
    out = sharded(
        """
        local parts = fully_shard(model())
        local weight = parts[1].weight
        out.sum = refused(function() return weight:sum() end)
        out.sum_without_gradient = refused(function() torch.no_grad(function() return weight:sum() end) end)
        out.linear = refused(function() return F.linear(x, weight) end)
        out.state = refused(function() torch.save(parts:state_dict(), 'state.pt') end)
        parts(x):sum():backward()
        out.norm = refused(function() return weight.grad:norm() end)
        out.own = refused(function()
          local p = nn.Parameter(torch.zeros_like(weight))
          return weight:matmul(weight.T)
        end)
        torch.no_grad(function() weight:mul_(2) end)
        out.shown = tostring(weight)
        local Tied = nn.Module:extend 'Tied'
        function Tied:init() self.embed = nn.Embedding(6, 4) end
        function Tied:forward(ids) return F.linear(self.embed(ids), self.embed.weight) end
        local tied = Tied()
        fully_shard(tied.embed)
        fully_shard(tied)
        local ids = torch.tensor({1, 2}, {dtype = 'int64'})
        out.tied = refused(function() tied(ids) end)
        out.tied_without_gradient = refused(function() torch.no_grad(function() tied(ids) end) end)
        """
    )
    for name in ("sum", "linear", "tied"):
        assert (
            "is sharded (fully_shard): this rank has the rows 0 to 2 of 6. It is whole in the forward" in out[name]
        ), out[name]
    for name in ("sum_without_gradient", "norm", "tied_without_gradient"):
        assert "would be of these rows alone" in out[name], out[name]
    assert "matmul" in out["own"] or "mm" in out["own"]
    assert "torch.save: '0.weight' is sharded" in out["state"]
    assert out["shown"].startswith("tensor([[")


def test_changes_at_the_wrong_time_are_named(sharded):
    out = sharded(
        """
        local Bad = nn.Module:extend 'Bad'
        function Bad:init() self.w = nn.Parameter(torch.ones(4, 4)) end
        function Bad:forward(given)
          torch.no_grad(function() self.w:mul_(2) end)
          return given:matmul(self.w)
        end
        local bad = fully_shard(Bad())
        out.in_forward = refused(function() bad(x) end)
        local parts = fully_shard(model())
        out.between = refused(function()
          local loss = parts(x):sum()
          torch.no_grad(function() parts[1].weight:mul_(2) end)
          loss:backward()
        end)
        local optimizer = torch.optim.SGD(parts:parameters(), {lr = 0.1})
        parts(x):sum():backward()
        optimizer:step()
        out.goes_on = parts(x):sum():item() == parts(x):sum():item()
        out.error = refused(function() parts(torch.ones(2, 9)) end)
        out.rows_after_error = parts[1].weight:size(0)
        out.after_error = parts(x):size(1)
        """
    )
    assert "'w' was changed in place in the module's forward" in out["in_forward"]
    assert "'0.weight' was changed between its forward and this backward" in out["between"]
    assert out["goes_on"]
    assert "mat1 and mat2" in out["error"]
    assert (out["rows_after_error"], out["after_error"]) == (3, 5)


def test_what_fully_shard_refuses(sharded):
    out = sharded(
        """
        local parts = fully_shard(model())
        out.twice = refused(function() fully_shard(parts) end)
        out.no_module = refused(function() fully_shard(5) end)
        out.option = refused(function() fully_shard(model(), {reshard_after_foward = true}) end)
        out.policy = refused(function() fully_shard(model(), {mp_policy = 'bfloat16'}) end)
        out.dtype = refused(function() dist.fsdp.MixedPrecisionPolicy{param_dtype = 'int8'} end)
        local Scalar = nn.Module:extend 'Scalar'
        function Scalar:init() self.scale = nn.Parameter(torch.tensor(1)) end
        out.scalar = refused(function() fully_shard(Scalar()) end)
        local shared = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 6))
        shared[2].weight = shared[1].weight
        fully_shard(shared[1])
        out.shared = refused(function() fully_shard(shared) end)
        out.copy = refused(function() parts:deepcopy() end)
        local other = fully_shard(model())
        other[1].weight = nn.Parameter(torch.ones(6, 4))
        out.replaced = refused(function() other(x) end)
        out.ranks = refused(function() fully_shard(nn.Linear(4, 4 + rank)) end)
        """
    )
    assert "is sharded already" in out["twice"]
    assert "expected a module, got 5" in out["no_module"]
    assert "did you mean 'reshard_after_forward'?" in out["option"]
    assert "expected a MixedPrecisionPolicy" in out["policy"]
    assert "expected a floating-point dtype" in out["dtype"]
    assert "'scale' has no dimension 0" in out["scalar"]
    assert "'1.weight' is the same parameter as 'weight' of a module that was sharded before" in out["shared"]
    assert "is sharded (fully_shard), and a copy of its module" in out["copy"]
    assert "'0.weight' was replaced by another parameter" in out["replaced"]
    assert "rank 1 of the group shards 2 other parameters" in out["ranks"]


def test_outputs_of_any_form(sharded):
    out = sharded(
        """
        local Output = require 'base.class' 'Output'
        local Part = nn.Module:extend 'Part'
        function Part:init(form) self.form, self.layer = form, nn.Linear(4, 4) end
        function Part:forward(given)
          local y = self.layer(given)
          if self.form == 'several' then return y, y * 2 end
          if self.form == 'table' then return {y = {y, 'text'}} end
          local object = Output()
          object.y = y
          return object
        end
        for _, form in ipairs{'several', 'table', 'object'} do
          torch.manual_seed(5)
          local first, part = fully_shard(nn.Linear(4, 4)), fully_shard(Part(form))
          local result = part(first(x))
          local y = form == 'several' and result or form == 'table' and result.y[1] or result.y
          y:sum():backward()
          out[form] = first.weight.grad:full_tensor():sum():item()
        end
        """
    )
    assert out["several"] == out["table"] == out["object"] != 0


def test_replicas_are_added_up_once(sharded):
    out = sharded(
        """
        local mesh = dist.init_device_mesh('cpu', {2, 2}, {mesh_dim_names = {'replicate', 'shard'}})
        local parts, whole = model(), nn.parallel.DistributedDataParallel(model())
        fully_shard(parts[1], {mesh = mesh})
        fully_shard(parts, {mesh = mesh})
        local function batch(i) return torch.full({2, 4}, i + rank) end
        parts:set_requires_all_reduce(false)
        parts(batch(1)):sum():backward()
        out.waits = parts[1].weight.grad == nil
        parts:set_requires_all_reduce(true)
        parts(batch(2)):sum():backward()
        whole:no_sync(function() whole(batch(1)):sum():backward() end)
        whole(batch(2)):sum():backward()
        out.same = torch.allclose(parts[1].weight.grad:full_tensor(), whole.module[1].weight.grad)
          and torch.allclose(parts[3].weight.grad:full_tensor(), whole.module[3].weight.grad)
        """,
        ranks=4,
    )
    assert out == {"waits": True, "same": True}


def test_modules_that_are_gathered_ahead(sharded):
    out = sharded(
        """
        local C, layers = require 'torch._C', {}
        for i = 1, 6 do layers[i] = nn.Linear(128, 128, {bias = false}) end
        local parts = nn.Sequential(unpack(layers))
        for i = 1, 6 do fully_shard(parts[i]) end
        fully_shard(parts)
        local batch = torch.full({2, 128}, rank + 1)
        local function gradients()
          local grads = {}
          parts:zero_grad()
          parts(batch):sum():backward()
          for i = 1, 6 do grads[i] = parts[i].weight.grad:full_tensor() end
          return torch.stack(grads)
        end
        -- In units of a layer's parameters.
        local function peak_of_forward()
          collectgarbage()
          collectgarbage()
          local before = C.memory_stats().live_bytes
          C.reset_peak_memory_stats()
          torch.no_grad(function() parts(batch) end)
          return (C.memory_stats().peak_bytes - before) / (4 * 128 * 128)
        end
        local before = gradients()
        out.forward = {peak_of_forward()}
        for i = 1, 6 do parts[i]:set_modules_to_forward_prefetch{layers[i + 1], layers[i + 2], layers[i + 3]} end
        out.same = torch.equal(gradients(), before)
        out.forward[2] = peak_of_forward()
        for i = 1, 6 do
          parts[i]:set_modules_to_forward_prefetch{}
          parts[i]:set_modules_to_backward_prefetch{layers[i - 1], layers[i - 2], layers[i - 3]}
        end
        out.same_again = torch.equal(gradients(), before)
        out.no_list = refused(function() parts:set_modules_to_forward_prefetch(parts[1]) end)
        out.not_sharded = refused(function() parts:set_modules_to_backward_prefetch{nn.ReLU()} end)
        out.is_shared = 'BACKEND' == 'shm'
        """
    )
    assert out["same"] and out["same_again"]
    default, three = out["forward"]
    if out["is_shared"]:
        assert default == three
    else:
        assert three > default + 1.5, out
    assert "set_modules_to_forward_prefetch: expected a list of modules" in out["no_list"]
    assert "module 1 was not sharded by fully_shard" in out["not_sharded"]


def test_a_model_without_memory_gets_it_after_it_is_sharded(sharded):
    out = sharded(
        """
        local parts
        torch.device('meta', function() parts = model() end)
        fully_shard(parts[1])
        fully_shard(parts)
        out.too_early = refused(function() parts(x) end)
        parts:to_empty{device = 'cpu'}
        for _, p in ipairs(parts:parameters()) do nn.init.constant_(p, 0.5) end
        local optimizer = torch.optim.SGD(parts:parameters(), {lr = 0.1})
        local whole = model()
        for _, p in ipairs(whole:parameters()) do nn.init.constant_(p, 0.5) end
        out.same = torch.equal(parts(x), whole(x))
        parts(x):sum():backward()
        optimizer:step()
        out.changed = not torch.equal(parts(x), whole(x))
        """
    )
    assert "is on the device 'meta'" in out["too_early"]
    assert out["same"] and out["changed"]


def test_first_values_of_rows(sharded):
    out = sharded(
        """
        local init, parts = nn.init, nn.Sequential(nn.Linear(64, 256), nn.Conv2d(4, 64, 3))
        fully_shard(parts)
        local function deviation(p) return p:full_tensor():std():item() end
        torch.manual_seed(rank)
        out.xavier = deviation(init.xavier_normal_(parts[1].weight)) / math.sqrt(2 / (64 + 256))
        out.kaiming = deviation(init.kaiming_uniform_(parts[2].weight, {mode = 'fan_out', nonlinearity = 'relu'}))
          / math.sqrt(2 / (64 * 9))
        for _, name in ipairs{'orthogonal_', 'eye_'} do
          out[name] = refused(function() init[name](parts[1].weight) end)
        end
        out.dirac_ = refused(function() init.dirac_(parts[2].weight) end)
        out.sparse_ = refused(function() init.sparse_(parts[1].weight, 0.1) end)
        """
    )
    assert abs(out["xavier"] - 1) < 0.05 and abs(out["kaiming"] - 1) < 0.05, out
    for name in ("orthogonal_", "eye_", "dirac_", "sparse_"):
        assert f"{name}: '{int(name == 'dirac_')}.weight' is sharded" in out[name]


def test_a_gradient_of_a_gradient(sharded):
    out = sharded(
        """
        local whole, parts = model(), model()
        for _, each in ipairs{parts[1], parts[3], parts} do fully_shard(each) end
        local function penalty(net)
          local v = (x * (rank + 1)):requires_grad_()
          local y = net(v):sum()
          local grad = torch.autograd.grad(y, v, {create_graph = true})[1]
          local loss = y + grad:pow(2):sum()
          loss:backward()
        end
        penalty(parts)
        penalty(whole)
        out.same, out.rows = true, parts[1].weight:size(0)
        for i, p in ipairs(parts:parameters()) do
          local wanted = dist.all_reduce(whole:parameters()[i].grad, 'avg')
          out.same = out.same and torch.allclose(p.grad:full_tensor(), wanted)
        end
        """
    )
    assert out == {"same": True, "rows": 3}


def test_a_graph_that_is_kept_and_a_model_of_another_dtype(sharded):
    out = sharded(
        """
        local parts = fully_shard(model())
        local loss = parts(x):sum()
        loss:backward{retain_graph = true}
        local once = parts[1].weight.grad:full_tensor()
        loss:backward()
        out.twice = torch.allclose(parts[1].weight.grad:full_tensor(), once * 2)
        parts:double()
        out.dtype = parts(x:double()).dtype
        """
    )
    assert out == {"twice": True, "dtype": "float64"}


@pytest.mark.parametrize("ranks", [2, 4])
def test_memory_is_that_of_the_formula(sharded, ranks):
    out = sharded(
        """
        local C, layers, count = require 'torch._C', {}, 8 * 256 * 256
        for i = 1, 8 do layers[i] = nn.Linear(256, 256, {bias = false}) end
        local parts = nn.Sequential(unpack(layers))
        layers = nil
        for i = 1, 8 do fully_shard(parts[i]) end
        fully_shard(parts)
        local optimizer = torch.optim.AdamW(parts:parameters())
        local function per_parameter(name)
          collectgarbage()
          collectgarbage()
          return C.memory_stats()[name] / count
        end
        out.is_shared = 'BACKEND' == 'shm'
        -- The least of several steps: Gloo's threads let go of what they have sent a moment after its end.
        out.peak, out.rest = math.huge, math.huge
        for step = 1, 20 do
          C.reset_peak_memory_stats()
          optimizer:zero_grad()
          parts(torch.ones(1, 256)):sum():backward()
          if step > 2 then out.peak = math.min(out.peak, C.memory_stats().peak_bytes / count) end
          optimizer:step()
          if step > 2 then out.rest = math.min(out.rest, per_parameter 'live_bytes') end
        end
        """,
        ranks=ranks,
    )
    # Parameters, gradients and Adam's two moments in float32: 16 bytes for each of this rank's rows.
    assert abs(out["rest"] - 16 / ranks) < 0.05 * 16 / ranks, out
    # In backward a group's gradients are whole; without shared memory two groups are gathered, and copied to be sent.
    most = 1.2 if out["is_shared"] else 8
    assert out["peak"] < 16 / ranks + 4 / 8 * most, out
