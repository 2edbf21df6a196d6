// host/worker/reporter.h: report() as a worker makes it: metrics at once, checkpoints by the upload
// thread.
//
// A report is one message, in the kernel's hands before the call returns; in a run on several nodes
// on this node's disk too (host/store/runs/report_spool.h). What it brings follows: the upload
// thread stages the files and says so. report(), begin_upload(), end_upload() and finish() belong
// to the main thread, on_…() to the control thread. One checkpoint at a time is on its way: the
// next one waits for the upload of the one before.
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
  kSync,      // copied; report() returns when the checkpoint is committed
  kAsync,     // copied; report() returns at once
  kNoUpload,  // it lies inside the run's folder and is taken from there; else as kSync
};

}  // namespace rtrain::worker

template <>
inline constexpr std::array<std::string_view, 3> rtrain::kNamesOf<rtrain::worker::UploadMode>{
    "SYNC", "ASYNC", "NO_UPLOAD"};

namespace rtrain::worker {

struct ReportOptions {
  static constexpr std::string_view kClass = "ReportOptions";
  std::optional<std::string> checkpoint;  // a folder
  bool temporary = false;                 // of train.tempdir: it is the upload's from now on
  UploadMode mode = UploadMode::kSync;
  bool delete_source = false;  // once it is staged
  std::string directory_name;  // or empty
  std::optional<Value> validation;
  bool is_for_all = false;  // every rank has made it with this one; without a checkpoint
  std::string call_site;    // "train.lua:12"; not of the table of Lua

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
  // `writes`: what threads of this worker may still be writing into a folder that is reported.
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

  // With a checkpoint that is not asynchronous it returns when that is committed, else at once
  // (unless this rank is far ahead of the others, or an upload is still running). Returns the
  // committed path. Throws kArgument, kCheckpoint, kEnvironment, kTimeout, or kUser when another
  // rank has already returned.
  std::optional<std::string> report(Value metrics, const ReportOptions& options);

  // The same in two steps, around a function of the user's that uploads. begin_upload gives the
  // folder's agreed name; end_upload takes what the function returned, a folder inside the run's,
  // or why it failed.
  std::string begin_upload(Value metrics, const ReportOptions& options);
  std::optional<std::string> end_upload(const std::string& folder, bool temporary);
  void fail_upload(const Error& error);

  // The last committed checkpoint that this rank attached.
  std::optional<std::string> last_checkpoint() const;
  // Waits for the uploads that are under way, until their checkpoints are committed.
  void finish();
  int64_t num_reports() const { return made_; }

  // The messages of the controller about reports.
  void on_acknowledged(const message::Acknowledged& acknowledged);
  void on_named(const message::Named& named);
  void on_seal(const message::Seal& seal);
  void on_reported(const message::Reported& reported);
  // Ends every wait with kPeerLost.
  void close();
  // Other ranks are lost: no wait for them ends in any other way. One throws kPeerLost, unless this
  // rank is on its way to a commit: then it returns without a checkpoint.
  void interrupt();
  // Waits for the upload that is under way; what waited behind it is not staged. After close().
  void end_uploads() { uploader_.finish(); }

 private:
  // A checkpoint of this rank that is not registered yet.
  struct Attached {
    std::string folder;  // the staged files
    bool moves = false;  // rather than copied
    std::string source;  // what is deleted when it is committed, or empty
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
  // For the deadline, which begins again as long as checkpoints are moving; false when it has
  // passed.
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
