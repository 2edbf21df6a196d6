"""Collectives of plain values, and monitored_barrier, in a run of several ranks."""

import re

import pytest

from group_runs import ranks_of, run


@pytest.fixture(params=["cpu:shm,cuda:nccl", "gloo"])
def backend(request):
    return request.param


def test_values_of_all_ranks(rtrain, backend):
    result = run(
        rtrain,
        """
        -- Values of different sizes, and none from rank 1.
        local mine = rank ~= 1 and {rank = rank, text = ('x'):rep(1000 * rank), t = torch.full({rank + 1}, rank)} or nil
        local all = dist.all_gather_object({}, mine)
        assert(all[2] == nil and #all[4].text == 3000 and all[4].t:sum():item() == 12)
        local list = dist.gather_object({name = 'r' .. rank}, {dst = 2})
        assert((list ~= nil) == (rank == 2))
        local got = dist.broadcast_object_list(rank == 3 and {'a', nil, {deep = {true}}} or {1, 2, 3, 4}, 3)
        assert(got[1] == 'a' and got[2] == nil and got[3].deep[1] and got[4] == nil)
        local inputs = rank == 1 and {'first', 2, {third = 3}, torch.none} or nil
        local part = dist.scatter_object_list({}, inputs, {src = 1})[1]
        -- A group of some ranks, its second rank as the source.
        local pair = dist.new_subgroups(2)
        local names = dist.all_gather_object({}, 'n' .. rank, pair)
        local from = dist.broadcast_object_list({rank}, {group = pair, group_src = 1})[1]
        local gathered = dist.gather_object(rank, {group = pair, group_dst = 1})
        local own = dist.scatter_object_list({}, {rank * 10, rank * 10 + 1}, {group = pair, group_src = 0})[1]
        train.report{
          ranks = ('%d %d %d'):format(all[1].rank, all[3].rank, all[4].rank), list = list and list[4].name or '',
          part = type(part) == 'table' and part.third or tostring(part), names = table.concat(names, ' '), from = from,
          gathered = gathered and table.concat(gathered, ' ') or '', own = own}
        """,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    parts = ["first", "2", 3, "torch.none"]
    assert ranks_of(rtrain) == [
        {
            "ranks": "0 2 3",
            "list": "r3" if rank == 2 else "",
            "part": parts[rank],
            "names": ("n0 n1", "n2 n3")[rank // 2],
            "from": (1, 3)[rank // 2],
            "gathered": {1: "0 1", 3: "2 3"}.get(rank, ""),
            "own": (0, 1, 20, 21)[rank],
        }
        for rank in range(4)
    ]


def test_values_from_one_rank_to_another(rtrain, backend):
    result = run(
        rtrain,
        """
        local got, from = {9, 9, 9}, -1
        if rank == 0 then dist.send_object_list({'a', {b = 1}}, 2) end
        if rank == 2 then from = dist.recv_object_list(got) end
        -- What cannot be sent is an error on both, and they go on.
        local ok, err = true, nil
        if rank == 0 then ok, err = pcall(dist.send_object_list, {{f = print}}, 2) end
        if rank == 2 then ok, err = pcall(dist.recv_object_list, {}, 0) end
        assert(rank == 1 or not ok and err.message:find('rank 0: object_list[1].f is a function', 1, true), tostring(err))
        dist.barrier()
        train.report{from = from, got = rank == 2 and got[1] .. got[2].b .. tostring(got[3]) or ''}
        """,
        workers=3,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    assert ranks_of(rtrain) == [{"from": -1, "got": ""}, {"from": -1, "got": ""}, {"from": 0, "got": "a1nil"}]


def test_a_value_that_cannot_be_sent_is_an_error_on_every_rank(rtrain, backend):
    result = run(
        rtrain,
        """
        local texts = {}
        local function failed(fn, ...)
          local ok, err = pcall(fn, ...)
          assert(not ok and err.code == 'argument')
          texts[#texts + 1] = err.message
        end
        failed(dist.all_gather_object, {}, rank == 2 and {m = {print}} or 5)
        failed(dist.gather_object, rank == 1 and {f = io.stdout} or rank, {dst = 0})
        failed(dist.broadcast_object_list, {rank == 0 and print or 1}, 0)
        failed(dist.scatter_object_list, {}, rank == 1 and {1, 2} or nil, 1)
        -- Nobody waits for the others, and the collectives go on.
        train.report{texts = table.concat(texts, '; '), sum = dist.all_reduce(torch.tensor{rank}):item()}
        """,
        workers=3,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    ranks = ranks_of(rtrain)
    assert len({row["texts"] for row in ranks}) == 1 and {row["sum"] for row in ranks} == {3}
    texts = ranks[0]["texts"].split("; ")
    assert texts[0].startswith("all_gather_object: rank 2: obj.m[1] is a function: only nil, booleans")
    assert texts[1].startswith("gather_object: rank 1: obj.f is an open file")
    assert texts[2].startswith("broadcast_object_list: rank 0: object_list[1] is a function")
    assert texts[3] == (
        "scatter_object_list: rank 1: scatter_object_input_list: 2 values for 3 ranks: give one for each rank"
    )


def test_monitored_barrier_names_the_missing_ranks(rtrain, backend):
    result = run(
        rtrain,
        """
        dist.monitored_barrier()
        dist.monitored_barrier{timeout_s = 30}
        local pair = dist.new_group{0, 1}
        if rank < 2 then dist.monitored_barrier{group = pair, timeout_s = 30} end
        if rank == 0 then dist.monitored_barrier{timeout_s = 1, wait_all_ranks = true} else os.execute 'sleep 20' end
        """,
        workers=3,
        backend=backend,
    )
    assert result.returncode == 6
    assert re.search(r"monitored_barrier on rank 0 of 3 waited 1 s for the other ranks", result.stderr), result.stderr
    assert "rank 1 has not called it" in result.stderr and "rank 2 has not called it" in result.stderr
    assert "a longer wait is set with timeout_s of monitored_barrier" in result.stderr


def test_its_time_out_is_not_that_of_later_collectives(rtrain, backend):
    result = run(
        rtrain,
        """
        dist.monitored_barrier{timeout_s = 0.2}
        if rank == 1 then os.execute 'sleep 1' end
        dist.barrier()
        """,
        workers=2,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
