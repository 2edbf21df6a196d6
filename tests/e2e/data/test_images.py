"""vision.io and the batch decoder compared with torchvision.io and Pillow: the same files give the same pixels.

JPEG may differ by a level or two where two versions of libjpeg-turbo round differently; PNG is exact.
"""

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not here: scripts/test --oracle installs it")
tv = pytest.importorskip("torchvision.io", reason="torchvision is not here: scripts/test --oracle installs it")

LEVELS = 2  # the most by which two versions of libjpeg-turbo differ


def photograph(width, height, channels=3, seed=0):
    """Returns smooth shapes, edges and noise, as a photograph has them."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    out = np.zeros((height, width, channels))
    for channel in range(channels):
        for _ in range(6):
            fy, fx, phase = rng.uniform(0.005, 0.12, 2).tolist() + [rng.uniform(0, 6)]
            out[..., channel] += 30 * np.sin(fx * x + fy * y + phase)
        cx, cy, r = rng.uniform(0.2, 0.8) * width, rng.uniform(0.2, 0.8) * height, 0.2 * min(width, height)
        out[..., channel] += 70 * ((x - cx) ** 2 + (y - cy) ** 2 < r * r)
    out += rng.normal(scale=4, size=out.shape)
    out = np.clip(out + 120, 0, 255).astype(np.uint8)
    return out[..., 0] if channels == 1 else out


def exec_lua(rtrain, text):
    prelude = "local torch = require 'torch'\nlocal io = require 'vision.io'\nlocal D = require('torch._C').data\n"
    result = rtrain("exec", rtrain.script(prelude + text, "images.lua"))
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def ours(rtrain, name, *options):
    """Returns the image as rtrain reads it, once with each of these options."""
    reads = ", ".join(f"io.read_image('{name}', {given})" for given in options)
    exec_lua(rtrain, f"torch.save({{{reads}}}, 'ours.pt')")
    return torch.load(rtrain.folder / "ours.pt", weights_only=True)


def in_modes(rtrain, name, modes):
    return zip(modes, ours(rtrain, name, *(f"{{mode = '{mode}'}}" for mode in modes)))


def difference(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    return (a.int() - b.int()).abs()


JPEGS = {
    "420": (photograph(101, 67), {"quality": 90, "subsampling": "4:2:0"}),
    "422": (photograph(64, 48), {"quality": 75, "subsampling": "4:2:2"}),
    "444": (photograph(33, 65), {"quality": 95, "subsampling": "4:4:4"}),
    "411": (photograph(70, 31), {"quality": 85, "subsampling": "4:1:1"}),
    "progressive": (photograph(90, 77), {"quality": 80, "progressive": True}),
    "optimized": (photograph(50, 50), {"quality": 60, "optimize": True}),
    "restarts": (photograph(96, 64), {"quality": 80, "restart_marker_blocks": 3}),
    "gray": (photograph(45, 77, 1), {"quality": 85}),
    "cmyk": (photograph(40, 24, 4), {"quality": 90}),
    "tiny": (photograph(1, 1), {}),
}


@pytest.mark.parametrize("name", JPEGS)
def test_jpeg_in_every_mode(rtrain, name):
    pixels, options = JPEGS[name]
    Image.fromarray(pixels, "CMYK" if name == "cmyk" else None).save(rtrain.folder / "x.jpg", **options)
    for mode, image in in_modes(rtrain, "x.jpg", ["UNCHANGED", "GRAY", "RGB"]):
        apart = difference(image, tv.decode_image(str(rtrain.folder / "x.jpg"), mode))
        assert apart.max() <= LEVELS, mode
        assert apart.float().mean() < 0.02, mode


def pngs():
    rng = np.random.default_rng(1)
    palette = Image.fromarray(rng.integers(0, 200, (37, 21), dtype=np.uint8), "P")
    palette.putpalette(rng.integers(0, 256, 600, dtype=np.uint8).tobytes())
    return {
        "rgb": Image.fromarray(photograph(33, 20)),
        "rgba": Image.fromarray(photograph(33, 20, 4), "RGBA"),
        "gray": Image.fromarray(photograph(19, 33, 1)),
        "gray_alpha": Image.fromarray(photograph(19, 33, 2), "LA"),
        "gray_16": Image.fromarray(rng.integers(0, 65536, (9, 14)).astype(np.uint16)),
        "bits_1": Image.fromarray(rng.integers(0, 2, (13, 19)).astype(bool)),
        "palette": palette,
    }


# torchvision reads palettes and less than 8 bits correctly only in these modes.
SANE = {"palette": ["RGB"], "bits_1": ["UNCHANGED", "GRAY", "RGB"]}


@pytest.mark.parametrize("name", pngs())
def test_png_in_every_mode(rtrain, name):
    pngs()[name].save(rtrain.folder / "x.png")
    modes = SANE.get(name, ["UNCHANGED", "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA"])
    for mode, image in in_modes(rtrain, "x.png", modes):
        assert difference(image, tv.decode_image(str(rtrain.folder / "x.png"), mode)).max() == 0, mode


def test_palettes_with_and_without_transparency_are_those_of_pillow(rtrain):
    palette = pngs()["palette"]
    for options in {}, {"transparency": bytes(range(200))}:
        palette.save(rtrain.folder / "x.png", **options)
        theirs = {"RGB": "RGB", "RGB_ALPHA": "RGBA", "UNCHANGED": "RGBA" if options else "RGB"}
        for mode, image in in_modes(rtrain, "x.png", theirs):
            converted = Image.open(rtrain.folder / "x.png").convert(theirs[mode])
            expected = torch.from_numpy(np.asarray(converted).copy()).permute(2, 0, 1)
            assert torch.equal(image, expected), (mode, options)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_few_bits_and_interlacing(rtrain, bits):
    """Pillow cannot write such files, so the file is built here, row by row and unfiltered."""
    import struct
    import zlib

    values = np.random.default_rng(bits).integers(0, 1 << bits, (11, 13), dtype=np.uint8)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    def rows(part):
        packed = b""
        for row in part:
            text = "".join(f"{v:0{bits}b}" for v in row)
            text += "0" * (-len(text) % 8)
            packed += b"\0" + bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8))
        return packed

    adam7 = [(0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1)]
    passes = [values[y::dy, x::dx] for y, dy, x, dx in adam7]
    for interlaced, data in (0, rows(values)), (1, b"".join(rows(p) for p in passes if p.size)):
        header = struct.pack(">IIBBBBB", 13, 11, bits, 0, 0, 0, interlaced)
        (rtrain.folder / "x.png").write_bytes(
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
        )
        expected = torch.from_numpy(values * (255 // ((1 << bits) - 1)))[None]
        gray, both = ours(rtrain, "x.png", "{}", "{mode = 'GRAY_ALPHA'}")
        assert torch.equal(gray, expected)
        assert torch.equal(both[:1], expected) and (both[1] == 255).all()


@pytest.mark.parametrize(
    "chunk", [(b"gAMA", (45455).to_bytes(4, "big")), (b"gAMA", (100000).to_bytes(4, "big")), (b"sRGB", b"\0")]
)
def test_gray_of_a_png_that_states_its_gamma(rtrain, chunk):
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add(*chunk)
    Image.fromarray(photograph(31, 17)).save(rtrain.folder / "x.png", pnginfo=info)
    for mode, image in in_modes(rtrain, "x.png", ["RGB", "GRAY"]):
        assert difference(image, tv.decode_image(str(rtrain.folder / "x.png"), mode)).max() == 0, mode


def test_batches_take_the_high_bytes_of_16_bits(rtrain):
    values = np.random.default_rng(4).integers(0, 65536, (9, 14)).astype(np.uint16)
    Image.fromarray(values).save(rtrain.folder / "x.png")
    exec_lua(rtrain, "torch.save(D.decode_files({'x.png', 'x.png'}, {mode = 'GRAY'}), 'ours.pt')")
    out = torch.load(rtrain.folder / "ours.pt", weights_only=True)
    assert torch.equal(out[1, :, :, 0], torch.from_numpy((values >> 8).astype(np.uint8)))


@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_exif_orientation(rtrain, suffix):
    image = Image.fromarray(photograph(40, 24))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        image.save(rtrain.folder / f"{orientation}.{suffix}", exif=exif)
    exec_lua(
        rtrain,
        f"""
