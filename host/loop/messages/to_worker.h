// host/loop/messages/to_worker.h: the messages of the controller to a worker.
//
// Plain data. A channel belongs to one attempt, so only `start` carries an attempt's number:
// messages of an older attempt cannot arrive. A rank that continues in another attempt
// (train.elastic) sends Unwound as its last message of the older one, and then gets a second
// `start`. WorkerProcess::kRoutes lists who receives what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/codec/reported_checkpoint.h"
#include "host/base/codec/validation_request.h"
#include "host/loop/messages/profile_settings.h"

namespace rtrain::loop {

// What a worker must know about its run. Answers `hello`.
struct WorkerContext {
  static constexpr std::string_view kType = "start";
  int world_size = 1;
  int world_rank = 0;
  int local_rank = 0;
  int local_world_size = 1;
  int node_rank = 0;
  int node_number = 0;  // in the job: several node ranks may be on one node (train.elastic)
  std::string address;  // its node's, for sockets of other ranks; empty: all ranks are on this node
  std::string experiment_name;
  std::string run_id;
  int attempt = 1;
  std::string nonce;
  std::string storage_path;
  std::string run_path;
  // This node's folder for the run, if it does not see node 0's. Other messages name files by node
  // 0's paths (host/worker/far_paths.h).
  std::string far_path = {};
  int64_t log_bytes = 0;  // the limit for a rank's log
  std::string backend;
  double timeout_s = 0;
  double collective_timeout_s = 0;  // for train.collective
  int threads = 1;
  std::vector<int> gpus;    // its devices, as this process numbers them
  int64_t first_index = 0;  // the number of the attempt's first report
  std::optional<ReportedCheckpoint> starting_checkpoint;
  // The attempt is a heal (train.elastic): the ranks of the attempt before continue where they
  // were, and this process replaces a dead one. The ranks that continue get the message too.
  bool is_replacement = false;
  // The run's number of workers is a range, and this attempt has fewer than the most.
  bool can_grow = false;
  // How many of the run's virtual ranks each process computes; empty: as equal numbers as possible.
  std::vector<int> shares = {};
  // The folder with the state of a smaller group at its last commit (train.elastic); empty: none.
  std::string carried = {};
  // The process is a spare: it runs the train function until it needs to know its rank, and then
  // waits for another `start`, as the replacement of a lost rank. What it cannot know yet (rank,
  // attempt, first report, checkpoint) is not set.
  bool is_spare = false;
  // The rank with which the process of this rank was started on its node.
  int place = 0;
  // The first node keeps a copy of this rank's small state (train.elastic): where this node is lost
  // a process on another one takes the rank's place.
  bool is_copied = false;
  // The process is not a rank, but validates that checkpoint.
  std::optional<ValidationTask> validation;

  static constexpr RecordFields kFields{
      required("world_size", &WorkerContext::world_size),
      required("world_rank", &WorkerContext::world_rank),
      required("local_rank", &WorkerContext::local_rank),
      required("local_world_size", &WorkerContext::local_world_size),
      required("node_rank", &WorkerContext::node_rank),
      optional("node_number", &WorkerContext::node_number),
      optional("address", &WorkerContext::address),
      required("experiment_name", &WorkerContext::experiment_name),
      required("run_id", &WorkerContext::run_id),
      required("attempt", &WorkerContext::attempt),
      required("nonce", &WorkerContext::nonce),
      required("storage_path", &WorkerContext::storage_path),
      required("run_path", &WorkerContext::run_path),
      optional("far_path", &WorkerContext::far_path),
      required("log_bytes", &WorkerContext::log_bytes),
      required("backend", &WorkerContext::backend),
      required("timeout_s", &WorkerContext::timeout_s),
      required("collective_timeout_s", &WorkerContext::collective_timeout_s),
      required("threads", &WorkerContext::threads),
      required("gpus", &WorkerContext::gpus),
      required("first_index", &WorkerContext::first_index),
      optional("starting_checkpoint", &WorkerContext::starting_checkpoint),
      optional("is_replacement", &WorkerContext::is_replacement),
      optional("can_grow", &WorkerContext::can_grow),
      optional("shares", &WorkerContext::shares),
      optional("carried", &WorkerContext::carried),
      optional("is_spare", &WorkerContext::is_spare),
      optional("place", &WorkerContext::place),
      optional("is_copied", &WorkerContext::is_copied),
      optional("validation", &WorkerContext::validation)};
};

}  // namespace rtrain::loop

