#include "host/worker/reporter.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"
#include "host/worker/report/checkpoint_source.h"
#include "host/worker/report/controller_lost.h"
#include "host/worker/report/replies.h"
#include "host/worker/report/worker_patience.h"

namespace rtrain::worker {
namespace {

constexpr size_t kFilesAMessage = 2000;

size_t checked_size(const Value& metrics) {
  const size_t size = encode(metrics).size();
  if (size <= store::kMaxMetricsBytes) return size;
  throw Error(Code::kArgument, cat("report(): the metrics have ", size, " bytes, the limit is ",
                                   store::kMaxMetricsBytes, ": put large data into a checkpoint"));
}

// An empty name is refused: no query could ask for such a metric.
void check_names(const Value& metrics, std::string_view path) {
  if (!metrics.is_map()) return;
  for (const auto& [key, value] : metrics.as_map()) {
    const std::string* name = std::get_if<std::string>(&key);
    if (name != nullptr && name->empty()) {
      throw Error(Code::kArgument,
                  cat("report: an empty string is the name of a metric", path.empty() ? "" : " in ",
                      path, ": give it a name, such as {loss = 0.5}"));
    }
    if (!value.is_map()) continue;
    check_names(value, cat(path.empty() ? "metrics" : path, ".",
                           name != nullptr ? *name : cat(std::get<int64_t>(key))));
  }
}

// A folder that is already inside the run's folder keeps its name.
std::string own_name(const std::string& folder) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  store::CheckpointFiles::check_name(name);
  return name;
}

Error peer_lost() { return Error(Code::kPeerLost, "report(): another rank is lost"); }

void remove_source(const std::string& folder) {
  if (folder.empty() || store::remove_tree(folder)) return;
  std::fprintf(stderr, "rtrain: cannot delete the checkpoint's folder %s after its upload\n",
               folder.c_str());
}

}  // namespace

