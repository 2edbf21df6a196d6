"""rtrain.data.preprocessors against numpy and hashlib, from Parquet files and back, and with a checkpoint of two workers."""

import collections
import hashlib
import json
import math

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
import pyarrow.parquet as pq

ROWS = 240
WORDS = ["ö", "red", "", "blue sky", "red red", "Zürich", "\U0001f600", "z"]

# Fits each preprocessor to a.parquet, and transforms b.parquet by what `deserialize` makes of its text.
SCRIPT = """
local data, read_file = require 'rtrain.data', require 'base.read_file'
local P = data.preprocessors
local ours = {%s}
for i, each in ipairs(ours) do
  each:fit(data.read_parquet('a.parquet'))
  local again = P.Preprocessor.deserialize(each:serialize())
  again:transform(data.read_parquet('b.parquet')):write_parquet('out/' .. i)
end
"""


def table(seed, nulls=0.0):
    rng = np.random.default_rng(seed)

    def with_nulls(values):
        return [None if drop else value for value, drop in zip(values, rng.random(ROWS) < nulls)]

    return pa.table(
        {
            "i": pa.array(with_nulls(rng.integers(-50, 50, ROWS).tolist()), pa.int32()),
            "f": pa.array(with_nulls((rng.normal(size=ROWS) * 10).tolist()), pa.float64()),
            "h": pa.array(with_nulls(rng.random(ROWS).astype(np.float32).tolist()), pa.float32()),
            "c": pa.array([7] * ROWS, pa.int64()),
            "s": pa.array(with_nulls(rng.choice(WORDS, ROWS).tolist())),
            "l": pa.array([rng.choice(WORDS[:4], rng.integers(0, 4)).tolist() for _ in range(ROWS)]),
        }
    )


def transformed(rtrain, a, b, expressions):
    """Returns the table that each of the preprocessors makes of b, fitted to a."""
    pq.write_table(a, rtrain.folder / "a.parquet", row_group_size=70)
    pq.write_table(b, rtrain.folder / "b.parquet", row_group_size=50)
    script = rtrain.script(SCRIPT % ",\n".join(expressions), "preprocess.lua")
    result = rtrain("exec", script)
    assert result.returncode == 0, result.stderr
    return [pq.read_table(rtrain.folder / "out" / str(i + 1)) for i in range(len(expressions))]


def numbers(of, name):
    return np.array([math.nan if value is None else value for value in of[name].to_pylist()], float)


def check_numbers(of, name, expected, tolerance=1e-9):
    found = numbers(of, name)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def standard(a, b):
    std = np.nanstd(a)
    return (b - np.nanmean(a)) / (std or 1)


def min_max(a, b):
    return (b - np.nanmin(a)) / ((np.nanmax(a) - np.nanmin(a)) or 1)


def max_abs(a, b):
    return b / (np.nanmax(np.abs(a)) or 1)


def robust(low, high):
    def scaled(a, b):
        first, median, last = np.nanquantile(a, [low, 0.5, high])
        return np.zeros_like(b) if first == last else (b - median) / (last - first)

    return scaled


def yeo_johnson(power):
    def transform(_, b):
        with np.errstate(all="ignore"):
            positive = np.log1p(b) if power == 0 else ((b + 1) ** power - 1) / power
            negative = -np.log1p(-b) if power == 2 else -((1 - b) ** (2 - power) - 1) / (2 - power)
        return np.where(b < 0, negative, positive)

    return transform


COLUMNS = "columns = {'i', 'f', 'h', 'c'}"
NUMBERS = {
    f"P.StandardScaler {{{COLUMNS}}}": standard,
    f"P.MinMaxScaler {{{COLUMNS}}}": min_max,
    f"P.MaxAbsScaler {{{COLUMNS}}}": max_abs,
    f"P.RobustScaler {{{COLUMNS}}}": robust(0.25, 0.75),
    f"P.RobustScaler {{{COLUMNS}, quantile_range = {{0.1, 0.83}}}}": robust(0.1, 0.83),
    f"P.PowerTransformer {{{COLUMNS}, power = 0.5}}": yeo_johnson(0.5),
    f"P.PowerTransformer {{{COLUMNS}, power = 0}}": yeo_johnson(0),
    f"P.PowerTransformer {{{COLUMNS}, power = 2}}": yeo_johnson(2),
}


