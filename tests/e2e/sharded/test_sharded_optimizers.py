"""Optimizers of sharded parameters, and hooks of them."""

from sharded_runs import sharded  # noqa: F401  (a fixture)

WORKING = "Adam AdamW SGD Adagrad Adadelta Adamax ASGD NAdam RAdam RMSprop Rprop Muon Adafactor".split()


def test_optimizers_compute_what_they_do_with_whole_parameters(sharded):
    out = sharded(
        """
        for name in ('NAMES'):gmatch '%a+' do
          local whole, parts = model(), model()
          if name == 'Muon' then
            torch.manual_seed(1)
            whole = nn.Sequential(nn.Linear(4, 6, {bias = false}))
            parts = nn.Sequential(nn.Linear(4, 6, {bias = false}))
            parts:load_state_dict(whole:state_dict())
          end
          fully_shard(fully_shard(parts[1]) and parts)
          for _, each in ipairs{whole, parts} do
            local optimizer = torch.optim[name](each:parameters(), {lr = 0.01})
            for step = 1, 3 do
              optimizer:zero_grad()
              each(x * step):pow(2):sum():backward()
              optimizer:step()
            end
          end
          local state = whole:state_dict()
          out[name] = 0
          for name_of, p in parts:named_parameters() do
            out[name] = math.max(out[name], (p:full_tensor() - state[name_of]):abs():max():item())
          end
        end
        """.replace("NAMES", " ".join(WORKING))
    )
    assert sorted(out) == sorted(WORKING)
    assert max(out.values()) < 1e-6, out


def test_adafactor_has_the_means_of_whole_parameters(sharded):
    out = sharded(
        """
        local function network()
          torch.manual_seed(3)
          return nn.Sequential(nn.Conv2d(2, 5, 3), nn.Flatten(), nn.Linear(20, 2))
        end
        local whole, parts = network(), fully_shard(network())
        local batch = torch.linspace(-1, 1, 64):view(2, 2, 4, 4)
        out.worst = 0
        for _, options in ipairs{{lr = 0.3}, {lr = 0.1, d = 1.5, weight_decay = 0.1, eps = {1e-20, 1e-2}}} do
          for _, each in ipairs{whole, parts} do
            local optimizer = torch.optim.Adafactor(each:parameters(), options)
            for step = 1, 4 do
              optimizer:zero_grad()
              each(batch * step):pow(2):sum():backward()
              optimizer:step()
            end
          end
          local state = whole:state_dict()
          for name_of, p in parts:named_parameters() do
            out.worst = math.max(out.worst, (p:full_tensor() - state[name_of]):abs():max():item())
          end
        end
        """,
        ranks=3,
    )
    assert out["worst"] < 5e-6, out


def test_an_optimizer_of_whole_matrices_is_refused(sharded):
    out = sharded(
        """
        local parts = fully_shard(model())
        out.lbfgs = refused(function() torch.optim.LBFGS(parts:parameters()) end)
        local old = model()
        local optimizer = torch.optim.Adam(old:parameters())
        fully_shard(old)
        old(x):sum():backward()
        out.before = refused(function() optimizer:step() end)
        """
    )
    assert "LBFGS: the parameter '0.weight' is sharded" in out["lbfgs"]
    assert "made before fully_shard" in out["before"] and "'0.weight'" in out["before"]


def test_hooks_of_sharded_parameters(sharded):
    out = sharded(
        """
        local whole, parts = model(), model()
        fully_shard(parts[1])
        fully_shard(parts)
        out.hook = refused(function() parts[1].weight:register_hook(print) end)
        local early = {}
        for _, p in ipairs(parts:parameters()) do
          early[p] = torch.optim.SGD({p}, {lr = 0.1})
          p:register_post_accumulate_grad_hook(function(leaf)
            early[p]:step()
            leaf.grad = nil
          end)
        end
        local late = torch.optim.SGD(whole:parameters(), {lr = 0.1})
        out.worst, out.freed = 0, true
        for step = 1, 3 do
          parts(x * step):sum():backward()
          late:zero_grad()
          whole(x * step):sum():backward()
          late:step()
        end
        local state = whole:state_dict()
        for name, p in parts:named_parameters() do
          out.freed = out.freed and p.grad == nil
          out.worst = math.max(out.worst, (p:full_tensor() - state[name]):abs():max():item())
        end
        """
    )
    assert "register_hook: this parameter is sharded" in out["hook"]
    assert out["freed"] and out["worst"] < 1e-6, out