void Reporter::close() {
  backlog_.close();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Reporter::interrupt() {
  backlog_.open();
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

// Whether a report goes without its checkpoint: others are lost, but its step is still committed.
bool Reporter::is_cut_off() const {
  const std::lock_guard lock(mutex_);
  return interrupted_ && commits_.is_between();
}

std::optional<std::string> Reporter::report(Value metrics, const ReportOptions& options) {
  if (!options.checkpoint) {
    send_report(options, {.metrics = std::move(metrics)});
    return std::nullopt;
  }
  if (is_cut_off()) {
    ReportOptions plain = options;
    plain.checkpoint.reset();
    send_report(plain, {.metrics = std::move(metrics),
                        .upload = Upload::kRunning});  // of files that will not come
    return std::nullopt;
  }
  check_options(options);
  check_is_folder(*options.checkpoint);
  ReportOptions taken = options;
  Report report{.metrics = std::move(metrics), .upload = Upload::kRunning};
  if (options.mode == UploadMode::kNoUpload) {
    taken.delete_source = false;
    taken.checkpoint = folder_inside_run(*options.checkpoint, context_.run_path,
                                         "report: with NO_UPLOAD, a checkpoint that");
    wait_for_writes(*taken.checkpoint);
    if (taken.directory_name.empty()) taken.directory_name = own_name(*taken.checkpoint);
    report.upload = Upload::kInFolder;
    report.folder = *taken.checkpoint;
  }
  wait_for_uploads(false);
  const int64_t index = send_report(taken, std::move(report));
  if (options.mode != UploadMode::kNoUpload) uploader_.post([this, index] { stage(index); });
  return wait_unless_async(index);
}

std::string Reporter::begin_upload(Value metrics, const ReportOptions& options) {
  check_options(options);
  wait_for_uploads(false);
  const bool asks = context_.world_rank != 0;
  const int64_t index = send_report(
      options, {.metrics = std::move(metrics), .upload = Upload::kRunning, .asks_name = asks});
  const std::string name = asks ? wait_for_name(index) : options.directory_name;
  return name.empty() ? store::CheckpointFiles::default_name(index) : name;
}

std::optional<std::string> Reporter::end_upload(const std::string& folder, bool temporary) {
  const int64_t index = context_.first_index + made_ - 1;
  try {
    deliver(index, folder, temporary);
  } catch (const Error& e) {
    fail_upload(e);
    throw;
  }
  return wait_unless_async(index);
}

void Reporter::deliver(int64_t index, const std::string& folder, bool temporary) {
  std::string taken = folder;
  if (!temporary) {
    taken = folder_inside_run(folder, context_.run_path,
                              "report: checkpoint_upload_fn returned a checkpoint that");
    wait_for_writes(taken);
  }
  {
    const std::lock_guard lock(mutex_);
    Attached& attached = attached_.at(index);
    attached.folder = taken;
    attached.moves = true;
    attached.uploaded = !temporary;
  }
  if (temporary) return uploader_.post([this, index] { stage(index); });
  send(message::Uploaded{.index = index, .folder = taken});
}

void Reporter::fail_upload(const Error& error) {
  const int64_t index = context_.first_index + made_ - 1;
  {
    const std::lock_guard lock(mutex_);
    if (attached_.erase(index) == 0) return;
  }
  channel_.send(to_value(message::Uploaded{.index = index, .error = error}));
}

void Reporter::check_options(const ReportOptions& options) const {
  if (!options.directory_name.empty()) store::CheckpointFiles::check_name(options.directory_name);
  if (options.delete_source && options.mode != UploadMode::kNoUpload) {
    check_deletable(*options.checkpoint, context_.run_path);
  }
}

// From here on the report has its number and awaits its answer, even if its upload fails.
int64_t Reporter::send_report(const ReportOptions& options, Report report) {
  check_names(report.metrics, "");
  const size_t bytes = checked_size(report.metrics);
  const int64_t index = context_.first_index + made_;
  backlog_.add(bytes, index, context_.timeout_s);
  report.index = index;
  report.time_ms = now_ms();
  report.directory_name = options.directory_name;
  report.is_for_all = options.is_for_all;
  report.validation = options.validation;
  if (options.call_site != last_site_) report.call_site = last_site_ = options.call_site;
  report.asks_progress = backlog_.should_ask(bytes);
  if (options.checkpoint) attach(index, options);
  const std::string message = encode(to_value(std::move(report)));
  spool(index, message);
  if (!channel_.loop::FrameChannel::send(message)) throw controller_lost();
  ++made_;
  progress_.count_report();
  flush(index);
  fault_point("worker.reported");
  return index;
}

// An error of the disk does not end the run: the report is sent to the controller as well.
void Reporter::spool(int64_t index, std::string_view report) {
  if (context_.address.empty()) return;
  try {
    if (!spool_) {
      auto spool = std::make_unique<store::ReportSpool>(store::spool_folder(context_.run_id),
                                                        context_.attempt, context_.world_rank);
      const std::lock_guard lock(mutex_);
      spool_ = std::move(spool);
    }
    spool_->add(index, report);
    spool_fails_ = false;
  } catch (const Error& e) {
    if (std::exchange(spool_fails_, true)) return;
    std::fprintf(stderr, "rtrain: reports do not outlive this node's agent for now: %s\n",
                 e.what());
  }
}

// The kernel has the message before report() returns, so the report outlives this process.
void Reporter::flush(int64_t index) {
  if (channel_.flush(std::chrono::milliseconds(0)) == loop::Channel::Flushed::kAll) return;
  const WaitScope waits(progress_, WaitKind::kReport, "report()");
  const loop::Channel::Flushed flushed = channel_.flush(user_timeout());
  if (flushed == loop::Channel::Flushed::kClosed) throw controller_lost();
  if (flushed == loop::Channel::Flushed::kLate) {
    throw controller_silent(cat("report() number ", index), context_.timeout_s);
  }
}

void Reporter::attach(int64_t index, const ReportOptions& options) {
  Attached attached;
  attached.is_async = options.mode == UploadMode::kAsync;
  attached.folder = *options.checkpoint;
  attached.moves = options.temporary || options.mode == UploadMode::kNoUpload;
  attached.uploaded = options.mode == UploadMode::kNoUpload;  // until it is to stage the files
  if (options.delete_source && !options.temporary) attached.source = *options.checkpoint;
  attached.call_site = options.call_site;
  const std::lock_guard lock(mutex_);
  attached_[index] = std::move(attached);
}

// The controller's deadline is earlier by the grace; its error names the late ranks.
bool Reporter::wait_while_saving(std::unique_lock<std::mutex>& lock,
                                 const std::function<bool()>& done) {
  const SavingScope saving(progress_);
  uint64_t moved = 0;
  do {
    moved = progress_.copied_bytes();
    if (idle_.wait_for(changed_, lock, user_timeout() + kAnswerGrace, done)) return true;
  } while (progress_.copied_bytes() != moved);
  return false;
}

// One upload runs at a time, which limits the memory and the disk that uploads use.
void Reporter::wait_for_uploads(bool until_committed) {
  std::unique_lock lock(mutex_);
  const auto is_done = [&] {
    return closed_ || interrupted_ || failure_ ||
           std::all_of(attached_.begin(), attached_.end(), [&](const auto& entry) {
             return entry.second.uploaded && !until_committed;
           });
  };
  const WaitScope waits(progress_, WaitKind::kBounded, "upload of a checkpoint");
  const bool done = wait_while_saving(lock, is_done);
  if (failure_) throw Error(*failure_);
  if (closed_) throw controller_lost();
  if (interrupted_ && !commits_.is_between()) throw peer_lost();
  if (done) return;
  throw Error(Code::kTimeout,
              cat("rank ", context_.world_rank, ": the upload of report ", attached_.begin()->first,
                  "'s checkpoint (checkpoint_upload_mode ASYNC) is still ", "running after ",
                  context_.timeout_s, " s (timeout_s)"));
}

std::string Reporter::wait_for_name(int64_t index) {
  std::unique_lock lock(mutex_);
  Attached& attached = attached_.at(index);
  const WaitScope waits(progress_, WaitKind::kReport, "report()");
  const bool done = idle_.wait_for(changed_, lock, user_timeout() + kAnswerGrace, [&] {
    return closed_ || interrupted_ || attached.name || attached.answered;
  });
  if (attached.name) return *attached.name;
  const Error error = attached.error ? *attached.error
                      : interrupted_ ? peer_lost()
                      : done
                          ? controller_lost()
                          : Error(Code::kTimeout, cat("report() number ", index,
                                                      ": rank 0 has not made this report within ",
                                                      context_.timeout_s, " s (timeout_s)"));
  attached_.erase(index);
  throw Error(error);
}

std::optional<std::string> Reporter::wait_unless_async(int64_t index) {
  {
    const std::lock_guard lock(mutex_);
    Attached& attached = attached_.at(index);
    if (attached.is_async && !attached.answered) {
      attached.is_awaited = false;
      return std::nullopt;
    }
  }
  return wait_for_answer(index);
}

std::optional<std::string> Reporter::wait_for_answer(int64_t index) {
  std::unique_lock lock(mutex_);
  Attached& attached = attached_.at(index);
  const auto answered = [&] { return closed_ || interrupted_ || attached.answered; };
  bool done = true;
  while (done && !answered()) {
    {
      const WaitScope waits(progress_, WaitKind::kBounded, "upload of a checkpoint");
      done = wait_while_saving(lock, [&] { return answered() || attached.uploaded; });
    }
    if (!done) break;
    // This rank waits for the others: its own part is done, or has not begun.
    const WaitScope waits(progress_, WaitKind::kReport, "report()");
    done = wait_while_saving(lock, [&] { return answered() || !attached.uploaded; });
  }
  const Attached result = std::move(attached);
  attached_.erase(index);
  const bool is_closed = closed_;
  lock.unlock();
  if (result.error) throw Error(*result.error);
  if (!done) {
    throw controller_silent(cat("report() number ", index), context_.timeout_s);
  }
  if (result.answered) return result.path;
  if (is_closed) throw controller_lost();
  if (!commits_.is_between()) throw peer_lost();
  return std::nullopt;
}

// Thread: upload.
void Reporter::stage(int64_t index) {
  std::string folder;
  bool moves = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = attached_.find(index);
    if (found == attached_.end() || closed_ || interrupted_) return;
    folder = found->second.folder;
    moves = found->second.moves;
  }
  try {
    send_staged(index, folder, moves);
  } catch (const std::exception& e) {
    set_upload_failed(index, error_of(e));
  }
}

void Reporter::wait_for_writes(const std::string& folder) {
  const WaitScope waits(progress_, WaitKind::kBounded, "upload of a checkpoint");
  writes_.wait_for(folder, user_timeout());
}

void Reporter::send_staged(int64_t index, const std::string& folder, bool moves) {
  wait_for_writes(folder);
  const store::CheckpointFiles files(context_.run_path, worker_patience());
  const store::StageKey key{context_.attempt, context_.nonce, index};
  const auto count = [this](uint64_t bytes) { progress_.add_bytes(bytes); };
  StagedRank staged = files.stage(key, context_.world_rank, folder, moves, count);
  const std::vector<CheckpointFile> list = std::exchange(staged.files, {});
  // Sends the list in parts: that of a folder with many files may be longer than a frame.
  for (std::span<const CheckpointFile> left(list); !left.empty();) {
    const auto part = left.first(std::min(left.size(), kFilesAMessage));
    send(message::Files{.index = index, .files = {part.begin(), part.end()}});
    left = left.subspan(part.size());
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = attached_.find(index); found != attached_.end()) {
      found->second.uploaded = true;
    }
  }
  send(message::Uploaded{.index = index, .checkpoint = std::move(staged)});
  changed_.notify_all();
}