@pytest.mark.parametrize("nulls", [0, 0.1], ids=["complete", "nulls"])
def test_scaled_numbers_are_numpys(rtrain, nulls):
    a, b = table(1, nulls), table(2, nulls)
    for of, expected in zip(transformed(rtrain, a, b, NUMBERS), NUMBERS.values()):
        for name in "ifhc":
            check_numbers(of, name, expected(numbers(a, name), numbers(b, name)), 2e-6 if name == "h" else 1e-9)
        assert of.schema.field("h").type == pa.float32() and of.schema.field("i").type == pa.float64()
        assert of["s"].to_pylist() == b["s"].to_pylist()


def test_box_cox_and_the_norms_of_rows_are_numpys(rtrain):
    b = table(3, 0.1)
    norms = {
        "l1": lambda rows: np.nansum(np.abs(rows), 1),
        "l2": lambda rows: np.sqrt(np.nansum(rows**2, 1)),
        "max": lambda rows: np.nanmax(np.abs(rows), 1),
    }
    made = [f"P.Normalizer {{columns = {{'i', 'f', 'c'}}, norm = '{norm}'}}" for norm in norms]
    powers = [0.3, 0]
    made += [f"P.PowerTransformer {{columns = {{'h'}}, power = {power}, method = 'box-cox'}}" for power in powers]
    out = transformed(rtrain, b, b, made)
    rows = np.stack([numbers(b, name) for name in "ifc"], 1)
    for of, norm in zip(out, norms.values()):
        for k, name in enumerate("ifc"):
            check_numbers(of, name, rows[:, k] / norm(rows))
    h = numbers(b, "h")
    check_numbers(out[3], "h", (h**0.3 - 1) / 0.3, 2e-6)
    check_numbers(out[4], "h", np.log(h), 2e-6)


def test_categories_are_those_of_sorted_values(rtrain):
    a, b = table(4), table(5)
    b = b.set_column(4, "s", pa.array(["unknown", *b["s"].to_pylist()[1:]]))
    a = a.slice(0, 200)
    out = transformed(
        rtrain,
        a,
        b,
        [
            "P.OrdinalEncoder {columns = {'s', 'i', 'l'}}",
            "P.OrdinalEncoder {columns = {'l'}, encode_lists = false}",
            "P.OneHotEncoder {columns = {'s'}, output_columns = {'hot'}}",
            "P.OneHotEncoder {columns = {'s'}, max_categories = {s = 3}}",
            "P.MultiHotEncoder {columns = {'l'}}",
            "P.LabelEncoder('s', {output_column = 'y'})",
        ],
    )

    def codes(values):
        return {value: code for code, value in enumerate(sorted(set(values)))}

    s, i, items = codes(a["s"].to_pylist()), codes(a["i"].to_pylist()), codes(sum(a["l"].to_pylist(), []))
    assert out[0]["s"].to_pylist() == [s.get(value) for value in b["s"].to_pylist()]
    assert out[0]["i"].to_pylist() == [i.get(value) for value in b["i"].to_pylist()]
    assert out[0]["l"].to_pylist() == [[items[item] for item in value] for value in b["l"].to_pylist()]
    whole = codes(map(tuple, a["l"].to_pylist()))
    assert out[1]["l"].to_pylist() == [whole.get(tuple(value)) for value in b["l"].to_pylist()]
    hot = [[int(value == each) for each in s] for value in b["s"].to_pylist()]
    assert out[2]["hot"].to_pylist() == hot and out[2]["s"].to_pylist() == b["s"].to_pylist() and sum(hot[0]) == 0
    common = [value for value, _ in collections.Counter(a["s"].to_pylist()).most_common(3)]
    assert out[3]["s"].to_pylist() == [[int(value == each) for each in common] for value in b["s"].to_pylist()]
    assert out[4]["l"].to_pylist() == [[value.count(each) for each in items] for value in b["l"].to_pylist()]
    assert out[5]["y"].to_pylist() == out[0]["s"].to_pylist()


