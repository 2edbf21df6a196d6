// host/base/codec/report.h: one train.report() of a rank, on its whole way: what the worker sends,
// what waits for the other ranks, and the row of the store.
//
// kFields are what travels from the worker; the controller adds the rest. A Report is encoded as a
// message (host/base/codec/record.h), and its metrics as the column of a row
// (host/store/db/stored_metrics.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/base/codec/staged_rank.h"
#include "host/base/codec/validation_request.h"
#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain {

// How many reports a rank may be ahead: of what the controller has taken, and of the slowest rank.
inline constexpr int64_t kMaxReportsAhead = 1024;

// What a report brings. A worker sends the first three.
enum class Upload {
  kNone,      // no checkpoint
  kRunning,   // its files are not staged yet
  kInFolder,  // they lie in `folder` inside the run's own, where several ranks may have written
  kShared,    // in a folder that a lower rank stages for all who named it
  kStaged,
  kFailed,
};
template <>
inline constexpr std::array<std::string_view, 6> kNamesOf<Upload>{"none",   "files",  "folder",
                                                                  "shared", "staged", "failed"};

struct Report {
  static constexpr std::string_view kType = "report";
  int64_t attempt = 0;
  int64_t index = 0;
  int rank = 0;
  int64_t time_ms = 0;
  Value metrics = {};
  Upload upload = Upload::kNone;
  std::string folder = {};          // of kInFolder
  std::string directory_name = {};  // the name wanted for the checkpoint, or empty
  bool asks_name = false;  // the rank continues when it knows the agreed name: message::Named
  std::optional<ValidationRequest> validation = {};
  std::string call_site = {};  // "train.lua:12"; left out while it is that of the report before
  bool asks_progress = false;  // answered by message::Acknowledged
  bool is_for_all = false;     // every rank has made it with this one; without a checkpoint

  bool has_checkpoint = false;            // when complete: `staged` is part of the checkpoint
  std::optional<StagedRank> staged = {};  // of kStaged
  std::optional<Error> error = {};        // of kFailed
  double deadline_s = 0;                  // of the wait, on the controller's clock

  static constexpr RecordFields kFields{required("index", &Report::index),
                                        required("time", &Report::time_ms),
                                        required("metrics", &Report::metrics),
                                        optional("upload", &Report::upload),
                                        optional("folder", &Report::folder),
                                        optional("directory_name", &Report::directory_name),
                                        optional("asks_name", &Report::asks_name),
                                        optional("validation", &Report::validation),
                                        optional("site", &Report::call_site),
                                        optional("ask", &Report::asks_progress),
                                        optional("for_all", &Report::is_for_all)};
};

}  // namespace rtrain