// Sets this rank's own error before the message to the controller. The controller's answer to all
// ranks then comes too late to replace it.
void Reporter::set_upload_failed(int64_t index, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    set_answer(index, std::nullopt, error);
  }
  channel_.send(to_value(message::Uploaded{.index = index, .error = error}));
}

void Reporter::on_acknowledged(const message::Acknowledged& acknowledged) {
  backlog_.take(acknowledged.count - context_.first_index);
  const std::lock_guard lock(mutex_);
  if (spool_) spool_->acknowledge(acknowledged.count);
}

void Reporter::on_named(const message::Named& named) {
  const std::lock_guard lock(mutex_);
  const auto found = attached_.find(named.index);
  if (found != attached_.end()) found->second.name = named.name;
  changed_.notify_all();
}

void Reporter::on_seal(const message::Seal& seal) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = attached_.find(seal.index);
    if (found != attached_.end()) found->second.uploaded = false;
    changed_.notify_all();
  }
  uploader_.post([this, index = seal.index] { stage(index); });
}

void Reporter::on_reported(const message::Reported& reported) {
  const auto& [index, path, error] = reported;
  std::unique_lock lock(mutex_);
  const auto found = attached_.find(index);
  if (found == attached_.end()) return;
  const Attached& attached = found->second;
  if (error) return set_answer(index, std::nullopt, error);
  last_checkpoint_ = path;
  if (attached.source.empty()) return set_answer(index, path, std::nullopt);
  // Not on the control thread: deleting a large folder takes long.
  uploader_.post([this, reported, source = attached.source] {
    remove_source(source);
    const std::lock_guard relock(mutex_);
    set_answer(reported.index, reported.path, std::nullopt);
  });
}

