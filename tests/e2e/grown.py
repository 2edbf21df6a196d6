"""A training whose group becomes larger at a commit, on one node or on several."""

from test_heal_smaller import smaller

INTERVAL = "elastic_resize_monitor_interval_s = 0.1, resources_per_worker"


def larger(num_workers, size, **places):
    """Returns the training of test_heal_smaller, slowed down while the group has that size."""
    slow = f"if train.get_context():get_world_size() == {size} then os.execute 'sleep 0.3' end"
    text = smaller(num_workers, **{"at_step": slow, **places})
    return text.replace("resources_per_worker", INTERVAL)


def check_grown(rtrain, result, sizes):
    assert f"the group goes on with {sizes[-1]} workers instead of {min(sizes)} after its next commit" in result.stderr
    assert "in 30 s" not in result.stderr and "checkpoint" not in result.stderr
    found = rtrain.query(
        "SELECT attempts.num_workers FROM attempts JOIN runs USING(run_id) WHERE name = 'healed' ORDER BY attempt"
    )
    assert [size for (size,) in found] == sizes
    # Each sample is seen once in each epoch, whatever size the group had.
    rows = [row for row in rtrain.json("metrics", "healed", "--ranks", "--superseded") if not row["superseded"]]
    assert [row["index"] for row in rows] == list(range(len(rows)))
    assert [row["ranks"][0]["step"] for row in rows] == list(range(1, len(rows) + 1)), "no step twice, none left out"
    samples = [x for row in rows for rank in row["ranks"] if rank for x in rank["rows"]]
    counts = [samples.count(x) for x in range(64)]
    # With three ranks a sampler pads an epoch with two samples.
    assert min(counts) == 3 and sum(counts) <= 3 * 64 + (6 if max(sizes) == 3 else 0), counts
    assert rows[0]["ranks"][0]["size"] == sizes[0] and rows[-1]["ranks"][0]["size"] == sizes[-1]
    assert not [each for each in rtrain.run_folder("healed").iterdir() if each.name.startswith("elastic-")]
