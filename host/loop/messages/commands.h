// host/loop/messages/commands.h: the questions of commands to the controller of a live run, and its
// answers (host/train/control_server.h).
//
// Plain data. A command and a run may be of different versions of rtrain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/codec/record.h"
#include "host/loop/messages/profile_settings.h"
#include "host/loop/messages/to_controller.h"

namespace rtrain::loop {

// A collective that a rank has called.
struct RankCollective {
  int64_t sequence = 0;
  std::string operation;
  std::string tensors;
  std::string line;  // "train.lua:12"

  static constexpr RecordFields kFields{required("sequence", &RankCollective::sequence),
                                        required("operation", &RankCollective::operation),
                                        required("tensors", &RankCollective::tensors),
                                        required("line", &RankCollective::line)};
};

// Where one rank is in its code.
struct RankStack {
  int rank = 0;
  int pid = 0;
  std::string state;
  std::vector<std::string> lua;
  std::vector<ThreadStack> threads;
  std::vector<RankCollective> collectives;  // its latest ones
  std::vector<ThreadStack> program = {};    // the stacks of the Python program that it runs
  std::string phase = {};
  bool threads_left_out = false;  // true when the answer would be too large with them

  static constexpr RecordFields kFields{required("rank", &RankStack::rank),
                                        required("pid", &RankStack::pid),
                                        required("state", &RankStack::state),
                                        required("lua", &RankStack::lua),
                                        required("threads", &RankStack::threads),
                                        required("collectives", &RankStack::collectives),
                                        optional("program", &RankStack::program),
                                        optional("phase", &RankStack::phase),
                                        optional("threads_left_out", &RankStack::threads_left_out)};
};

// The recording of one rank: a file, or the reason why there is none.
struct RankProfile {
  int rank = 0;
  std::string path = {};
  std::optional<int64_t> events = {};
  std::optional<double> seconds = {};
  std::optional<int64_t> reports = {};
  std::optional<double> cost_s = {};  // processor time of sampling
  std::optional<double> cpu_s = {};   // processor time of the process meanwhile
  std::string note = {};
  std::string error = {};

  static constexpr RecordFields kFields{
      required("rank", &RankProfile::rank),       optional("path", &RankProfile::path),
      optional("events", &RankProfile::events),   optional("seconds", &RankProfile::seconds),
      optional("reports", &RankProfile::reports), optional("cost_s", &RankProfile::cost_s),
      optional("cpu_s", &RankProfile::cpu_s),     optional("note", &RankProfile::note),
      optional("error", &RankProfile::error)};
};

}  // namespace rtrain::loop

namespace rtrain::message {

struct Stopping {
  double grace_s = 0;  // the run ends within that time

  static constexpr RecordFields kFields{required("grace_s", &Stopping::grace_s)};
};

// Sent by rtrain stop.
struct StopRun {
  static constexpr std::string_view kType = "stop";
  using Answer = Stopping;
  bool now = false;          // without another checkpoint
  int64_t pid = 0;           // the process that asks
  std::string command = {};  // the command of that process; empty: rtrain stop

  static constexpr RecordFields kFields{optional("now", &StopRun::now),
                                        required("pid", &StopRun::pid),
                                        optional("command", &StopRun::command)};
};

struct Stacks {
  int attempt = 0;
  std::string state;  // of the run
  std::vector<loop::RankStack> ranks;

  static constexpr RecordFields kFields{required("attempt", &Stacks::attempt),
                                        required("state", &Stacks::state),
                                        required("ranks", &Stacks::ranks)};
};

// Sent by rtrain stack.
struct ShowStacks {
  static constexpr std::string_view kType = "stack";
  using Answer = Stacks;
  std::optional<int64_t> rank = {};  // none: all ranks

  static constexpr RecordFields kFields{optional("rank", &ShowStacks::rank)};
};

struct Profiles {
  int attempt = 0;
  std::vector<loop::RankProfile> profiles;

  static constexpr RecordFields kFields{required("attempt", &Profiles::attempt),
                                        required("profiles", &Profiles::profiles)};
};

// Sent by rtrain profile.
struct RecordProfiles {
  static constexpr std::string_view kType = "profile";
  using Answer = Profiles;
  loop::ProfileSettings settings = loop::ProfileSettings();
  std::optional<int64_t> rank = {};  // none: all ranks

  static constexpr RecordFields kFields{required("settings", &RecordProfiles::settings),
                                        optional("rank", &RecordProfiles::rank)};
};

using Command = std::variant<StopRun, ShowStacks, RecordProfiles>;

}  // namespace rtrain::message
