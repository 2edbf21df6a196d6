// host/decide/checkpoints/sweep_verdict.h: what a folder below checkpoints/ is, as a controller
// finds it when it starts: one that its row knows, or what a crash or a controller that had lost
// its run left. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::decide {

// What its manifest says.
struct FoundManifest {
  bool is_of_run = false;  // of this run, by this controller or one before
  int64_t attempt = 0;
};

// What the rows say of its name.
struct FoundRows {
  std::optional<int64_t> kept_attempt = {};  // of the kept row; nothing: there is none
  bool was_dropped = false;      // a row of the manifest's attempt, by retention or another
  bool was_left_behind = false;  // a later attempt began from an earlier report
};

enum class SweepVerdict {
  kKnown,       // it is what its row names
  kDamaged,     // a row names it, and it is not a checkpoint of this run: to be moved away
  kUnknown,     // no row names it, and it has no manifest: whoever made it may want it
  kForeign,     // no row names it, and it is of another run: likewise
  kDropped,     // its row was dropped: to be deleted
  kLeftBehind,  // no attempt began from it, and none will: to be deleted
  kUnrecorded,  // its controller ended before the row: to be adopted where its files are whole
};

// `manifest`: nothing where it cannot be read.
SweepVerdict judge_folder(const std::optional<FoundManifest>& manifest, const FoundRows& rows);

}  // namespace rtrain::decide
