// host/loop/messages/to_controller.h: the messages of a worker to the controller.
//
// Plain data. A message with an `id` is a request: message::Reply with that id answers it.
// Attempt::kRoutes lists who receives what; for a process that validates a checkpoint,
// ValidationProcess::kRoutes does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/codec/report.h"
#include "host/base/codec/staged_rank.h"
#include "host/loop/messages/ingest.h"
#include "host/loop/messages/store_calls.h"

namespace rtrain::loop {

inline constexpr int64_t kProtocolVersion = 2;

// Where one thread is: a thread of a worker in native code, or of a Python program.
struct ThreadStack {
  std::string name;
  int tid = 0;
  std::vector<std::string> frames;  // the innermost first

  static constexpr RecordFields kFields{required("name", &ThreadStack::name),
                                        required("tid", &ThreadStack::tid),
                                        required("frames", &ThreadStack::frames)};
};

}  // namespace rtrain::loop

namespace rtrain::message {

// The first message; WorkerContext answers it.
struct Hello {
  static constexpr std::string_view kType = "hello";
  int64_t version = 0;  // kProtocolVersion
  std::string build_id;
  int64_t pid = 0;

  static constexpr RecordFields kFields{required("version", &Hello::version),
                                        required("build_id", &Hello::build_id),
                                        required("pid", &Hello::pid)};
};

// The worker has reached that phase of its start.
struct Phase {
  static constexpr std::string_view kType = "phase";
  std::string name;  // engine_loaded, group_ready, running

  static constexpr RecordFields kFields{required("name", &Phase::name)};
};

// The devices that the worker uses, in case another launcher has assigned them.
struct Gpus {
  static constexpr std::string_view kType = "gpus";
  std::vector<int> gpus;

  static constexpr RecordFields kFields{required("gpus", &Gpus::gpus)};
};

// This process has received that signal.
struct Signal {
  static constexpr std::string_view kType = "signal";
  int number = 0;

  static constexpr RecordFields kFields{required("number", &Signal::number)};
};

// A part of the list of the staged files of report `index`.
struct Files {
  static constexpr std::string_view kType = "files";
  int64_t index = 0;
  std::vector<CheckpointFile> files;

  static constexpr RecordFields kFields{required("index", &Files::index),
                                        required("files", &Files::files)};
};

// How the upload of report `index` has ended: all its files were sent, or they lie in a folder
// inside the run's own, or it failed.
struct Uploaded {
  static constexpr std::string_view kType = "uploaded";
  int64_t index = 0;
  std::optional<StagedRank> checkpoint = {};  // without its files
  std::string folder = {};
  std::optional<Error> error = {};

  static constexpr RecordFields kFields{
      required("index", &Uploaded::index), optional("checkpoint", &Uploaded::checkpoint),
      optional("folder", &Uploaded::folder), optional("error", &Uploaded::error)};
};

// train.log(): a chunk of the points of one key. An unfinished chunk is sent again, under the same
// number, when it has more points.
struct Series {
  static constexpr std::string_view kType = "series";
  std::string key;
  int64_t number = 0;  // the chunk's number, from 0
  int64_t count = 0;   // the number of its points
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t first_time_ms = 0;
  int64_t last_time_ms = 0;
  std::string data;       // encode_series (host/store/series/series_chunk.h)
  std::string summaries;  // encode_summaries of its points (host/store/series/series_summary.h)

  static constexpr RecordFields kFields{required("key", &Series::key),
                                        required("number", &Series::number),
                                        required("count", &Series::count),
                                        required("first_step", &Series::first_step),
                                        required("last_step", &Series::last_step),
                                        required("first_time", &Series::first_time_ms),
                                        required("last_time", &Series::last_time_ms),
                                        required("data", &Series::data),
                                        required("summaries", &Series::summaries)};
};

// That many points of train.log were lost.
struct SeriesDropped {
  static constexpr std::string_view kType = "series_dropped";
  int64_t count = 0;

