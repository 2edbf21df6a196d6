// host/node/workers/messages.h: the messages between the controller and another node's agent.
//
// A message about workers names the attempt in which they were started: late messages of older
// attempts are dropped. The workers of several lost nodes may be started on one node in the same
// attempt (NodeOrder): each message of the agent also names a rank, and where the controller's name
// none they are about all of that attempt.
//
// Messages between workers and the controller are forwarded unchanged, in `frame`. Receivers:
// NodeAgent::kRoutes, RemoteNode::kRoutes; for messages about the node as a whole Agent::kRoutes,
// JobNodes::kRoutes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/loop/messages/ingest.h"
#include "host/loop/messages/join.h"
#include "host/node/workers/node.h"
#include "host/node/workers/worker_end.h"

template <>
inline constexpr rtrain::node::OutputStream rtrain::kLastOf<rtrain::node::OutputStream> =
    rtrain::node::OutputStream::kStderr;

namespace rtrain::message {

struct ToRank {
  static constexpr std::string_view kType = "to_rank";
  int attempt = 1;
  int rank = 0;
  std::string frame;

  static constexpr RecordFields kFields{required("attempt", &ToRank::attempt),
                                        required("rank", &ToRank::rank),
                                        required("frame", &ToRank::frame)};
};

// The rank has sent hello, from that process.
struct Attached {
  static constexpr std::string_view kType = "attached";
  int attempt = 1;
  int rank = 0;
  int pid = 0;

  static constexpr RecordFields kFields{required("attempt", &Attached::attempt),
                                        required("rank", &Attached::rank),
                                        required("pid", &Attached::pid)};
};

struct HoldOutput {
  static constexpr std::string_view kType = "hold_output";
  int attempt = 1;
  bool held = false;

  static constexpr RecordFields kFields{required("attempt", &HoldOutput::attempt),
                                        required("held", &HoldOutput::held)};
};

// SIGKILL to the workers; with a rank only to that one, with a reason if it has sent invalid
// data.
struct KillWorkers {
  static constexpr std::string_view kType = "kill_workers";
  int attempt = 1;
  std::optional<int> rank = {};
  std::string reason = {};

  static constexpr RecordFields kFields{required("attempt", &KillWorkers::attempt),
                                        optional("rank", &KillWorkers::rank),
                                        optional("reason", &KillWorkers::reason)};
};

// The attempt is over.
struct CloseWorkers {
  static constexpr std::string_view kType = "close_workers";
  int attempt = 1;

  static constexpr RecordFields kFields{required("attempt", &CloseWorkers::attempt)};
};

// For train.elastic, as in Node. The attempt stays the one in which the workers were started.
struct HandOver {
  static constexpr std::string_view kType = "hand_over";
  int attempt = 1;

  static constexpr RecordFields kFields{required("attempt", &HandOver::attempt)};
};

struct ReplaceWorker {
  static constexpr std::string_view kType = "replace_worker";
  int attempt = 1;
  int rank = 0;

  static constexpr RecordFields kFields{required("attempt", &ReplaceWorker::attempt),
                                        required("rank", &ReplaceWorker::rank)};
};

// As in Node::make_spare. NodeFacts say what has become of it.
struct MakeSpare {
  static constexpr std::string_view kType = "make_spare";
  int attempt = 1;
  std::string frame;

  static constexpr RecordFields kFields{required("attempt", &MakeSpare::attempt),
                                        required("frame", &MakeSpare::frame)};
};

struct DropSpare {
  static constexpr std::string_view kType = "drop_spare";
  int attempt = 1;

  static constexpr RecordFields kFields{required("attempt", &DropSpare::attempt)};
};

struct LeaveOutWorker {
  static constexpr std::string_view kType = "leave_out_worker";
  int attempt = 1;
  int rank = 0;

  static constexpr RecordFields kFields{required("attempt", &LeaveOutWorker::attempt),
                                        required("rank", &LeaveOutWorker::rank)};
};

// As in Node::keep.
struct KeepCommit {
  static constexpr std::string_view kType = "keep_commit";
  int attempt = 1;
  int rank = 0;
  int64_t step = 0;
  std::string bytes;

  static constexpr RecordFields kFields{
      required("attempt", &KeepCommit::attempt), required("rank", &KeepCommit::rank),
      required("step", &KeepCommit::step), required("bytes", &KeepCommit::bytes)};
};

struct OthersReady {
  static constexpr std::string_view kType = "others_ready";
  int attempt = 1;
  int64_t step = 0;

  static constexpr RecordFields kFields{required("attempt", &OthersReady::attempt),
                                        required("step", &OthersReady::step)};
};

struct OthersLost {
  static constexpr std::string_view kType = "others_lost";
  int attempt = 1;

