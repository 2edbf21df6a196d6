// host/worker/reporter.h: train.report() in a worker: it sends metrics at once, and checkpoints
// through the upload thread.
//
// A report is one message. The kernel has it before the call returns; in a run on several nodes it
// is on this node's disk too (host/store/runs/report_spool.h). The upload thread stages the files
// of its checkpoint and then sends a message. One upload runs at a time: the next checkpoint waits
// for it. Threads: the main thread calls report(), begin_upload(), end_upload() and finish(), the
// control thread on_…().
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/base/value.h"
#include "host/loop/channel/channel.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/store/runs/report_spool.h"
#include "host/worker/commit_client.h"
#include "host/worker/progress.h"
#include "host/worker/report/idle.h"
#include "host/worker/report/pending_writes.h"
#include "host/worker/report/uploader.h"
#include "host/worker/report_backlog.h"

namespace rtrain::worker {

enum class UploadMode {
  kSync,      // copies the files; report() returns when the checkpoint is committed
  kAsync,     // copies the files; report() returns at once
  kNoUpload,  // moves the files, which are inside the run's folder; else as kSync
};

}  // namespace rtrain::worker

template <>
inline constexpr std::array<std::string_view, 3> rtrain::kNamesOf<rtrain::worker::UploadMode>{
    "SYNC", "ASYNC", "NO_UPLOAD"};

namespace rtrain::worker {

struct ReportOptions {
  static constexpr std::string_view kClass = "ReportOptions";
  std::optional<std::string> checkpoint;  // a folder
  bool temporary = false;                 // of train.tempdir: the upload may move it
  UploadMode mode = UploadMode::kSync;
  bool delete_source = false;  // after the commit
  std::string directory_name;  // of the checkpoint; empty: the default
  std::optional<ValidationRequest> validation;
  bool is_for_all = false;  // it counts as a report of every rank; without a checkpoint
  std::string call_site;    // "train.lua:12"; not a field of the Lua table

  static constexpr RecordFields kFields{
      optional("checkpoint", &ReportOptions::checkpoint),
      required("temporary", &ReportOptions::temporary),
      required("checkpoint_upload_mode", &ReportOptions::mode),
      required("delete_local_checkpoint_after_upload", &ReportOptions::delete_source),
      required("checkpoint_dir_name", &ReportOptions::directory_name),
      optional("validation", &ReportOptions::validation),
      required("is_for_all", &ReportOptions::is_for_all)};
};

class Reporter {
 public:
  // `writes`: the files that threads of this worker may still be writing into a reported folder.
  // `commits`: of train.elastic.
  Reporter(loop::Channel& channel, const loop::WorkerContext& context, PendingWrites& writes,
           const Idle& idle, Progress& progress, const CommitClient& commits)
      : channel_(channel),
        context_(context),
        writes_(writes),
        idle_(idle),
        progress_(progress),
        commits_(commits),
        backlog_(idle, progress) {}

  // Sends a report. With a checkpoint that is not asynchronous it waits for the commit and returns
  // the committed path. Else it returns nullopt at once, unless this rank is far ahead of the
  // others or an upload is still running. Throws kArgument, kCheckpoint, kEnvironment, kTimeout,
  // and kUser when another rank has already returned.
  std::optional<std::string> report(Value metrics, const ReportOptions& options);

  // A report in two steps, before and after the user's checkpoint_upload_fn. begin_upload returns
  // the agreed name of the checkpoint. end_upload gets the folder that the function returned,
  // inside the run's folder; fail_upload gets its error.
  std::string begin_upload(Value metrics, const ReportOptions& options);
  std::optional<std::string> end_upload(const std::string& folder, bool temporary);
  void fail_upload(const Error& error);

  // The last committed checkpoint that this rank attached.
  std::optional<std::string> last_checkpoint() const;
  // Waits until the checkpoints of all uploads are committed.
  void finish();
  int64_t num_reports() const { return made_; }

  // The messages of the controller about reports.
  void on_acknowledged(const message::Acknowledged& acknowledged);
  void on_named(const message::Named& named);
  void on_seal(const message::Seal& seal);
  void on_reported(const message::Reported& reported);
  // Ends every wait with kPeerLost.
  void close();
  // Other ranks are lost: ends every wait for them. A wait throws kPeerLost; where this rank must
  // still commit a step of train.elastic, it returns without a checkpoint.
  void interrupt();
  // Waits for the upload that is running; later ones are not staged. Call it after close().
  void end_uploads() { uploader_.finish(); }

 private:
  // A checkpoint of this rank that is not registered yet.
  struct Attached {
    std::string folder;  // the staged files
    bool moves = false;  // the files are moved, not copied
    std::string source;  // a folder to delete after the commit, or empty
    std::string call_site;
    bool is_async = false;
    bool is_awaited = true;  // the call that made it has not returned
    bool uploaded = false;   // this rank has done its part
    bool answered = false;
    std::optional<std::string> name;
    std::optional<std::string> path;
    std::optional<Error> error;
  };

  bool is_cut_off() const;
  int64_t send_report(const ReportOptions& options, Report report);
  void flush(int64_t index);
  void spool(int64_t index, std::string_view report);
  void check_options(const ReportOptions& options) const;
  void attach(int64_t index, const ReportOptions& options);
  void deliver(int64_t index, const std::string& folder, bool temporary);
  // Waits until done() or the deadline, which moves while checkpoints are copied. Returns false at
  // the deadline.
  bool wait_while_saving(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);
  void wait_for_uploads(bool until_committed);
  std::string wait_for_name(int64_t index);
  std::optional<std::string> wait_unless_async(int64_t index);
  std::optional<std::string> wait_for_answer(int64_t index);
  void stage(int64_t index);
  void wait_for_writes(const std::string& folder);
  void send_staged(int64_t index, const std::string& folder, bool moves);
  void set_upload_failed(int64_t index, const Error& error);
  void set_answer(int64_t index, const std::optional<std::string>& path,
                  const std::optional<Error>& error);
  void fail_async(int64_t index, const std::string& call_site, const Error& error);
  void send(message::ToController message);
  std::chrono::milliseconds user_timeout() const;

  loop::Channel& channel_;
  const loop::WorkerContext& context_;
  PendingWrites& writes_;
  const Idle& idle_;
  Progress& progress_;
  const CommitClient& commits_;
  int64_t made_ = 0;  // reports of this attempt; main thread only
  std::string last_site_;
  ReportBacklog backlog_;
  bool spool_fails_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  bool interrupted_ = false;
  std::map<int64_t, Attached> attached_;
  std::optional<Error> failure_;  // of an asynchronous upload
  std::optional<std::string> last_checkpoint_;
  std::unique_ptr<store::ReportSpool> spool_;  // in a run on several nodes, from the first report
  Uploader uploader_;                          // last: its tasks use the others
};

}  // namespace rtrain::worker
