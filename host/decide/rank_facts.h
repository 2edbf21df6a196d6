// host/decide/rank_facts.h: the facts about a rank at one moment.
//
// Times are of the monotonic clock of the process that holds the facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/wait_kind.h"

template <>
inline constexpr rtrain::WaitKind rtrain::kLastOf<rtrain::WaitKind> = rtrain::WaitKind::kOwn;

namespace rtrain::decide {

struct CollectiveFacts {
  uint64_t sequence = 0;
  std::string operation;  // "all_reduce"
  std::string tensors;    // "float32 [4]"
  std::string line;       // "train.lua:7"
  double time_s = 0;      // when the rank called it

  // Equal for all ranks that call the same collective: "all_reduce(float32 [4])".
  std::string text() const;

  static constexpr RecordFields kFields{required("sequence", &CollectiveFacts::sequence),
                                        required("operation", &CollectiveFacts::operation),
                                        required("tensors", &CollectiveFacts::tensors),
                                        required("line", &CollectiveFacts::line),
                                        required("time", &CollectiveFacts::time_s)};
};

struct WaitFacts {
  WaitKind kind = WaitKind::kOwn;
  std::string operation;  // as messages show it
  double since_s = 0;
  std::string line;       // the innermost line outside of rtrain's own modules
  uint64_t sequence = 0;  // of the collective that the rank's device waits in; 0: the rank's
                          // thread waits
  std::vector<std::string> frames = {};  // of the Lua stack, the innermost first

  static constexpr RecordFields kFields{
      required("kind", &WaitFacts::kind),         required("operation", &WaitFacts::operation),
      required("since", &WaitFacts::since_s),     optional("line", &WaitFacts::line),
      optional("sequence", &WaitFacts::sequence), optional("frames", &WaitFacts::frames)};
};

// A collective over NCCL that the rank's device has not finished. The rank's thread may have
// continued.
struct DeviceFacts {
  uint64_t sequence = 0;
  double since_s = 0;

  static constexpr RecordFields kFields{required("sequence", &DeviceFacts::sequence),
                                        required("since", &DeviceFacts::since_s)};
};

// Where the time of the rank's main thread has gone since its train function began, in seconds.
struct TimeFacts {
  uint64_t steps = 0;        // of its optimizers
  uint64_t batches = 0;      // that its loaders have made
  uint64_t saved_bytes = 0;  // of its checkpoints, copied to storage
  double data_s = 0;
  double compute_s = 0;        // forward, backward, optimizer
  double communication_s = 0;  // in collectives and reports: the exchange, waits for the others
  double checkpoint_s = 0;     // and reports, without these waits
  double other_s = 0;

  double total_s() const { return data_s + compute_s + communication_s + checkpoint_s + other_s; }

  static constexpr RecordFields kFields{required("steps", &TimeFacts::steps),
                                        required("batches", &TimeFacts::batches),
                                        required("saved_bytes", &TimeFacts::saved_bytes),
                                        required("data", &TimeFacts::data_s),
                                        required("compute", &TimeFacts::compute_s),
                                        required("communication", &TimeFacts::communication_s),
                                        required("checkpoint", &TimeFacts::checkpoint_s),
                                        required("other", &TimeFacts::other_s)};
};

// What can make a rank slow from outside of its program. All but `cores` and `slowed_by` are counts
// since some moment.
struct HostFacts {
  double starved_s = 0;        // its threads were ready to run, and other programs had the cores
  double stolen_s = 0;         // the virtual machine's host had the node's cores
  double cores = 0;            // that its cgroup allows; 0: any number
  uint64_t periods = 0;        // of that limit
  uint64_t throttled = 0;      // of these, those in which it was used up
  uint64_t faults = 0;         // pages that were read from a disk
  std::string slowed_by = {};  // why its device runs below its clock: "heat"; "": it does not

  static constexpr RecordFields kFields{
      optional("starved", &HostFacts::starved_s),   optional("stolen", &HostFacts::stolen_s),
      optional("cores", &HostFacts::cores),         optional("periods", &HostFacts::periods),
      optional("throttled", &HostFacts::throttled), optional("faults", &HostFacts::faults),
      optional("slowed_by", &HostFacts::slowed_by)};
};

// The connections over which a rank sends tensors to another node. Counts since some moment.
struct LinkFacts {
  std::string own;  // the numeric addresses of their ends
  std::string peer;
  uint64_t bytes = 0;  // that have arrived there
  uint64_t looks = 0;
  uint64_t waits = 0;  // of them, those that have seen many bytes under way

  static constexpr RecordFields kFields{
      required("own", &LinkFacts::own), required("peer", &LinkFacts::peer),
      required("bytes", &LinkFacts::bytes), required("looks", &LinkFacts::looks),
      required("waits", &LinkFacts::waits)};
};

struct RankFacts {
  int state = 'S';        // of the process, as in /proc/PID/stat
  double cpu_s = 0;       // processor time of the process
  uint64_t progress = 0;  // changes with each sign of work
  uint64_t collectives = 0;
  uint64_t reports = 0;
  double beat_s = 0;
  bool is_busy = false;  // train.busy() holds
  std::optional<WaitFacts> wait = {};
  std::optional<DeviceFacts> device = {};
  std::vector<CollectiveFacts> calls = {};  // the latest ones
  std::optional<TimeFacts> times = {};      // of a train function that has begun
  HostFacts host = {};
  std::vector<LinkFacts> links = {};
  // The controller adds these.
  bool is_started = false;  // its train function has begun
  bool has_returned = false;
  std::string line = {};  // where it was last seen outside of a wait

  static constexpr RecordFields kFields{
      required("state", &RankFacts::state),       required("cpu", &RankFacts::cpu_s),
      required("progress", &RankFacts::progress), required("collectives", &RankFacts::collectives),
      required("reports", &RankFacts::reports),   required("beat", &RankFacts::beat_s),
      optional("is_busy", &RankFacts::is_busy),   optional("wait", &RankFacts::wait),
      optional("device", &RankFacts::device),     optional("calls", &RankFacts::calls),
      optional("times", &RankFacts::times),       optional("host", &RankFacts::host),
      optional("links", &RankFacts::links),
  };
};

}  // namespace rtrain::decide