  static constexpr RecordFields kFields{required("attempt", &OthersLost::attempt)};
};

using ToNode = std::variant<node::NodeOrder, ToRank, Attached, HoldOutput, KillWorkers,
                            CloseWorkers, HandOver, ReplaceWorker, MakeSpare, DropSpare,
                            LeaveOutWorker, KeepCommit, OthersReady, OthersLost>;

struct Spawned {
  static constexpr std::string_view kType = "spawned";
  int attempt = 1;
  int rank = 0;
  double now_s = 0;  // of the agent's monotonic clock
  node::SpawnedWorker worker;

  static constexpr RecordFields kFields{
      required("attempt", &Spawned::attempt), required("rank", &Spawned::rank),
      required("now", &Spawned::now_s), required("worker", &Spawned::worker)};
};

struct SpawnFailed {
  static constexpr std::string_view kType = "spawn_failed";
  int attempt = 1;
  int rank = 0;
  Error error{Code::kInternal, ""};
  bool is_transient = false;

  static constexpr RecordFields kFields{
      required("attempt", &SpawnFailed::attempt), required("rank", &SpawnFailed::rank),
      required("error", &SpawnFailed::error), optional("is_transient", &SpawnFailed::is_transient)};
};

struct FromRank {
  static constexpr std::string_view kType = "from_rank";
  int attempt = 1;
  int rank = 0;
  std::string frame;

  static constexpr RecordFields kFields{required("attempt", &FromRank::attempt),
                                        required("rank", &FromRank::rank),
                                        required("frame", &FromRank::frame)};
};

struct Printed {
  static constexpr std::string_view kType = "printed";
  int attempt = 1;
  int rank = 0;
  node::OutputStream stream = node::OutputStream::kStdout;
  std::string bytes;

  static constexpr RecordFields kFields{
      required("attempt", &Printed::attempt), required("rank", &Printed::rank),
      required("stream", &Printed::stream), required("bytes", &Printed::bytes)};
};

struct Dying {
  static constexpr std::string_view kType = "dying";
  int attempt = 1;
  int rank = 0;

  static constexpr RecordFields kFields{required("attempt", &Dying::attempt),
                                        required("rank", &Dying::rank)};
};

struct Gone {
  static constexpr std::string_view kType = "gone";
  int attempt = 1;
  int rank = 0;
  node::WorkerEnd end = node::WorkerEnd();

  static constexpr RecordFields kFields{required("attempt", &Gone::attempt),
                                        required("rank", &Gone::rank), required("end", &Gone::end)};
};

// The facts of all ranks of the node that were started together, in order.
struct NodeFacts {
  static constexpr std::string_view kType = "facts";
  int attempt = 1;
  int rank = 0;      // the first of them
  double now_s = 0;  // of the agent's monotonic clock
  int64_t copied_bytes = 0;
  std::vector<decide::RankFacts> ranks = {};
  int64_t spares = 0;  // the number of MakeSpare so far
  bool has_spare = false;

  static constexpr RecordFields kFields{required("attempt", &NodeFacts::attempt),
                                        required("rank", &NodeFacts::rank),
                                        required("now", &NodeFacts::now_s),
                                        required("copied_bytes", &NodeFacts::copied_bytes),
                                        required("ranks", &NodeFacts::ranks),
                                        required("spares", &NodeFacts::spares),
                                        required("has_spare", &NodeFacts::has_spare)};
};

struct DeviceSeries {
  static constexpr std::string_view kType = "device_series";
  int attempt = 1;
  int rank = 0;
  Series series;

  static constexpr RecordFields kFields{required("attempt", &DeviceSeries::attempt),
                                        required("rank", &DeviceSeries::rank),
                                        required("series", &DeviceSeries::series)};
};

struct DeviceFailed {
  static constexpr std::string_view kType = "device_failed";
  int attempt = 1;
  node::DeviceFault fault;

  static constexpr RecordFields kFields{required("attempt", &DeviceFailed::attempt),
                                        required("fault", &DeviceFailed::fault)};
};

using FromNode = std::variant<Spawned, SpawnFailed, FromRank, Printed, Dying, Gone, NodeFacts,
                              DeviceSeries, DeviceFailed>;

// The agent's facts about its node, sent when it connects.
struct AgentInfo {
  static constexpr std::string_view kType = "agent";
  int node = 1;   // its process's number among those that the launcher has started
  int tasks = 1;  // processes that the launcher has started on its node
  std::string host;
  std::string address = {};  // for the other nodes
  int cores = 1;
  std::vector<std::string> gpus = {};  // names of its devices
  int64_t pid = 0;
  std::string libtorch = {};  // libtorch_build()
  std::optional<int> most_workers = {};

