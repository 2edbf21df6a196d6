"""torch.distributed.init_device_mesh and DeviceMesh in a run of several ranks, compared with Python's torch."""

import json

import pytest

from group_runs import ranks_of, run

# Shape, names, and the parts to take.
MESHES = [
    ((4,), ("data",), [["data"]]),
    ((2, 2), ("replicate", "shard"), [["replicate"], ["shard"], ["replicate", "shard"]]),
    ((1, 4), ("replicate", "shard"), [["replicate"], ["shard"]]),
    ((2, 1, 2), ("dp", "cp", "tp"), [["cp"], ["dp", "tp"], ["cp", "tp"]]),
]

LUA = """
  local function add(shape, names, parts, flatten)
    local mesh = dist.init_device_mesh('cpu', shape, {mesh_dim_names = names})
    local facts = {}
    local function describe(part)
      local groups = {}
      for i, group in ipairs(part:get_all_groups()) do
        local sum = dist.all_reduce(torch.tensor{10 ^ rank}, {group = group}):item()
        groups[i] = {ranks = dist.get_process_group_ranks(group), sum = sum, place = part:get_local_rank(i - 1)}
      end
      facts[#facts + 1] = {
        text = tostring(part), ranks = part.mesh:tolist(), coordinate = part:get_coordinate(), size = part:size(),
        groups = groups, names = part.mesh_dim_names}
    end
    describe(mesh)
    for _, part in ipairs(parts) do describe(mesh[part]) end
    if flatten then
      mesh[flatten]:_flatten()
      describe(mesh[table.concat(flatten, '_')])
    end
    return facts
  end
"""

PYTHON = """
import sys, warnings
import torch
import torch.distributed as dist
warnings.simplefilter("ignore")

def worker(rank, path, meshes, queue):
    dist.init_process_group("gloo", rank=rank, world_size=4, init_method=f"file://{path}")
    out = []
    for shape, names, parts, flatten in meshes:
        mesh = dist.init_device_mesh("cpu", shape, mesh_dim_names=tuple(names))
        facts = []
        def describe(part):
            groups = []
            for i, group in enumerate(part.get_all_groups()):
                total = torch.tensor([10.0**rank])
                dist.all_reduce(total, group=group)
                groups.append(dict(
                    ranks=dist.get_process_group_ranks(group), sum=total.item(), place=part.get_local_rank(i)))
            facts.append(dict(
                text=repr(part), ranks=part.mesh.tolist(), coordinate=list(part.get_coordinate()), size=part.size(),
                groups=groups, names=list(part.mesh_dim_names)))
        describe(mesh)
        for part in parts:
            describe(mesh[tuple(part)])
        if flatten:
            mesh[tuple(flatten)]._flatten()
            describe(mesh["_".join(flatten)])
        out.append(facts)
    queue.put((rank, out))
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    import json
    import torch.multiprocessing as mp
    context = mp.get_context("spawn")
    queue = context.SimpleQueue()
    meshes = json.loads(sys.argv[2])
    processes = [context.Process(target=worker, args=(rank, sys.argv[1], meshes, queue)) for rank in range(4)]
    for process in processes: process.start()
    facts = dict(queue.get() for _ in processes)
    for process in processes: process.join()
    print(json.dumps([facts[rank] for rank in range(4)]))
"""


def flattened(names):
    return list(names[:2]) if len(names) > 2 else None


def lua_list(values):
    return "{" + ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in values) + "}"