def test_missing_values_are_imputed(rtrain):
    a, b = table(6, 0.3), table(7, 0.3)
    out = transformed(
        rtrain,
        a,
        b,
        [
            "P.SimpleImputer {columns = {'i', 'f'}}",
            "P.SimpleImputer {columns = {'i', 's'}, strategy = 'most_frequent'}",
            "P.SimpleImputer {columns = {'i', 'new'}, strategy = 'constant', fill_value = -1}",
        ],
    )
    for name in "if":
        check_numbers(out[0], name, np.nan_to_num(numbers(b, name), nan=np.nanmean(numbers(a, name))))
    for name in "is":
        counts = collections.Counter(value for value in a[name].to_pylist() if value is not None)
        most = max(counts.values())
        common = sorted((value for value, count in counts.items() if count == most), key=str)[-1]
        assert out[1][name].to_pylist() == [common if value is None else value for value in b[name].to_pylist()]
    assert out[1].schema.field("i").type == pa.int32()
    assert out[2]["i"].to_pylist() == [-1 if value is None else value for value in b["i"].to_pylist()]
    assert out[2]["new"].to_pylist() == [-1] * ROWS


def cut(values, edges, right=True, lowest=False):
    """pandas.cut with labels=False."""
    places = np.searchsorted(edges, values, "left" if right else "right")
    if lowest:
        places[values == edges[0]] = 1
    inside = ~np.isnan(values) & (places > 0) & (places < len(edges))
    return [int(place) - 1 if there else None for place, there in zip(places, inside)]


def test_bins_are_those_of_pandas_cut(rtrain):
    a, b = table(8, 0.1), table(9, 0.1)
    edges = [-50, -10, -3, 0, 20, 30]
    given = f"bins = {{{', '.join(map(str, edges))}}}"
    out = transformed(
        rtrain,
        a,
        b,
        [
            f"P.CustomKBinsDiscretizer {{columns = {{'i'}}, {given}}}",
            f"P.CustomKBinsDiscretizer {{columns = {{'i'}}, {given}, right = false}}",
            f"P.CustomKBinsDiscretizer {{columns = {{'i'}}, {given}, include_lowest = true, dtypes = {{i = 'int8'}}}}",
            "P.UniformKBinsDiscretizer {columns = {'i', 'f', 'c'}, bins = {i = 4, f = 9, c = 2}}",
            "P.UniformKBinsDiscretizer {columns = {'f'}, bins = 5, right = false}",
            "P.CustomKBinsDiscretizer {columns = {'i'}, bins = {-50, 0, 50}, dtypes = {i = {'low', 'high'}}}",
        ],
    )
    i = numbers(b, "i")
    assert out[0]["i"].to_pylist() == cut(i, edges)
    assert out[1]["i"].to_pylist() == cut(i, edges, right=False)
    assert out[2]["i"].to_pylist() == cut(i, edges, lowest=True) and out[2].schema.field("i").type == pa.int8()
    for name, count in {"i": 4, "f": 9}.items():
        least, most = np.nanmin(numbers(a, name)), np.nanmax(numbers(a, name))
        bounds = np.linspace(least, most, count + 1)
        bounds[0] -= (most - least) * 0.001
        assert out[3][name].to_pylist() == cut(numbers(b, name), bounds)
    assert out[3]["c"].to_pylist() == cut(numbers(b, "c"), [7 - 0.007, 7, 7 + 0.007])
    least, most = np.nanmin(numbers(a, "f")), np.nanmax(numbers(a, "f"))
    bounds = np.linspace(least, most, 6)
    bounds[-1] += (most - least) * 0.001
    assert out[4]["f"].to_pylist() == cut(numbers(b, "f"), bounds, right=False)
    labels = {0: "low", 1: "high", None: None}
    assert out[5]["i"].to_pylist() == [labels[place] for place in cut(i, [-50, 0, 50])]


def test_lists_of_a_file_are_read_as_they_are(rtrain):
    lists = [[1, 2], [3, 4], [1, 2]]
    files = pa.table(
        {
            "x": [0.5, 1.5, 2.5],
            "even": pa.array(lists, pa.list_(pa.int64(), 2)),
            "free": [["a"], [], ["a"]],
            "t": pa.array([1, None, 3], pa.timestamp("us")),
        }
    )
    out = transformed(
        rtrain,
        files,
        files,
        [
            "P.Concatenator {columns = {'even', 'x'}, flatten = true}",
            "P.OrdinalEncoder {columns = {'free', 'even'}, encode_lists = false}",
            "P.Chain(P.MinMaxScaler {'t'}, P.OrdinalEncoder {'even'}, P.MultiHotEncoder {'free'})",
        ],
    )
    assert out[0]["concat_out"].to_pylist() == [[1, 2, 0.5], [3, 4, 1.5], [1, 2, 2.5]]
    assert [out[1][name].to_pylist() for name in ("free", "even")] == [[1, 0, 1], [0, 1, 0]]
    check_numbers(out[2], "t", np.array([0, math.nan, 1]))
    assert out[2]["even"].to_pylist() == [[0, 1], [2, 3], [0, 1]] and out[2]["free"].to_pylist() == [[1], [0], [1]]