local out = {{}}
for i = 1, 8 do out[i] = io.read_image(i .. '.{suffix}', {{mode = 'RGB', apply_exif_orientation = true}}) end
torch.save(out, 'ours.pt')""",
    )
    for i, tensor in enumerate(torch.load(rtrain.folder / "ours.pt", weights_only=True)):
        expected = tv.decode_image(str(rtrain.folder / f"{i + 1}.{suffix}"), "RGB", apply_exif_orientation=True)
        assert difference(tensor, expected).max() <= LEVELS, i + 1


@pytest.mark.parametrize("channels", [1, 3])
def test_what_we_encode_they_decode(rtrain, channels):
    image = torch.from_numpy(np.atleast_3d(photograph(61, 43, channels))).permute(2, 0, 1).contiguous()
    torch.save(image, rtrain.folder / "image.pt")
    exec_lua(
        rtrain,
        """
local image = torch.load('image.pt')
io.write_png(image, 'x.png', {compression_level = 9})
io.write_jpeg(image, 'x.jpg', {quality = 90})
io.write_file('y.jpg', io.encode_jpeg(image))""",
    )
    assert torch.equal(tv.decode_image(str(rtrain.folder / "x.png")), image)
    for name, quality in ("x.jpg", 90), ("y.jpg", 75):
        theirs = tv.decode_jpeg(tv.encode_jpeg(image, quality))
        assert difference(tv.decode_image(str(rtrain.folder / name)), theirs).max() <= LEVELS


SIZES = [(224, 224), (100, 160), (90, 60), (40, 40), (47, 63), (375, 500), (500, 600)]


def test_scaled_decoding_is_close_to_pillow_on_all_pixels(rtrain):
    """Decoding at 1/2, 1/4 or 1/8 before filtering differs from filtering all pixels by less than the loss of JPEG
    itself."""
    Image.fromarray(photograph(500, 375)).save(rtrain.folder / "x.jpg", quality=90)
    whole = Image.open(rtrain.folder / "x.jpg").convert("RGB")
    images = ours(rtrain, "x.jpg", *(f"{{mode = 'RGB', size = {{{size[0]}, {size[1]}}}}}" for size in SIZES))
    for size, image in zip(SIZES, images):
        expected = torch.from_numpy(np.asarray(whole.resize(size[::-1], Image.BILINEAR)).copy()).permute(2, 0, 1)
        apart = difference(image, expected).double()
        if size[0] * 2 <= 375 and size[1] * 2 <= 500:
            decibels = 10 * torch.log10(255**2 / (apart**2).mean())
            assert decibels > 40 and apart.mean() < 2, size
        else:
            assert apart.max() <= LEVELS, size


def test_batches_of_files(rtrain):
    names = []
    for i in range(6):
        names.append(f"{i}.{'png' if i % 2 else 'jpg'}")
        Image.fromarray(photograph(32, 32, seed=i)).save(rtrain.folder / names[-1])
    exec_lua(
        rtrain,
        f"""
local parts, offsets = {{}}, {{0}}
for _, name in ipairs{{{", ".join(f"'{name}'" for name in names)}}} do
  parts[#parts + 1] = io.read_file(name)
  offsets[#offsets + 1] = offsets[#offsets] + #parts[#parts]
end
offsets = torch.tensor(offsets, {{dtype = 'int64'}})
local all = D.decode_images(offsets, torch.cat(parts), {{}})
local o, b = D.gather_strings(offsets, torch.cat(parts), torch.tensor({{5, 0, 5}}, {{dtype = 'int64'}}))
torch.save({{all = all, some = D.decode_images(o, b, {{}}),
  small = D.decode_images(o, b, {{size = {{16, 8}}}})}}, 'ours.pt')""",
    )
    out = torch.load(rtrain.folder / "ours.pt", weights_only=True)
    expected = torch.stack([tv.decode_image(str(rtrain.folder / name), "RGB").permute(1, 2, 0) for name in names])
    assert difference(out["all"], expected).max() <= LEVELS
    assert torch.equal(out["some"], out["all"][[5, 0, 5]])
    assert out["small"].shape == (3, 16, 8, 3)