  static constexpr RecordFields kFields{required("node", &AgentInfo::node),
                                        required("tasks", &AgentInfo::tasks),
                                        required("host", &AgentInfo::host),
                                        optional("address", &AgentInfo::address),
                                        required("cores", &AgentInfo::cores),
                                        required("gpus", &AgentInfo::gpus),
                                        required("pid", &AgentInfo::pid),
                                        optional("libtorch", &AgentInfo::libtorch),
                                        optional("most_workers", &AgentInfo::most_workers)};
};

// A part of the data that workers inherit, the serialized train function; `size` bytes in all.
struct Functions {
  static constexpr std::string_view kType = "functions";
  int64_t size = 0;
  int64_t offset = 0;
  std::string bytes = {};

  static constexpr RecordFields kFields{required("size", &Functions::size),
                                        required("offset", &Functions::offset),
                                        required("bytes", &Functions::bytes)};
};

// Asks whether the file with that text exists in the run's folder; for an object store (`uri`),
// whether it can be reached. Answered by FolderSeen.
struct CheckFolder {
  static constexpr std::string_view kType = "check_folder";
  std::string path;
  std::string text;
  std::string uri = {};
  bool may_be_far = false;  // a node that does not see it may work without

  static constexpr RecordFields kFields{
      required("path", &CheckFolder::path), required("text", &CheckFolder::text),
      required("uri", &CheckFolder::uri), optional("may_be_far", &CheckFolder::may_be_far)};
};

// The script's fit() of that number has begun on node 0: processes of the agent's node may
// join.
struct BeginFit {
  static constexpr std::string_view kType = "begin_fit";
  int64_t fit = 1;

  static constexpr RecordFields kFields{required("fit", &BeginFit::fit)};
};

// That fit() has ended.
struct EndFit {
  static constexpr std::string_view kType = "end_fit";
  Ended ended;

  static constexpr RecordFields kFields{required("ended", &EndFit::ended)};
};

// The job has ended: the agent ends with that exit code.
struct Leave {
  static constexpr std::string_view kType = "leave";
  int code = 0;

  static constexpr RecordFields kFields{required("code", &Leave::code)};
};

// The agent ends its workers if it has not heard from the controller for that long.
struct NodeTimeout {
  static constexpr std::string_view kType = "node_timeout";
  double seconds = 30;

  static constexpr RecordFields kFields{required("seconds", &NodeTimeout::seconds)};
};

// The run whose workers this node gets from now on. The agent answers with the reports in its spool
// (host/store/runs/report_spool.h), a Spooled for each, and SpoolEnd.
struct AskSpool {
  static constexpr std::string_view kType = "ask_spool";
  std::string run_id;

  static constexpr RecordFields kFields{required("run_id", &AskSpool::run_id)};
};

// The store has the reports of attempts below this one.
struct ForgetSpool {
  static constexpr std::string_view kType = "forget_spool";
  int below_attempt = 0;

  static constexpr RecordFields kFields{required("below_attempt", &ForgetSpool::below_attempt)};
};

using ToAgent = std::variant<Functions, CheckFolder, BeginFit, EndFit, Leave, NodeTimeout, AskSpool,
                             ForgetSpool, StartIngest>;

struct FolderSeen {
  static constexpr std::string_view kType = "folder_seen";
  std::string path;
  std::string problem = {};   // empty: the check succeeded
  std::string far_path = {};  // the node's own folder for the run, if it does not see node 0's

  static constexpr RecordFields kFields{required("path", &FolderSeen::path),
                                        optional("problem", &FolderSeen::problem),
                                        optional("far_path", &FolderSeen::far_path)};
};

// The launcher has sent the agent this signal.
struct AgentSignal {
  static constexpr std::string_view kType = "agent_signal";
  int number = 0;

  static constexpr RecordFields kFields{required("number", &AgentSignal::number)};
};

struct Spooled {
  static constexpr std::string_view kType = "spooled";
  int attempt = 1;
  int rank = 0;
  std::string report;  // Report, encoded

  static constexpr RecordFields kFields{required("attempt", &Spooled::attempt),
                                        required("rank", &Spooled::rank),
                                        required("report", &Spooled::report)};
};

// `problem`: why the spool could not be read, or "".
struct SpoolEnd {
  static constexpr std::string_view kType = "spool_end";
  std::string problem = {};

  static constexpr RecordFields kFields{optional("problem", &SpoolEnd::problem)};
};

using FromAgent = std::variant<FolderSeen, AgentSignal, Spooled, SpoolEnd>;

}  // namespace rtrain::message
