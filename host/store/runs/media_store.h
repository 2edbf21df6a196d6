// host/store/runs/media_store.h: media that train.log_image and similar functions recorded: rows
// and their contents.
//
// A content is stored once per run, by its hash, in the same transaction as the first row that
// refers to it. Both are removed with their run. Image: a PNG. Audio: a WAV file. Histogram: JSON
// {edges, counts, num, min, max, sum, sum_squares, nonfinite}. Table: JSON {columns, rows}. Text:
// UTF-8.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/claim/run_claim.h"
#include "host/store/db/database.h"

namespace rtrain::store {

struct MediaRow {
  int64_t attempt = 0;
  int64_t rank = 0;
  int64_t time_ms = 0;
  std::string kind;  // image, video, audio, histogram, table, text
  std::string name;
  int64_t step = 0;
  std::string data;  // empty if it was not read
  std::string hash = {};
  int64_t size_bytes = 0;
};

// One fenced transaction. Ignores `hash` and `size_bytes` of the rows.
void add_media(RunClaim& claim, std::span<const MediaRow> rows);

// {kind, name, step, rank, attempt, time, bytes, hash}.
Map describe_media(const MediaRow& row);

// All rows without data, by kind, name, step and rank. Leaves out rows that a later attempt has
// logged again. Empty for a store of an older rtrain.
std::vector<MediaRow> read_media(Database& database, const std::string& run_id);

// The content with that hash. Error(kEnvironment) if the store does not have it.
std::string read_media_content(Database& database, const std::string& run_id,
                               const std::string& hash);

}  // namespace rtrain::store