  static constexpr RecordFields kFields{required("count", &SeriesDropped::count)};
};

// The newest values of the first keys of train.log, for display.
struct Logged {
  static constexpr std::string_view kType = "logged";
  std::vector<std::string> names;
  std::vector<double> values;

  static constexpr RecordFields kFields{required("names", &Logged::names),
                                        required("values", &Logged::values)};
};

// How far a rank's loop over batches has come. Sent from time to time.
struct LoopProgress {
  static constexpr std::string_view kType = "loop";
  int64_t batch = 0;  // batches that the loop has got in this epoch
  double rate = 0;    // batches a second; 0: not known
  // Batches of this rank in the epoch; 0: not known.
  int64_t batches = 0;
  int64_t batch_size = 0;
  int64_t samples = 0;
  int64_t dataset_size = 0;  // all samples that the dataset has

  static constexpr RecordFields kFields{required("batch", &LoopProgress::batch),
                                        optional("rate", &LoopProgress::rate),
                                        optional("batches", &LoopProgress::batches),
                                        optional("batch_size", &LoopProgress::batch_size),
                                        optional("samples", &LoopProgress::samples),
                                        optional("dataset_size", &LoopProgress::dataset_size)};
};

// train.annotate().
struct Annotation {
  static constexpr std::string_view kType = "annotation";
  int64_t time_ms = 0;
  std::string severity;
  std::string text;
  int64_t id = 0;  // if not 0, the rank waits for a reply before it continues

  static constexpr RecordFields kFields{
      required("time", &Annotation::time_ms), required("severity", &Annotation::severity),
      required("text", &Annotation::text), optional("id", &Annotation::id)};
};

// train.log_image(), log_video(), log_audio(), log_histogram(), log_table(), log_text().
struct Media {
  static constexpr std::string_view kType = "media";
  int64_t time_ms = 0;
  std::string kind;  // image, video, audio, histogram, table, text
  std::string name;
  int64_t step = 0;
  std::string data;  // encoded as in host/store/runs/media_store.h
  int64_t id = 0;    // as in Annotation

  static constexpr RecordFields kFields{
      required("time", &Media::time_ms), required("kind", &Media::kind),
      required("name", &Media::name),    required("step", &Media::step),
      required("data", &Media::data),    optional("id", &Media::id)};
};

// For the first time, a loss, gradient or metric of this rank is not finite.
struct NotFinite {
  static constexpr std::string_view kType = "not_finite";
  int64_t step = 0;   // optimizer steps before, else reports; the rank with the fewest saw it first
  std::string what;   // "the loss is nan in step 3"
  std::string place;  // "the parameter fc2.weight is not finite", or empty
  bool is_in_replica = false;  // the place is a parameter that all ranks have the same of

  static constexpr RecordFields kFields{
      required("step", &NotFinite::step), required("what", &NotFinite::what),
      required("place", &NotFinite::place), optional("is_in_replica", &NotFinite::is_in_replica)};
};

// train.health.report().
struct Health {
  static constexpr std::string_view kType = "health";
  std::string text;
  bool is_conclusive = false;

  static constexpr RecordFields kFields{required("text", &Health::text),
                                        optional("is_conclusive", &Health::is_conclusive)};
};

// get_all_reported_checkpoints(). Several Part and then a Reply answer it.
struct Checkpoints {
  static constexpr std::string_view kType = "checkpoints";
  int64_t id = 0;
  int64_t reports = 0;  // the number of reports that this rank has made
  bool validated = false;
  int64_t repeat = 0;  // how often the rank has sent this question before
  double timeout_s = 0;
  bool partial = false;  // after the time-out: the checkpoints that exist, not an error

  static constexpr RecordFields kFields{required("id", &Checkpoints::id),
                                        required("reports", &Checkpoints::reports),
                                        required("validated", &Checkpoints::validated),
                                        required("repeat", &Checkpoints::repeat),
                                        required("timeout_s", &Checkpoints::timeout_s),
                                        required("partial", &Checkpoints::partial)};
};

// The files of a checkpoint differ from those that were committed.
struct Damaged {
  static constexpr std::string_view kType = "damaged";
  std::string path;
  std::string problem;

