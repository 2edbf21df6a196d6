"""Tensors that Lua has dropped free their memory, although the garbage collector sees only a few bytes of each."""


def peak_mb(rtrain, body):
    result = rtrain(
        "exec",
        rtrain.script(
            "local torch = require 'torch'\ntorch.set_num_threads(1)\n"
            + body
            + """
        print(io.open('/proc/self/status'):read('*a'):match('VmHWM:%s*(%d+) kB'))
        """
        ),
    )
    assert result.returncode == 0, result.stderr
    return int(result.stdout) / 1024


def test_500_dropped_tensors_of_4_mb_stay_under_400_mb(rtrain):
    assert peak_mb(rtrain, "for _ = 1, 500 do local x = torch.ones(1000, 1000) end") < 400


def test_500_dropped_results_of_4_mb_stay_under_400_mb(rtrain):
    assert (
        peak_mb(
            rtrain,
            """
        local x = torch.ones(1000, 1000, {requires_grad = true})
        for _ = 1, 250 do local y = (x * 2):relu() end
        """,
        )
        < 400
    )


def test_a_training_loop_does_not_grow(rtrain):
    body = """
        local nn, F = require 'torch.nn', require 'torch.nn.functional'
        torch.manual_seed(0)
        local model = nn.Sequential(nn.Linear(200, 400), nn.ReLU(), nn.Linear(400, 10))
        local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01})
        for _ = 1, %d do
          optimizer:zero_grad()
          F.cross_entropy(model(torch.randn(500, 200)), torch.randint(0, 10, {500})):backward()
          optimizer:step()
        end
        """
    assert peak_mb(rtrain, body % 150) < peak_mb(rtrain, body % 50) + 50
