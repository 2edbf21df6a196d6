"""torch.distributed in a run: groups of some ranks, messages between two ranks, asynchronous collectives."""

import re

import pytest

from group_runs import ranks_of, run


@pytest.fixture(params=["cpu:shm,cuda:nccl", "gloo"])
def backend(request):
    return request.param


def test_groups_of_some_ranks(rtrain, backend):
    result = run(
        rtrain,
        """
        local ends, inner = dist.new_group{0, 3}, dist.new_group{ranks = {2, 1}}
        local mine = (rank == 0 or rank == 3) and ends or inner
        local sum = dist.all_reduce(torch.tensor{rank}, {group = mine}):item()
        local first = dist.broadcast(torch.tensor{rank}, mine == ends and 3 or 1, mine):item()
        local in_group = dist.broadcast(torch.tensor{rank}, {group_src = 1, group = mine}):item()
        local whole = dist.all_reduce(torch.tensor{rank}):item()
        local pair, all = dist.new_subgroups(2)
        assert(#all == 2 and dist.get_backend(pair) == dist.get_backend())
        local gathered = {}
        dist.all_gather(gathered, torch.tensor{rank}, pair)
        assert(#gathered == 2 and dist.get_world_size(pair) == 2)
        assert(dist.get_global_rank(mine, 1) == (mine == ends and 3 or 2))
        assert(dist.get_group_rank(mine, rank) == dist.get_rank(mine))
        dist.destroy_process_group(pair)
        train.report{
          sum = sum, first = first, in_group = in_group, whole = whole,
          pair = gathered[1]:item() .. '+' .. gathered[2]:item(),
          ranks = table.concat(dist.get_process_group_ranks(mine), ','),
          outside = dist.get_rank(mine == ends and inner or ends)}
        """,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    ends = {"sum": 3, "first": 3, "in_group": 3, "whole": 6, "ranks": "0,3", "outside": -1}
    inner = {"sum": 3, "first": 1, "in_group": 2, "whole": 6, "ranks": "1,2", "outside": -1}
    assert ranks_of(rtrain) == [
        {**ends, "pair": "0+1"},
        {**inner, "pair": "0+1"},
        {**inner, "pair": "2+3"},
        {**ends, "pair": "2+3"},
    ]


def test_messages_go_by_rank_and_tag(rtrain, backend):
    result = run(
        rtrain,
        """
        local got = torch.zeros(3)
        if rank == 0 then
          local first = dist.isend(torch.full({3}, 5), 1, {tag = 5})
          dist.send(torch.full({3}, 6), {dst = 1, tag = 6})
          first:wait()
        elseif rank == 1 then
          assert(dist.recv(got, 0, {tag = 6}) == 0 and got[0]:item() == 6)
          assert(dist.recv(got, 0, {tag = 5}) == 0 and got[2]:item() == 5)
        end
        -- A ring: every rank sends before it receives.
        local ring = dist.batch_isend_irecv{
          dist.P2POp(dist.isend, torch.full({3}, rank), (rank + 1) % 3), dist.P2POp(dist.irecv, got, (rank + 2) % 3)}
        for _, work in ipairs(ring) do work:wait() end
        assert(got[0]:item() == (rank + 2) % 3)
        local senders = 0
        for _ = 1, rank == 0 and 2 or 0 do
          local from = dist.recv(got)
          assert(got[1]:item() == 10 * from)
          senders = senders + from
        end
        if rank > 0 then dist.send(torch.full({3}, 10 * rank), 0) end
        -- More data than fits into the buffers between two ranks, while both are in a collective.
        local large = torch.full({1000000}, rank)
        local work = rank == 0 and dist.isend(large, 1) or rank == 1 and dist.irecv(large, 0)
        dist.barrier()
        if work then work:wait() end
        train.report{senders = senders, large = large:mean():item(), from = rank == 1 and work:source_rank() or -1}
        """,
        workers=3,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    assert ranks_of(rtrain) == [
        {"senders": 3, "large": 0, "from": -1},
        {"senders": 0, "large": 0, "from": 0},
        {"senders": 0, "large": 2, "from": -1},
    ]


def test_collectives_that_nobody_waits_for(rtrain, backend):
    result = run(
        rtrain,
        """
        local x, list = torch.full({100000}, rank + 1), {}
        local works = {dist.all_reduce(x, {async_op = true}), dist.all_gather(list, torch.tensor{rank}, {async_op = true}),
                       dist.barrier{async_op = true}}
        local gathered = dist.gather(torch.tensor{rank}, {dst = 1, async_op = true})
        for _, work in ipairs(works) do assert(work:wait()) end
        gathered:wait()
        assert(works[1]:is_completed() and works[1]:is_success() and #works[1]:result() == 1)
        local flags = dist.all_reduce(torch.tensor({2 ^ rank}, {dtype = 'int64'}), dist.ReduceOp.BOR)
        train.report{x = x:mean():item(), list = list[2]:item(), gathered = #gathered:result(), flags = flags:item()}
        """,
        workers=2,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    assert ranks_of(rtrain) == [
        {"x": 3, "list": 1, "gathered": 0, "flags": 3},
        {"x": 3, "list": 1, "gathered": 2, "flags": 3},
    ]


def test_bitwise_operations(rtrain, backend):
    result = run(
        rtrain,
        """
        local function reduced(op, values, dtype)
          return dist.all_reduce(torch.tensor({values[rank + 1]}, {dtype = dtype}), op):tolist()[1]
        end
        local out = torch.zeros({1}, {dtype = 'int32'})
        dist.reduce_scatter_tensor(out, torch.tensor({rank + 4, rank + 8, 1}, {dtype = 'int32'}), {op = 'bor'})
        train.report{
          band = reduced('band', {7, 13, 5}, 'int64'), bor = reduced('bor', {1, 2, 8}, 'uint8'),
          bxor = reduced('bxor', {-1, 3, 8}, 'int32'), scattered = out:item(),
          all = tostring(reduced('band', {true, true, false}, 'bool')),
          any = tostring(reduced('bor', {false, true, false}, 'bool'))}
        print(select(2, pcall(dist.all_reduce, torch.ones(1), 'band')))
        """,
        workers=3,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    shared = {"band": 5, "bor": 11, "bxor": -12, "all": "false", "any": "true"}
    assert result.stdout.count("BAND") == 3, result.stdout  # refused for numbers with a fraction
    assert ranks_of(rtrain) == [{**shared, "scattered": n} for n in (7, 11, 1)]


def test_ddp_and_batch_norm_over_a_group(rtrain, backend):
    result = run(
        rtrain,
        """
        local nn = torch.nn
        local pair = dist.new_subgroups(2)
        torch.manual_seed(rank)
        local model = train.torch.prepare_model(nn.Linear(3, 1), {parallel_strategy_kwargs = {process_group = pair}})
        model(torch.randn(4, 3)):sum():backward()
        local function equal(tensor, group)
          local all = dist.all_gather(tensor:detach(), {group = group})
          for _, each in ipairs(all) do
            if not torch.equal(each, all[1]) then return 0 end
          end
          return 1
        end
        local weight, grad = model.module.weight, model.module.weight.grad
        -- Each rank of a pair has a half of the pair's batch.
        torch.manual_seed(math.floor(rank / 2))
        local x = torch.randn(6, 3)
        local whole = nn.BatchNorm1d(3)(x)
        local half = nn.SyncBatchNorm(3, {process_group = pair})(x[torch.slice(rank % 2 * 3, rank % 2 * 3 + 3)])
        train.report{
          weight = equal(weight, pair), grad = equal(grad, pair), other_weight = equal(weight),
          norm = torch.allclose(half, whole[torch.slice(rank % 2 * 3, rank % 2 * 3 + 3)], {atol = 1e-6}) and 1 or 0}
        """,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    assert ranks_of(rtrain) == [{"weight": 1, "grad": 1, "other_weight": 0, "norm": 1}] * 4


def test_another_collective_in_a_group_is_refused_before_data_move(rtrain, backend):
    result = run(
        rtrain,
        """
        local ends = dist.new_group{0, 2}
        if rank == 0 then dist.all_reduce(torch.zeros(3), {group = ends}) end
        if rank == 2 then dist.broadcast(torch.zeros(3), 0, ends) end
        """,
        workers=3,
        backend=backend,
    )
    assert result.returncode == 1
    assert re.search(r"the ranks disagree on collective \d of the group of ranks 0, 2", result.stderr), result.stderr
    assert "all_reduce(float32 [3])" in result.stderr and "broadcast from 0(float32 [3])" in result.stderr
    assert "rank 1" not in result.stderr


def test_a_member_that_returns_early_is_named(rtrain):
    result = run(
        rtrain,
        """
        local ends = dist.new_group{0, 2}
        if rank == 2 then
          for _ = 1, 3 do dist.barrier(ends) end
        elseif rank == 0 then
          dist.barrier(ends)
        end
        """,
        workers=3,
    )
    assert result.returncode == 1
    assert "rank 0" in result.stderr and "has already returned from the train function" in result.stderr
    assert "rank 1" not in result.stderr


@pytest.mark.parametrize("call", ["dist.barrier(ends)", "dist.recv(torch.zeros(3), 2)", "dist.recv(torch.zeros(3))"])
def test_a_rank_that_dies_frees_who_waits_for_it(rtrain, call, backend):
    result = run(
        rtrain,
        f"""
        local ends = dist.new_group{{0, 2}}
        if rank == 2 then os.execute('sleep 0.3; kill -9 $PPID') end
        if rank == 0 then {call} end
        """,
        workers=3,
        backend=backend,
    )
    assert result.returncode == 5
    assert "rank 2" in result.stderr and "SIGKILL" in result.stderr, result.stderr


def test_what_never_comes_in_a_group_ends_at_its_deadline(rtrain, backend):
    result = run(
        rtrain,
        """
        local ends = dist.new_group{ranks = {0, 1}, timeout_s = 1}
        if rank == 0 then dist.barrier(ends) else os.execute 'sleep 20' end
        """,
        workers=2,
        backend=backend,
    )
    assert result.returncode == 6
    assert "barrier on rank 0 in the group of ranks 0, 1 waited 1 s" in result.stderr, result.stderr
    assert "rank 1 has not called it" in result.stderr and "timeout_s of new_group" in result.stderr


def test_a_group_is_made_by_all_ranks_alike(rtrain):
    result = run(rtrain, "dist.new_group{rank == 0 and 0 or 1, 2}", workers=3)
    assert result.returncode == 1
    assert "the ranks disagree on collective 1" in result.stderr
    assert "new_group(the group of ranks 0, 2)" in result.stderr
    assert "new_group(the group of ranks 1, 2)" in result.stderr


@pytest.mark.parametrize("backend", ["gloo", "cpu:shm,cuda:nccl"])
def test_a_program_that_a_rank_starts_has_none_of_its_sockets(rtrain, backend):
    body = "dist.new_group({0, 1}, {backend = 'gloo'}) dist.barrier() os.execute 'ls -l /proc/self/fd' dist.barrier()"
    result = run(rtrain, body, workers=2, backend=backend)
    assert result.returncode == 0, result.stderr
    assert "/dev/null" in result.stdout and "socket:" not in result.stdout, result.stdout