def place_of(token, count):
    return int(hashlib.sha256(token.encode()).hexdigest(), 16) % count


def test_texts_are_cut_counted_and_hashed(rtrain):
    a, b = table(10), table(11, 0.1)
    out = transformed(
        rtrain,
        a,
        b,
        [
            "P.Tokenizer {columns = {'s'}}",
            "P.CountVectorizer {columns = {'s'}, max_features = 4}",
            "P.HashingVectorizer {columns = {'s'}, num_features = 997}",
            "P.HashingVectorizer {columns = {'s'}, num_features = 7, output_columns = {'v'}}",
        ],
    )
    texts = b["s"].to_pylist()
    lists = [None if text is None else text.split(" ") for text in texts]
    assert out[0]["s"].to_pylist() == lists
    counts = collections.Counter(token for text in a["s"].to_pylist() for token in text.split(" "))
    common = [token for token, _ in counts.most_common(4)]
    assert out[1]["s"].to_pylist() == [each and [each.count(token) for token in common] for each in lists]
    for found, each in zip(out[2]["s"].to_pylist()[:20], lists):
        assert (found and sorted(k for k, count in enumerate(found) if count)) == (
            each and sorted({place_of(token, 997) for token in each})
        )
    for found, each in zip(out[3]["v"].to_pylist(), lists):
        assert found == (each and [sum(place_of(token, 7) == k for token in each) for k in range(7)])


def test_columns_become_vectors(rtrain):
    b = table(12)
    names = ["c", "f", "i"]
    out = transformed(
        rtrain,
        b,
        b,
        [
            "P.Concatenator {columns = {'f', 'i', 'h'}}",
            "P.Concatenator {columns = {'h', 'c'}, output_column_name = 'x', dtype = 'float32'}",
            "P.Chain(P.OneHotEncoder {'s'}, P.Concatenator {columns = {'s', 'f'}, flatten = true})",
            "P.FeatureHasher {columns = {'c', 'f', 'i'}, num_features = 2, output_column = 'x'}",
        ],
    )
    columns = {name: numbers(b, name) for name in "cfhi"}
    np.testing.assert_array_equal(out[0]["concat_out"].to_pylist(), np.stack([columns[name] for name in "fih"], 1))
    assert out[0].column_names == ["c", "s", "l", "concat_out"]
    assert out[1]["x"].type.value_type == pa.float32() and out[1]["x"].to_pylist()[0][1] == 7
    words = sorted(set(b["s"].to_pylist()))
    expected = [[float(value == word) for word in words] + [f] for value, f in zip(b["s"].to_pylist(), columns["f"])]
    np.testing.assert_array_equal(out[2]["concat_out"].to_pylist(), expected)
    hashed = np.zeros((ROWS, 2))
    for name in names:
        hashed[:, place_of(name, 2)] += columns[name]
    np.testing.assert_allclose(out[3]["x"].to_pylist(), hashed)


TRAINING = """
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'
local nn, P = torch.nn, data.preprocessors
local raw = data.read_json('rows.jsonl')
local preprocessor = P.Chain(P.SimpleImputer {'a'}, P.StandardScaler {'a', 'b'},
  P.Concatenator {columns = {'a', 'b'}, output_column_name = 'x', dtype = 'float32'}, P.LabelEncoder 'kind')
local ready = preprocessor:fit_transform(raw)
local unseen = {a = {0.5, torch.none, 9}, b = {3, -3, 0}, kind = {'süd', 'nord', 'süd'}}

local function train_func(config)
  torch.manual_seed(0)
  local model = nn.Linear(2, 2)
  local prepared = train.torch.prepare_model(model)
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.5})
  local state = train.state {model = model, optimizer = optimizer, preprocessor = preprocessor}
  for _ = 1, 5 do
    for batch in train.get_dataset_shard 'train':iter_torch_batches {batch_size = 8} do
      local loss = nn.functional.cross_entropy(prepared(batch.x), batch.kind)
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end
  end
  train.tempdir(function(dir)
    state:save(dir)
    torch.save({model = model:state_dict(), preprocessor = preprocessor:state_dict()}, dir .. '/model.pt')
    local logits = model(preprocessor:transform_batch(unseen).x)
    train.report({first = logits[0][0]:item(), last = logits[2][1]:item()},
      {checkpoint = train.Checkpoint.from_directory(dir)})
  end)
end

train.TorchTrainer {
  train_loop_per_worker = train_func, datasets = {train = ready}, scaling_config = train.ScalingConfig {num_workers = 2},
  metadata = {preprocessor = preprocessor:serialize()},
}:fit()
"""