  static constexpr RecordFields kFields{required("path", &Damaged::path),
                                        required("problem", &Damaged::problem)};
};

// A collective of train.collective; the reply is rank 0's data.
struct Sync {
  static constexpr std::string_view kType = "sync";
  int64_t id = 0;
  int64_t sequence = 0;     // how many collectives the rank has called
  int world_size = 0;       // as the rank knows it
  std::string collective;   // "train.collective.barrier()"
  std::string caller = {};  // "train.lua:12"
  std::string data = {};    // rank 0's data

  static constexpr RecordFields kFields{required("id", &Sync::id),
                                        required("sequence", &Sync::sequence),
                                        required("world_size", &Sync::world_size),
                                        required("collective", &Sync::collective),
                                        optional("caller", &Sync::caller),
                                        optional("data", &Sync::data)};
};

// A question for the script. The thread that called fit() answers it, and the reply is its answer.
struct AskScript {
  static constexpr std::string_view kType = "ask_script";
  int64_t id = 0;
  std::string name;
  Value argument;
  double timeout_s = 0;
  std::string setting;  // the name of the time-out's setting

  static constexpr RecordFields kFields{
      required("id", &AskScript::id), required("name", &AskScript::name),
      required("argument", &AskScript::argument), required("timeout_s", &AskScript::timeout_s),
      required("setting", &AskScript::setting)};
};

// Where the worker's threads are. Answers AskStack.
struct Stack {
  static constexpr std::string_view kType = "stack";
  int64_t id = 0;
  int64_t pid = 0;
  std::string state;             // "busy", "waits in …"
  std::vector<std::string> lua;  // "file:line", the innermost first
  std::vector<loop::ThreadStack> threads;
  std::vector<loop::ThreadStack> program = {};  // of the Python program that the rank runs

  static constexpr RecordFields kFields{
      required("id", &Stack::id),           required("pid", &Stack::pid),
      required("state", &Stack::state),     required("lua", &Stack::lua),
      required("threads", &Stack::threads), optional("program", &Stack::program)};
};

// Answers AskProfile.
struct Profile {
  static constexpr std::string_view kType = "profile";
  int64_t id = 0;
  std::string path = {};
  int64_t events = 0;  // events of a trace; samples of stacks
  double seconds = 0;
  int64_t reports = 0;
  double cost_s = 0;  // processor time of sampling
  double cpu_s = 0;   // processor time of the process meanwhile
  std::string note = {};
  std::string error = {};  // if not empty, there is no profile

  static constexpr RecordFields kFields{
      required("id", &Profile::id),           optional("path", &Profile::path),
      optional("events", &Profile::events),   optional("seconds", &Profile::seconds),
      optional("reports", &Profile::reports), optional("cost_s", &Profile::cost_s),
      optional("cpu_s", &Profile::cpu_s),     optional("note", &Profile::note),
      optional("error", &Profile::error)};
};

// Answers StopPrepare: the rank has made that many calls of stop_requested().
struct StopCalls {
  static constexpr std::string_view kType = "stop_calls";
  int round = 0;
  int64_t calls = 0;

  static constexpr RecordFields kFields{required("round", &StopCalls::round),
                                        required("calls", &StopCalls::calls)};
};

// stop_requested() has returned true, before the report of that index was made.
struct StopSeen {
  static constexpr std::string_view kType = "stop_seen";
  int64_t index = 0;

  static constexpr RecordFields kFields{required("index", &StopSeen::index)};
};

// The rank holds a committed step of train.elastic and goes back to it when others are lost; or it
// no longer holds one. `fixed` says why it cannot continue in a smaller group, or is empty.
struct Healable {
  static constexpr std::string_view kType = "healable";
  bool is = true;
  std::string fixed = {};

