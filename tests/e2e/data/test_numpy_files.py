"""torch.load_numpy against NumPy: every dtype, order and version, .npz packed and not, and damaged archives."""

import io

import pytest

from conftest import nightly

pytestmark = nightly

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy", reason="Python's NumPy is not here: scripts/test --oracle installs it")

DTYPES = [
    "bool",
    "u1",
    "i1",
    "<i2",
    "<i4",
    "<i8",
    "<u2",
    "<u4",
    "<u8",
    "<f2",
    "<f4",
    "<f8",
    "<c8",
    "<c16",
    ">i2",
    ">i4",
    ">i8",
    ">u2",
    ">u4",
    ">u8",
    ">f2",
    ">f4",
    ">f8",
    ">c8",
    ">c16",
]


def arrays():
    rng = np.random.default_rng(1)
    out = {}
    for dtype in DTYPES:
        for order in "CF":
            values = rng.integers(0, 100, (3, 4, 2)).astype(np.dtype(dtype))
            out[f"{dtype}{order}"] = np.asarray(values, order=order)
    out["scalar"] = np.array(2.5)
    out["empty"] = np.zeros((0, 3), "f4")
    return out


def as_tensor(array):
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("=")))


def loaded(rtrain, text):
    result = rtrain("exec", rtrain.script("local torch = require 'torch'\n" + text, "load.lua"))
    assert result.returncode == 0, result.stdout + result.stderr
    return torch.load(rtrain.folder / "ours.pt", weights_only=True)


def assert_same(ours, array):
    expected = as_tensor(array)
    assert ours.dtype == expected.dtype and ours.shape == expected.shape
    assert torch.equal(ours, expected)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("mmap", ["true", "false"])
def test_npy_files(rtrain, version, mmap):
    given = arrays()
    for i, array in enumerate(given.values()):
        with open(rtrain.folder / f"{i}.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=version)
    ours = loaded(
        rtrain,
        f"""
local out = {{}}
for i = 0, {len(given) - 1} do out[i + 1] = torch.load_numpy(i .. '.npy', {{mmap = {mmap}}}) end
torch.save(out, 'ours.pt')""",
    )
    for tensor, array in zip(ours, given.values()):
        assert_same(tensor, array)
        if array.flags.f_contiguous and array.ndim > 1 and array.size:
            assert tensor.stride() == as_tensor(array).stride()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_archives_keep_their_order(rtrain, save):
    given = {f"layer/{name}": array for name, array in arrays().items()}
    save(rtrain.folder / "all.npz", **given)
    ours = loaded(rtrain, "torch.save(torch.load_numpy('all.npz'), 'ours.pt')")
    assert list(ours) == list(given)
    for name, array in given.items():
        assert_same(ours[name], array)


def test_what_numpy_refuses_without_pickle_is_refused(rtrain):
    np.save(rtrain.folder / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    result = rtrain("exec", rtrain.script("require('torch').load_numpy('objects.npy')"))
    assert result.returncode == 1
    assert "objects.npy" in result.stderr and "pickles" in result.stderr


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_archives_are_errors(rtrain, save):
    """Changes each byte of the archive: gives an error that names the file, or equal values if the byte has no
    meaning."""
    packed = io.BytesIO()
    save(packed, x=np.arange(40, dtype="<f4"))
    whole = packed.getvalue()
    (rtrain.folder / "whole.npz").write_bytes(whole)
    result = rtrain(
        "exec",
        rtrain.script("""
local torch = require 'torch'
local file = io.open('whole.npz', 'rb')
local whole = file:read '*a'
file:close()
local expected = torch.arange(40, {dtype = 'float32'})
local refused = 0
for i = 1, #whole do
  local other = string.char((whole:byte(i) + 129) % 256)
  for _, bytes in ipairs{whole:sub(1, i - 1), whole:sub(1, i - 1) .. other .. whole:sub(i + 1)} do
    file = io.open('damaged.npz', 'wb')
    file:write(bytes)
    file:close()
    local ok, out = pcall(torch.load_numpy, 'damaged.npz')
    if ok then
      local names = require('base.ordered').is(out) and require('base.ordered').keys(out)
      if names and names[1] then assert(torch.equal(out[names[1]], expected), i) end
    else
      assert(tostring(out):find('damaged.npz', 1, true), tostring(out))
      assert(out.code == 'argument', out.code)
      refused = refused + 1
    end
  end
end
print(refused > #whole * 1.5)
"""),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "true\n"