def test_meshes_equal_those_of_python(rtrain, tmp_path):
    pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
    import subprocess
    import sys

    calls = ", ".join(
        f"add({lua_list(shape)}, {lua_list(names)}, {{{', '.join(map(lua_list, parts))}}}, "
        f"{lua_list(flattened(names)) if flattened(names) else 'nil'})"
        for shape, names, parts in MESHES
    )
    result = run(rtrain, LUA + f"train.report{{facts = require('json').encode {{{calls}}}}}")
    assert result.returncode == 0, result.stderr
    program = tmp_path / "meshes.py"
    program.write_text(PYTHON)
    meshes = json.dumps([(shape, names, parts, flattened(names)) for shape, names, parts in MESHES])
    python = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "store"), meshes], capture_output=True, text=True, timeout=100
    )
    assert python.returncode == 0, python.stderr
    expected = json.loads(python.stdout)
    for rank, row in enumerate(ranks_of(rtrain)):
        assert json.loads(row["facts"]) == expected[rank], rank


@pytest.mark.parametrize("backend", ["cpu:shm,cuda:nccl", "gloo"])
def test_collectives_along_dimensions(rtrain, backend):
    result = run(
        rtrain,
        """
        local mesh = dist.init_device_mesh('cpu', {2, 2}, {mesh_dim_names = {'replicate', 'shard'}})
        local function sum(group) return dist.all_reduce(torch.tensor{rank}, {group = group}):item() end
        local whole = dist.init_device_mesh('cpu', {4})
        assert(whole:get_group() == dist.group.WORLD and mesh.shard ~= mesh.replicate and mesh.shard == mesh['shard'])
        local again = dist.DeviceMesh.from_group({mesh:get_group(0), mesh:get_group(1)}, 'cpu', mesh.mesh,
          {mesh_dim_names = mesh.mesh_dim_names})
        assert(again == mesh)
        train.report{
          shard = sum(mesh.shard:get_group()), replicate = sum(again:get_group 'replicate'), all = sum(whole:get_group()),
          flat = sum(mesh:_flatten 'all':get_group())}
        """,
        backend=backend,
    )
    assert result.returncode == 0, result.stderr
    assert ranks_of(rtrain) == [
        {"shard": (1, 5)[rank // 2], "replicate": (2, 4)[rank % 2], "all": 6, "flat": 6} for rank in range(4)
    ]


def test_ranks_in_another_order_and_outside_of_the_mesh(rtrain):
    result = run(
        rtrain,
        """
        local mesh = dist.DeviceMesh('cpu', {{2, 0}}, {mesh_dim_names = {'a', 'b'}})
        local coordinate = mesh:get_coordinate()
        if coordinate == nil then
          for _, fn in ipairs{function() mesh:get_group 'b' end, function() return mesh.b.mesh end} do
            local ok, err = pcall(fn)
            assert(not ok and err.message:find('rank ' .. rank .. ' is not in the mesh', 1, true), tostring(err))
          end
          return train.report{place = -1}
        end
        train.report{
          place = coordinate[2], ranks = table.concat(mesh.b.mesh:tolist(), ','),
          sum = dist.all_reduce(torch.tensor{rank}, {group = mesh:get_group 'b'}):item()}
        """,
        workers=3,
    )
    assert result.returncode == 0, result.stderr
    assert ranks_of(rtrain) == [
        {"place": 1, "ranks": "2,0", "sum": 2},
        {"place": -1},
        {"place": 0, "ranks": "2,0", "sum": 2},
    ]


@pytest.mark.parametrize("workers", [0, 1])
def test_one_process(rtrain, workers):
    result = run(
        rtrain,
        """
        local mesh = dist.init_device_mesh('cpu', {1, 1}, {mesh_dim_names = {'replicate', 'shard'}})
        train.report{sum = dist.all_reduce(torch.tensor{3}, {group = mesh.shard:get_group()}):item()}
        """,
        workers=workers,
    )
    assert result.returncode == 0, result.stderr
    assert ranks_of(rtrain) == [{"sum": 3}]


def test_a_mesh_that_is_too_large_is_an_error_on_every_rank(rtrain):
    result = run(rtrain, "dist.init_device_mesh('cpu', {2, 4})", workers=2)
    assert result.returncode == 1
    assert "DeviceMesh: a mesh of 8 ranks is larger than the world of 2" in result.stderr
