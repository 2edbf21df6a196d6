"""train.log_audio: the WAV files that it stores, as Python's wave reads them, and what the command line says of them."""

import contextlib
import math
import sqlite3
import struct
import wave

import pytest

from conftest import Rtrain
from test_series import script

RATE = 8000
LOGGING = script(
    """
    local torch = require 'torch'
    local seconds = torch.arange(800) / 8000
    train.log_audio('tone', (2 * math.pi * 440 * seconds):sin(), {step = 3, sample_rate = 8000})
    train.log_audio('tone', torch.tensor {0, 1, -1, 2, -2, 0 / 0, 0.5})
    train.log_audio('stereo', torch.tensor({{1, 2, 3}, {-1, -2, -32768}}, {dtype = 'int16'}), {sample_rate = 22050})
    train.report {}
""",
    workers=1,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    rtrain.run_ok(LOGGING)
    return rtrain.storage


@pytest.fixture
def store(rtrain, results):
    rtrain.env["RTRAIN_STORAGE"] = str(results)
    rtrain.storage = results
    return rtrain


def samples(path):
    """Returns rate, channels and the samples of all channels, one moment after another."""
    with wave.open(str(path)) as file:
        assert file.getsampwidth() == 2 and file.getcomptype() == "NONE"
        data = file.readframes(file.getnframes())
        return file.getframerate(), file.getnchannels(), struct.unpack(f"<{len(data) // 2}h", data)


def test_python_reads_what_was_logged(store):
    rows = store.json("show", "run", "--media", "-o", "files")
    assert [(row["kind"], row["name"], row["step"]) for row in rows] == [
        ("audio", "stereo", 0),
        ("audio", "tone", 3),
        ("audio", "tone", 4),
    ]
    rate, channels, tone = samples(store.folder / "files/tone-3-rank0.wav")
    assert (rate, channels, len(tone)) == (RATE, 1, 800)
    for at, sample in enumerate(tone):
        assert sample == pytest.approx(32767 * math.sin(2 * math.pi * 440 * at / RATE), abs=2)
    assert samples(store.folder / "files/tone-4-rank0.wav") == (44100, 1, (0, 32767, -32767, 32767, -32767, 0, 16384))
    assert samples(store.folder / "files/stereo-0-rank0.wav") == (22050, 2, (1, -1, 2, -2, 3, -32768))


def test_the_command_line_says_how_long_it_is(store):
    shown = store("show", "run", "--media").stdout
    assert "audio tone, step 4, rank 0\n" in shown and "s, 44100 Hz, 1 channel\n" in shown
    assert "s, 22050 Hz, 2 channels\n" in shown


def test_tensorboards_own_reader_plays_what_was_exported(store):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert store("export", "run", "--format", "tensorboard", "-o", "tb").returncode == 0
    events = accumulator.EventAccumulator(str(store.folder / "tb/run"), size_guidance={"audio": 0})
    events.Reload()
    assert set(events.Tags()["audio"]) == {"tone", "stereo"}
    [stereo] = events.Audio("stereo")
    assert (stereo.sample_rate, stereo.length_frames, stereo.content_type) == (22050, 3, "audio/wav")
    file = store.folder / "stereo.wav"
    file.write_bytes(stereo.encoded_audio_string)
    assert samples(file)[2] == (1, -1, 2, -2, 3, -32768)


def test_what_is_wrong_is_said(rtrain):
    rtrain.run_ok(
        script(
            """
      local torch = require 'torch'
      local errors = {}
      for _, call in ipairs {
        {'a', {1}}, {'a', torch.zeros(2, 2, 2)}, {'a', torch.zeros(100, 2)}, {'a', torch.zeros(0)},
        {'a', torch.zeros({4}, {dtype = 'int64'})}, {'a', torch.zeros(4), {sample_rate = 0.5}},
        {'a', torch.zeros(4), {rate = 8000}}, {'long', torch.zeros(500000)}, {'', torch.zeros(4)},
      } do
        local ok, err = pcall(function() train.log_audio(unpack(call)) end)
        errors[#errors + 1] = ok and 'no error' or tostring(err)
      end
      train.report {errors = errors}
    """,
            workers=1,
        )
    )
    errors = rtrain.json("metrics", "run")[0]["metrics"]["errors"]
    for error, words in zip(
        errors,
        [
            "expected a tensor, got table",
            "the tensor has the shape {2, 2, 2}: expected {samples} or {channels, samples}",
            "would have 100 channels, expected 1 to 8: is it {samples, channels}?",
            "has no samples",
            "the dtype is int64: expected int16, or floating point from -1 to 1",
            "sample_rate = 0.5: expected an integer from 1 to 768000",
            "unknown option 'rate': valid names: step, sample_rate",
            "'long' has 1000044 bytes as a WAV file, at most 1000000 are allowed: log less of it",
            "expected a string, got an empty one",
        ],
        strict=True,
    ):
        assert words in error, error
    assert rtrain.query("SELECT count(*) FROM media") == [(0,)]


# The table media as schema version 7 had it.
OLDER_TABLE = """
CREATE TABLE older(
  media_id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL, kind TEXT NOT NULL CHECK(kind IN ('image', 'histogram', 'table', 'text')), name TEXT NOT NULL,
  step INTEGER NOT NULL, time INTEGER NOT NULL, hash TEXT NOT NULL);
INSERT INTO older SELECT * FROM media;
DROP TABLE media;
ALTER TABLE older RENAME TO media;
CREATE INDEX media_of_run ON media(run_id, kind, name, rank);
PRAGMA user_version = 7;
"""


def test_a_store_of_an_older_rtrain_keeps_its_media_and_takes_audio(rtrain):
    rtrain.run_ok(script("for step = 0, 4 do train.log_text('a', 'text ' .. step) end train.report {}", workers=1))
    before = rtrain.json("show", "run", "--media")
    rows = rtrain.query("SELECT * FROM media ORDER BY media_id")
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
        db.executescript(OLDER_TABLE)
    assert rtrain.json("show", "run", "--media") == before, "a reader changes nothing"
    assert rtrain.query("PRAGMA user_version") == [(7,)]
    rtrain.run_ok(LOGGING, "--name", "later")
    assert rtrain.json("show", "run", "--media") == before and len(before) == 5
    kept = "SELECT media.* FROM media JOIN runs USING(run_id) WHERE runs.name = 'run' ORDER BY media_id"
    assert rtrain.query(kept) == rows
    assert [row["kind"] for row in rtrain.json("show", "later", "--media")] == ["audio"] * 3
    assert rtrain.query("SELECT tbl_name FROM sqlite_master WHERE name = 'media_of_run'") == [("media",)]
