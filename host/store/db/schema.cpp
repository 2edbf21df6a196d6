#include "host/store/db/schema.h"

#include <array>

#include "host/base/text/text.h"
#include "host/store/db/database.h"

namespace rtrain::store {
namespace {

// kMigrations[n] migrates version n to n + 1. A released migration never changes, not even its
// comments, which SQLite stores.
constexpr std::array<const char*, kSchemaVersion> kMigrations = {R"sql(
CREATE TABLE runs(              -- one row for each run; its files lie in the folder <name> beside this file
  run_id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL,         -- INITIALIZING, SCHEDULING, RUNNING, RESTARTING, ..., FINISHED, ERRORED, ABORTED
  num_workers INTEGER NOT NULL,
  script TEXT NOT NULL,
  note TEXT NOT NULL,
  command TEXT NOT NULL CHECK(json_valid(command)),          -- list of arguments
  tags TEXT NOT NULL CHECK(json_valid(tags)),                -- list of names
  config TEXT NOT NULL CHECK(json_valid(config)),            -- train_loop_config
  scaling TEXT NOT NULL CHECK(json_valid(scaling)),          -- ScalingConfig
  checkpoint_config TEXT NOT NULL CHECK(json_valid(checkpoint_config)),
  environment TEXT NOT NULL CHECK(json_valid(environment)),  -- git_commit, git_dirty, hostname, pid, version
  started_at INTEGER NOT NULL,  -- all times: milliseconds since 1970 UTC
  ended_at INTEGER,
  updated_at INTEGER NOT NULL,
  error TEXT CHECK(error IS NULL OR json_valid(error)),      -- code, message, traceback, ranks
  return_value TEXT CHECK(return_value IS NULL OR json_valid(return_value)),  -- rank 0's
  owner_epoch INTEGER NOT NULL  -- raised when another controller takes the run over
) WITHOUT ROWID;

CREATE TABLE attempts(          -- each start of the worker group
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  attempt INTEGER NOT NULL,     -- from 1
  nonce TEXT NOT NULL,
  status TEXT NOT NULL,         -- RUNNING, FINISHED, ERRORED, ABORTED
  resumed_index INTEGER,        -- the report whose checkpoint it started from
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  error TEXT CHECK(error IS NULL OR json_valid(error)),
  PRIMARY KEY(run_id, attempt)
) WITHOUT ROWID;

CREATE TABLE workers(
  run_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  device TEXT NOT NULL,
  exit_code INTEGER,
  signal INTEGER,
  PRIMARY KEY(run_id, attempt, rank),
  FOREIGN KEY(run_id, attempt) REFERENCES attempts ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE reports(           -- what each rank reported
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  idx INTEGER NOT NULL,         -- from 0 over the whole run
  rank INTEGER NOT NULL,
  time INTEGER NOT NULL,
  metrics TEXT NOT NULL CHECK(json_valid(metrics)),  -- NaN is null, infinities are 1e999 and -1e999
  nonfinite TEXT CHECK(nonfinite IS NULL OR json_valid(nonfinite)),  -- the same shape: {"loss": "NaN"}
  superseded INTEGER NOT NULL DEFAULT 0,  -- 1: a later attempt resumed before this report
  PRIMARY KEY(run_id, idx, rank, attempt)
) WITHOUT ROWID;

CREATE TABLE checkpoints(       -- the directory is <run name>/checkpoints/<name>
  checkpoint_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  name TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  metrics TEXT NOT NULL CHECK(json_valid(metrics)),
  nonfinite TEXT CHECK(nonfinite IS NULL OR json_valid(nonfinite)),
  size_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN ('kept', 'dropped', 'superseded', 'missing'))
);
CREATE UNIQUE INDEX kept_checkpoint ON checkpoints(run_id, name) WHERE state = 'kept';
CREATE INDEX checkpoints_of_run ON checkpoints(run_id);

CREATE TABLE annotations(       -- notes that a train function wrote into its run
  annotation_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  time INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  severity TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX annotations_of_run ON annotations(run_id);

CREATE TABLE events(            -- what the controller saw
  event_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  time INTEGER NOT NULL,
  level TEXT NOT NULL,          -- info, warning, error; data: what the first loop takes
  text TEXT NOT NULL
);
CREATE INDEX events_of_run ON events(run_id);

CREATE VIEW run_list AS         -- runs with readable times and their last metrics of rank 0
SELECT name, run_id, status, num_workers,
       strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended_at,
       (coalesce(ended_at, updated_at) - started_at) / 1000.0 AS duration_s,
       script, tags, note,
       (SELECT metrics FROM reports AS r WHERE r.run_id = runs.run_id AND rank = 0 AND superseded = 0
        ORDER BY idx DESC LIMIT 1) AS metrics
FROM runs;

CREATE VIEW metric_list AS      -- rank 0's reports that count, in order
SELECT runs.name, idx, attempt, strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch') AS time,
       metrics, nonfinite
FROM reports JOIN runs USING(run_id) WHERE rank = 0 AND superseded = 0;

CREATE VIEW checkpoint_list AS  -- checkpoints that exist
SELECT runs.name AS run, checkpoints.name, runs.name || '/checkpoints/' || checkpoints.name AS path, idx, attempt,
       metrics, size_bytes, strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at
FROM checkpoints JOIN runs USING(run_id) WHERE state = 'kept';
)sql",
                                                                 R"sql(
ALTER TABLE runs ADD COLUMN failures TEXT NOT NULL DEFAULT '{}' CHECK(json_valid(failures));
  -- spent of each budget: worker, controller, preemption
ALTER TABLE runs ADD COLUMN owner TEXT CHECK(owner IS NULL OR json_valid(owner));
  -- the controller that wrote last: pid, host, boot_id, since
ALTER TABLE attempts ADD COLUMN num_workers INTEGER;
ALTER TABLE annotations ADD COLUMN attempt INTEGER;

CREATE TABLE series(            -- what train.log wrote: one row for each key, rank and attempt
  series_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  key TEXT NOT NULL,
  rank INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  UNIQUE(run_id, key, rank, attempt)
);

CREATE TABLE series_chunks(     -- up to 4096 points each; `rtrain metrics RUN --series KEY` reads them
  series_id INTEGER NOT NULL REFERENCES series ON DELETE CASCADE,
  number INTEGER NOT NULL,      -- from 0
  count INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  first_time INTEGER NOT NULL,
  last_time INTEGER NOT NULL,
  data BLOB NOT NULL,           -- host/store/series/series_chunk.h
  PRIMARY KEY(series_id, number)
);

CREATE VIEW series_list AS      -- the series of each run
SELECT runs.name AS run, key, rank, attempt, sum(count) AS points, min(first_step) AS first_step,
       max(last_step) AS last_step, sum(length(data)) AS bytes
FROM series JOIN series_chunks USING(series_id) JOIN runs USING(run_id) GROUP BY series_id;
ALTER TABLE checkpoints ADD COLUMN status TEXT NOT NULL DEFAULT 'COMMITTED' CHECK(status IN (
  'COMMITTED', 'PENDING_VALIDATION', 'VALIDATED', 'VALIDATION_FAILED', 'VALIDATION_TIMEOUT'));
ALTER TABLE checkpoints ADD COLUMN validation TEXT CHECK(validation IS NULL OR json_valid(validation));
  -- what its validation is called with: fn_kwargs, timeout_s
ALTER TABLE checkpoints ADD COLUMN problem TEXT;
  -- why it is missing, or why its validation failed
ALTER TABLE checkpoints ADD COLUMN mirrored INTEGER NOT NULL DEFAULT 0;
  -- 1: storage_filesystem holds a copy, which goes when the checkpoint is dropped
)sql",
                                                                 R"sql(
CREATE TABLE nodes(             -- the hosts of a run
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  node INTEGER NOT NULL,        -- 0: the controller's
  host TEXT NOT NULL,
  address TEXT NOT NULL,        -- at which the others reach it; empty: there are none
  checks TEXT NOT NULL CHECK(json_valid(checks)),  -- check, peer, seconds, problem
  evicted_at INTEGER,           -- from then on the run does without it
  reason TEXT,
  PRIMARY KEY(run_id, node)
) WITHOUT ROWID;
)sql",
                                                                 R"sql(
ALTER TABLE attempts ADD COLUMN heal_s REAL;
  -- of an attempt that replaced lost workers while the others lived (the one before it is HEALED): seconds from the loss
  -- until all had the state again
)sql",
                                                                 R"sql(