INFERENCE = """
local data, json, torch, train = require 'rtrain.data', require 'json', require 'torch', require 'rtrain'
local P = data.preprocessors
local checkpoint = train.Checkpoint(arg[1])
local unseen = {a = {0.5, torch.none, 9}, b = {3, -3, 0}, kind = {'süd', 'nord', 'süd'}}
local saved = torch.load(arg[1] .. '/model.pt')
local model = torch.nn.Linear(2, 2)
model:load_state_dict(saved.model)
local of_metadata = P.Preprocessor.deserialize(checkpoint:get_metadata().preprocessor)
local of_file = P.Chain(P.SimpleImputer {'a'}, P.StandardScaler {'a', 'b'}, P.Concatenator {'a', 'b'}, P.LabelEncoder 'kind')
of_file:load_state_dict(saved.preprocessor)
local of_state = P.Preprocessor.deserialize(of_metadata:serialize())
of_state:fit(data.from_items {{a = 1, b = 1, kind = ''}, {a = 2, b = 7, kind = 'nord'}, {a = 2, b = 7, kind = 'süd'}})
train.state {model = torch.nn.Linear(2, 2), optimizer = torch.optim.SGD(model:parameters(), {lr = 0.5}),
  preprocessor = of_state}:load(checkpoint)
local out = torch.list {}
for i, each in ipairs {of_metadata, of_file, of_state} do
  local batch = each:transform_batch(unseen)
  out[i] = {logits = model(batch.x):tolist(), kind = batch.kind:tolist(), x = batch.x:tolist()}
end
print(json.encode(out))
"""


# behaviour: preprocessors
def test_what_was_fitted_before_training_is_in_the_checkpoint_for_inference(rtrain):
    torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
    rng = np.random.default_rng(0)
    rows = [
        {
            "a": None if k % 7 == 3 else float(rng.normal()),
            "b": int(rng.integers(-9, 9)),
            "kind": ["nord", "süd"][k % 2],
        }
        for k in range(64)
    ]
    (rtrain.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rtrain.run_ok(TRAINING, "--name", "scaled")
    [reported] = [row["metrics"] for row in rtrain.json("metrics", "scaled")]
    [folder] = (rtrain.storage / "scaled" / "checkpoints").iterdir()
    result = rtrain("exec", rtrain.script(INFERENCE, "inference.lua"), folder)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found[0] == found[1] == found[2] and found[0]["kind"] == [1, 0, 1]
    assert [found[0]["logits"][0][0], found[0]["logits"][2][1]] == [reported["first"], reported["last"]]
    a = np.array([math.nan if row["a"] is None else row["a"] for row in rows])
    mean = np.nanmean(a)
    a, b = np.nan_to_num(a, nan=mean), np.array([row["b"] for row in rows])
    expected = np.stack(
        [(np.array([0.5, mean, 9]) - a.mean()) / a.std(), (np.array([3, -3, 0]) - b.mean()) / b.std()], 1
    )
    np.testing.assert_allclose(found[0]["x"], expected, rtol=1e-6, atol=1e-6)
    # Python reads the same statistics from the file.
    saved = torch.load(folder / "model.pt", weights_only=True)
    stats = saved["preprocessor"]["preprocessors"][1]["stats"]
    np.testing.assert_allclose([stats["mean(b)"], stats["std(b)"]], [b.mean(), b.std()])
    logits = torch.tensor(expected, dtype=torch.float32) @ saved["model"]["weight"].T + saved["model"]["bias"]
    np.testing.assert_allclose(found[0]["logits"], logits.numpy(), rtol=1e-5, atol=1e-5)
