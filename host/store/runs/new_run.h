// host/store/runs/new_run.h: the data with which a controller begins a run's record.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/value.h"

namespace rtrain::store {

// RunConfig.resume: what to do if a run of that name exists. never: fail. auto: resume it, or begin
// a new one. must: resume it, and fail if there is none.
enum class ResumeMode { kNever, kAuto, kMust };

}  // namespace rtrain::store

template <>
inline constexpr std::array<std::string_view, 3> rtrain::kNamesOf<rtrain::store::ResumeMode>{
    "never", "auto", "must"};

namespace rtrain::store {

struct NewRun {
  std::string name;
  std::string storage_path;  // absolute
  int64_t num_workers = 1;
  std::string script;
  std::vector<std::string> command;
  std::vector<std::string> tags;
  std::string note;
  Value config;             // train_loop_config
  Value scaling;            // ScalingConfig
  Value checkpoint_config;  // CheckpointConfig
  Value environment;        // git_commit, git_dirty, …; the node's data are added
  List sources = {};        // its code: host/store/runs/source_store.h
  ResumeMode resume = ResumeMode::kNever;
  // Called with a message for users when the store is being waited for.
  std::function<void(const std::string& text)> on_waiting = {};
};

}  // namespace rtrain::store