ALTER TABLE runs ADD COLUMN archived_at INTEGER;
  -- from then on `rtrain ls` shows the run with --all only
CREATE INDEX runs_by_start ON runs(started_at);

CREATE TABLE sources(           -- the code of a run as its last controller found it
  source_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK(kind IN ('script', 'module', 'diff')),  -- diff: git diff HEAD
  path TEXT NOT NULL,           -- from the script's folder; of the diff: empty
  text TEXT NOT NULL
);
CREATE INDEX sources_of_run ON sources(run_id);
)sql",
                                                                 R"sql(
CREATE TABLE media(             -- images, histograms, tables and texts that a train function logged
  media_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN ('image', 'histogram', 'table', 'text')),
  name TEXT NOT NULL,
  step INTEGER NOT NULL,
  time INTEGER NOT NULL,
  hash TEXT NOT NULL            -- of its row in media_contents
);
CREATE INDEX media_of_run ON media(run_id, kind, name, rank);

CREATE TABLE media_contents(    -- the same content is there once for each run
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  hash TEXT NOT NULL,           -- XXH3-64 of data
  data BLOB NOT NULL,           -- image: PNG; histogram and table: JSON; text: as it is
  PRIMARY KEY(run_id, hash)
);
)sql",
                                                                 R"sql(
