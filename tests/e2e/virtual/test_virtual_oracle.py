"""What virtual workers compute is the mean of that many batches, as Python's torch computes it in float64."""

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")

from virtual_runs import train

VIRTUAL, SAMPLES, BATCH = 8, 205, 5


def one_process(start, accumulate):
    """The same training in one process: each step the mean of the losses of all ranks' batches."""
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4)).double()
    net.load_state_dict({name: value.double() for name, value in start["model"].items()})
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.9)
    data = torch.utils.data.TensorDataset(start["x"].double(), start["y"])
    samplers = [torch.utils.data.DistributedSampler(data, VIRTUAL, rank) for rank in range(VIRTUAL)]
    reports = []
    for epoch in range(2):
        for sampler in samplers:
            sampler.set_epoch(epoch)
        ranks = [torch.utils.data.DataLoader(data, BATCH, sampler=sampler) for sampler in samplers]
        for i, batches in enumerate(zip(*ranks)):
            losses = [torch.nn.functional.cross_entropy(net(x), y) for x, y in batches]
            (sum(losses) / VIRTUAL).backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
            reports.append((losses[0].item(), norm.item()))
    return torch.cat([param.detach().flatten() for param in net.parameters()]), reports


@pytest.mark.parametrize("workers", [1, 3, 8])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_mean_of_all_batches(rtrain, workers, accumulate):
    start = rtrain.folder / "start.pt"
    out, reports, _ = train(
        rtrain, workers, ["net=plain", f"start={start}", f"samples={SAMPLES}", f"accumulate={accumulate}"]
    )
    wanted, wanted_reports = one_process(torch.load(start), accumulate)
    lines = [line.split() for line in out.splitlines() if line.startswith("model.")]
    params = torch.tensor([float.fromhex(word) for line in lines for word in line[1:]], dtype=torch.float64)
    assert params.shape == wanted.shape and (params - wanted).abs().max() < 2e-5
    assert len(reports) == len(wanted_reports) == 12
    for report, (loss, norm) in zip(reports, wanted_reports):
        assert abs(report["loss"] - loss) < 1e-5 and abs(report["norm"] - norm) < 1e-5