namespace rtrain::message {

// Answers the request with that id (to_controller.h): a value, or the error that the request
// raises.
struct Reply {
  static constexpr std::string_view kType = "reply";
  int64_t id = 0;
  Value value = {};
  std::optional<Error> error = {};

  static constexpr RecordFields kFields{required("id", &Reply::id),
                                        optional("value", &Reply::value),
                                        optional("error", &Reply::error)};
};

// A part of the answer to `checkpoints`, sent before the reply. The parts together encode a list.
struct Part {
  static constexpr std::string_view kType = "part";
  int64_t id = 0;
  std::string bytes;

  static constexpr RecordFields kFields{required("id", &Part::id), required("bytes", &Part::bytes)};
};

// Asks where the worker's threads are. Stack answers it.
struct AskStack {
  static constexpr std::string_view kType = "stack";
  int64_t id = 0;
  std::string folder = {};  // for a list of operations submitted to its devices, or empty

  static constexpr RecordFields kFields{required("id", &AskStack::id),
                                        optional("folder", &AskStack::folder)};
};

// Asks for a trace in the file `path`. Profile answers it.
struct AskProfile {
  static constexpr std::string_view kType = "profile";
  int64_t id = 0;
  std::string path;
  loop::ProfileSettings settings = loop::ProfileSettings();

  static constexpr RecordFields kFields{required("id", &AskProfile::id),
                                        required("path", &AskProfile::path),
                                        required("settings", &AskProfile::settings)};
};

// All ranks have sent the reports below `count`.
struct Acknowledged {
  static constexpr std::string_view kType = "acknowledged";
  int64_t count = 0;

  static constexpr RecordFields kFields{required("count", &Acknowledged::count)};
};

// The agreed name of the checkpoint of report `index`; empty: the default one.
struct Named {
  static constexpr std::string_view kType = "named";
  int64_t index = 0;
  std::string name;

  static constexpr RecordFields kFields{required("index", &Named::index),
                                        required("name", &Named::name)};
};

// The rank is to stage that folder, for all ranks that named it.
struct Seal {
  static constexpr std::string_view kType = "seal";
  int64_t index = 0;
  std::string folder;

  static constexpr RecordFields kFields{required("index", &Seal::index),
                                        required("folder", &Seal::folder)};
};

// The checkpoint of report `index` is committed, or it failed.
struct Reported {
  static constexpr std::string_view kType = "reported";
  int64_t index = 0;
  std::string path = {};
  std::optional<Error> error = {};

  static constexpr RecordFields kFields{required("index", &Reported::index),
                                        optional("path", &Reported::path),
                                        optional("error", &Reported::error)};
};

// The next call of stop_requested() shall wait. StopCalls answers this.
struct StopPrepare {
  static constexpr std::string_view kType = "stop_prepare";
  int round = 0;

  static constexpr RecordFields kFields{required("round", &StopPrepare::round)};
};

// Calls of stop_requested() continue.
struct StopRelease {
  static constexpr std::string_view kType = "stop_release";
  int round = 0;
  std::optional<int64_t> at = {};  // the first call that returns true; none: not decided yet

  static constexpr RecordFields kFields{required("round", &StopRelease::round),
                                        optional("at", &StopRelease::at)};
};

// Other ranks are lost, and will be replaced: every wait for them ends with kPeerLost. Unwound
// answers this.
struct PeerLost {
  static constexpr std::string_view kType = "peer_lost";
  std::string text;  // the lost ranks

  static constexpr RecordFields kFields{required("text", &PeerLost::text)};
};

// A larger group is to continue from the next commit of train.elastic. The ranks write its state
// into that folder. Rank 0 decides which commit it is, and makes no further step. Empty: the growth
// is cancelled, unless the processes are to continue themselves, `is_in_place`.
struct Grow {
  static constexpr std::string_view kType = "grow";
  std::string folder;
  bool is_in_place = false;

  static constexpr RecordFields kFields{required("folder", &Grow::folder),
                                        optional("is_in_place", &Grow::is_in_place)};
};

// The worker shall tear down and exit.
struct Exit {
  static constexpr std::string_view kType = "exit";

  static constexpr RecordFields<> kFields{};
};

using ToWorker =
    std::variant<loop::WorkerContext, Reply, Part, AskStack, AskProfile, Acknowledged, Named, Seal,
                 Reported, StopPrepare, StopRelease, PeerLost, Grow, Exit>;

}  // namespace rtrain::message