CREATE TABLE series_summaries(  -- of the points of chunks, so that a chart need not read them
  series_id INTEGER NOT NULL REFERENCES series ON DELETE CASCADE,
  level INTEGER NOT NULL,       -- 0: of one chunk; above: of eight of the level below; the last one is of all
  number INTEGER NOT NULL,      -- the chunk's; above: that of the first one below, divided by eight
  chunks INTEGER NOT NULL,
  points INTEGER NOT NULL,
  min REAL,                     -- of finite values, as max and sum; NULL: there are none
  max REAL,
  sum REAL,
  data BLOB NOT NULL,           -- host/store/series/series_summary.h
  parts BLOB,                   -- of a chunk: the same of each 256 points
  PRIMARY KEY(series_id, level, number)
) WITHOUT ROWID;
)sql",
                                                                 R"sql(
CREATE TABLE media_with_audio(  -- what a train function logged apart from numbers; becomes the table media
  media_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN ('image', 'audio', 'histogram', 'table', 'text')),
  name TEXT NOT NULL,
  step INTEGER NOT NULL,
  time INTEGER NOT NULL,
  hash TEXT NOT NULL            -- of its row in media_contents; of audio that is a WAV file
);
INSERT INTO media_with_audio(media_id, run_id, attempt, rank, kind, name, step, time, hash)
SELECT media_id, run_id, attempt, rank, kind, name, step, time, hash FROM media;
DROP TABLE media;               -- SQLite changes no CHECK of a table
ALTER TABLE media_with_audio RENAME TO media;
CREATE INDEX media_of_run ON media(run_id, kind, name, rank);
)sql",
                                                                 R"sql(
CREATE TABLE media_with_video(  -- what a train function logged apart from numbers; becomes the table media
  media_id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN ('image', 'video', 'audio', 'histogram', 'table', 'text')),
  name TEXT NOT NULL,
  step INTEGER NOT NULL,
  time INTEGER NOT NULL,
  hash TEXT NOT NULL            -- of its row in media_contents: PNG of an image or video, WAV of audio
);
INSERT INTO media_with_video(media_id, run_id, attempt, rank, kind, name, step, time, hash)
SELECT media_id, run_id, attempt, rank, kind, name, step, time, hash FROM media;
DROP TABLE media;
ALTER TABLE media_with_video RENAME TO media;
CREATE INDEX media_of_run ON media(run_id, kind, name, rank);
)sql"};

int64_t user_version(Database& database) {
  Statement statement = database.prepare("PRAGMA user_version");
  statement.next();
  return statement.integer(0);
}

std::vector<std::string> table_names(Database& database) {
  Statement query = database.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY "
      "name LIMIT 5");
  std::vector<std::string> names;
  while (query.next()) names.push_back(query.text(0));
  return names;
}

}  // namespace

void check_is_store(Database& database) {
  // Checked before the version: another controller may be creating the store, and creates both in
  // one transaction.
  const std::vector<std::string> tables = table_names(database);
  if (tables.empty()) return;
  Statement own = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'runs'");
  if (own.next() && user_version(database) > 0) return;
  throw Error(Code::kEnvironment,
              cat(database.path(), " is a database of another program (its tables: ",
                  join(tables, ", "), "): move it away, or keep the runs in another folder"));
}

void migrate(Database& database) {
  check_is_store(database);
  if (const int64_t version = user_version(database); version > kSchemaVersion) {
    throw Error(Code::kEnvironment,
                cat("the store ", database.path(), " has schema version ", version,
                    ", this rtrain knows up to ", kSchemaVersion, ": use a newer rtrain"));
  }
  if (user_version(database) == kSchemaVersion) return;
  Transaction transaction(database, Durability::kFull);
  const int64_t version = user_version(database);
  for (auto n = static_cast<size_t>(version); n < kMigrations.size(); ++n) {
    database.execute(kMigrations[n]);
  }
  database.execute(cat("PRAGMA user_version=", kSchemaVersion));
  transaction.commit();
}

std::string schema_text() {
  std::string text;
  for (const char* migration : kMigrations) {
    text += cat(text.empty() ? "" : "\n", trim(migration), "\n");
  }
  return text;
}

}  // namespace rtrain::store
