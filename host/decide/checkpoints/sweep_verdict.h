// host/decide/checkpoints/sweep_verdict.h: what a controller does with each folder that it finds
// below checkpoints/ when it starts. A row may name the folder; or it is left from a crash, or from
// a controller that had lost its run to a newer one. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::decide {

// The manifest in the folder.
struct FoundManifest {
  bool is_of_run = false;  // a controller of this run wrote it
  int64_t attempt = 0;
};

// The rows of the run store with the folder's name.
struct FoundRows {
  std::optional<int64_t> kept_attempt = {};  // of the kept row; nullopt: no kept row
  bool was_dropped = false;                  // a row of the manifest's attempt was dropped
  bool was_left_behind = false;              // a later attempt began from an earlier report
};

enum class SweepVerdict {
  kKnown,       // it is the checkpoint of its row
  kDamaged,     // a row names it, and it is not a checkpoint of this run: to be moved away
  kUnknown,     // no row names it, and it has no manifest: it may be a user's, and stays
  kForeign,     // no row names it, and it is of another run: it stays
  kDropped,     // its row was dropped: to be deleted
  kLeftBehind,  // no attempt began from it, and none will: to be deleted
  kUnrecorded,  // its controller ended before it wrote the row: to be adopted if complete
};

// `manifest`: nullopt where the folder has none that can be read.
SweepVerdict judge_folder(const std::optional<FoundManifest>& manifest, const FoundRows& rows);

}  // namespace rtrain::decide
