// host/store/runs/new_run.h: what a controller wants to run, as its record begins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/base/value.h"

namespace rtrain {

// RunConfig.resume: what to do with a run of that name that is there already. never: refuse.
// auto: go on with it, or begin. must: go on with it, refuse to begin.
enum class ResumeMode { kNever, kAuto, kMust };

// Throws Error(kConfig) for a name that is none of theirs.
ResumeMode resume_mode_from_name(std::string_view name);

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
  Value environment;        // map: git_commit, git_dirty, …; what the host is goes in with it
  List sources = {};        // its code: host/store/runs/source_store.h
  ResumeMode resume = ResumeMode::kNever;
  // Called with a line for people when the store is waited for.
  std::function<void(const std::string& text)> on_waiting = {};
};

}  // namespace rtrain