  static constexpr RecordFields kFields{required("is", &Healable::is),
                                        optional("fixed", &Healable::fixed)};
};

// What the first node of a job keeps of the small state of another node's rank (train.elastic).
struct RankCopy {
  int place = 0;  // as in WorkerContext
  std::string bytes;

  static constexpr RecordFields kFields{required("place", &RankCopy::place),
                                        required("bytes", &RankCopy::bytes)};
};

// All ranks of the sender's node have reached that step of train.elastic. Its commit waits for the
// ranks of the other nodes. `copies`: of all these ranks at that step, or empty.
struct NodeReady {
  static constexpr std::string_view kType = "node_ready";
  int64_t step = 0;
  std::vector<RankCopy> copies = {};

  static constexpr RecordFields kFields{required("step", &NodeReady::step),
                                        optional("copies", &NodeReady::copies)};
};

// The rank is back at its last commit, because another rank is lost, and waits for `start`.
struct Unwound {
  static constexpr std::string_view kType = "unwound";
  int64_t step = 0;   // the step that it holds; 0: none, so it cannot continue
  int64_t index = 0;  // the number of the first report after that commit
  Error error{Code::kInternal, ""};
  double time_s = 0;  // as in Failed

  static constexpr RecordFields kFields{
      required("step", &Unwound::step), required("index", &Unwound::index),
      required("error", &Unwound::error), required("time", &Unwound::time_s)};
};

// A part of a file that the rank has staged for the checkpoint of report `index`, from a node that
// does not see node 0's disk.
struct PutFile {
  static constexpr std::string_view kType = "put_file";
  int64_t id = 0;
  int64_t index = 0;
  std::string path = {};  // below the rank's folder; empty: that folder itself
  int64_t offset = 0;
  std::string bytes = {};
  bool is_last = false;
  std::optional<std::string> link = {};  // the file is a symlink to that

  static constexpr RecordFields kFields{
      required("id", &PutFile::id),       required("index", &PutFile::index),
      required("path", &PutFile::path),   required("offset", &PutFile::offset),
      required("bytes", &PutFile::bytes), required("is_last", &PutFile::is_last),
      optional("link", &PutFile::link)};
};

// Asks for a part of a committed checkpoint's file; the reply is a string, empty at its end.
struct ReadFile {
  static constexpr std::string_view kType = "read_file";
  int64_t id = 0;
  std::string name;  // of the checkpoint
  std::string path;  // below its folder
  int64_t offset = 0;

  static constexpr RecordFields kFields{
      required("id", &ReadFile::id), required("name", &ReadFile::name),
      required("path", &ReadFile::path), required("offset", &ReadFile::offset)};
};

// The train function has returned.
struct Returned {
  static constexpr std::string_view kType = "returned";
  Value value;

  static constexpr RecordFields kFields{required("value", &Returned::value)};
};

// The train function has raised, or the rank cannot continue.
struct Failed {
  static constexpr std::string_view kType = "failed";
  Error error{Code::kInternal, ""};
  double time_s = 0;   // monotonic clock, the same in all processes of the node
  bool stays = false;  // the process cannot exit: its stacks are saved before it is killed

  static constexpr RecordFields kFields{required("error", &Failed::error),
                                        required("time", &Failed::time_s),
                                        optional("stays", &Failed::stays)};
};

using ToController =
    std::variant<Hello, Phase, Gpus, Signal, Report, Files, Uploaded, Series, SeriesDropped, Logged,
                 LoopProgress, Annotation, Media, NotFinite, Health, Checkpoints, Damaged, Sync,
                 AskScript, StoreSet, StoreGet, StoreAdd, StoreCheck, StoreWait, StoreDelete,
                 StoreNumKeys, StoreCompareSet, Cancel, Stack, Profile, StopCalls, StopSeen,
                 StartIngest, PutFile, ReadFile, Healable, NodeReady, Unwound, Returned, Failed>;

}  // namespace rtrain::message