// Ends an upload: gives the answer to the call that waits for it, if any. The lock is held.
void Reporter::set_answer(int64_t index, const std::optional<std::string>& path,
                          const std::optional<Error>& error) {
  const auto found = attached_.find(index);
  if (found == attached_.end() || found->second.answered) return;
  Attached& attached = found->second;
  attached.path = path;
  attached.error = error;
  attached.answered = true;
  if (!attached.is_awaited) {
    if (error) fail_async(index, attached.call_site, *error);
    attached_.erase(found);
  }
  changed_.notify_all();
}

// An asynchronous upload has failed. No call waits for it, so the error ends this rank.
void Reporter::fail_async(int64_t index, const std::string& call_site, const Error& error) {
  const std::string where = call_site.empty() ? "" : call_site + ": ";
  const Error named(error.code(),
                    cat(where, "the upload of report ", index,
                        "'s checkpoint (checkpoint_upload_mode ASYNC): ", error.message()));
  if (error.code() == Code::kPeerLost) {
    std::fprintf(stderr, "rtrain: %s\n", named.what());
    return;
  }
  failure_ = named;
  channel_.send(to_value(message::Failed{.error = named, .time_s = monotonic_s()}));
}

std::optional<std::string> Reporter::last_checkpoint() const {
  const std::lock_guard lock(mutex_);
  return last_checkpoint_;
}

void Reporter::finish() { wait_for_uploads(true); }

void Reporter::send(message::ToController message) {
  if (!channel_.send(to_value(std::move(message)))) throw controller_lost();
}

std::chrono::milliseconds Reporter::user_timeout() const { return to_ms(context_.timeout_s); }

}  // namespace rtrain::worker
