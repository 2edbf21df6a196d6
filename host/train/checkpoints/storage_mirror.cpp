#include "host/train/checkpoints/storage_mirror.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

std::string failed_key(const store::CheckpointRow& checkpoint, bool is_put) {
  return cat(is_put ? "put " : "delete ", checkpoint.name, " ", checkpoint.attempt);
}

}  // namespace

ScriptQuestion StorageMirror::question(std::string_view function,
                                       const store::CheckpointRow& checkpoint,
                                       const std::string& path) const {
  return {.name = cat("storage_filesystem.", function),
          .argument = Map{{"path", path},
                          {"remote", cat(run_.spec.name, "/checkpoints/", checkpoint.name)}},
          .timeout = to_ms(run_.spec.timeout_s),
          .setting = "TorchConfig.timeout_s"};
}

void StorageMirror::sync() {
  if (!run_.spec.mirrors || is_cancelled_) return;
  look_again_ = true;
  if (!busy_) look();
}

void StorageMirror::finish(std::function<void()> done) {
  if (!run_.spec.mirrors || is_cancelled_) return done();
  failed_.clear();
  done_ = std::move(done);
  sync();
}

void StorageMirror::cancel() {
  is_cancelled_ = true;
  copies_.clear();
  if (done_) std::exchange(done_, nullptr)();
}

// Asks the store for the remaining work.
void StorageMirror::look() {
  busy_ = true;
  look_again_ = false;
  struct Left {
    std::vector<store::CheckpointRow> puts;
    std::vector<store::CheckpointRow> deletes;
  };
  run_.io.call(
      [](RunRecord& record) {
        return Left{record.checkpoints().unmirrored(), record.checkpoints().mirrored_leftovers()};
      },
      [this](std::optional<Left> left, const std::optional<Error>& error) {
        if (!left) run_.events.notice("warning", cat("storage_filesystem: ", error->message()));
        const auto add = [this](const std::vector<store::CheckpointRow>& list, bool is_put) {
          for (const store::CheckpointRow& each : list) {
            if (!failed_.contains(failed_key(each, is_put))) copies_.push_back({each, is_put});
          }
        };
        if (left) add(left->puts, true);
        if (left) add(left->deletes, false);
        start_next();
      });
}

void StorageMirror::start_next() {
  if (!copies_.empty() && !is_cancelled_) {
    const Copy copy = std::move(copies_.front());
    copies_.pop_front();
    return start(copy);
  }
  if (look_again_ && !is_cancelled_) return look();
  busy_ = false;
  if (done_) std::exchange(done_, nullptr)();
}

void StorageMirror::start(const Copy& copy) {
  const store::CheckpointRow& checkpoint = copy.checkpoint;
  try {
    run_.calls.ask(run_.loop, question(copy.is_put ? "put" : "delete", checkpoint, checkpoint.path),
                   [this, copy](const std::optional<Value>& value,
                                const std::optional<Error>& error) { ended(copy, value, error); });
  } catch (const Error&) {
    // The run was closed, so no answer arrives any more. A later controller continues.
    copies_.clear();
    look_again_ = false;
    start_next();
  }
}

void StorageMirror::ended(const Copy& copy, const std::optional<Value>& value,
                          const std::optional<Error>& error) {
  const store::CheckpointRow& checkpoint = copy.checkpoint;
  if (error) {
    failed_.insert(failed_key(checkpoint, copy.is_put));
    run_.events.notice("warning", cat("storage_filesystem.", copy.is_put ? "put" : "delete",
                                      " of the checkpoint ", checkpoint.name, " failed",
                                      done_ ? ": " : ", it is tried again at the end of the run: ",
                                      error->message()));
    return start_next();
  }
  // False means that the run has dropped the checkpoint before it was copied.
  if (!value->is_bool() || !value->as_bool()) return start_next();
  run_.io.call(
      [copy](RunRecord& record) {
        record.checkpoints().rows().set_mirrored(copy.checkpoint.name, copy.checkpoint.attempt,
                                                 copy.is_put);
        return true;
      },
      [this, copy](const auto&, const std::optional<Error>& failure) {
        if (failure) {
          failed_.insert(failed_key(copy.checkpoint, copy.is_put));
          run_.events.notice("warning", cat("storage_filesystem: ", failure->message()));
        }
        // The checkpoint may have been dropped while it was copied.
        look_again_ = true;
        start_next();
      });
}

void StorageMirror::fetch(const store::CheckpointRow& wanted, std::function<void()> done) {
  run_.io.call([](RunRecord& record) { return record.checkpoints().make_fetch_folder(); },
               [this, wanted, done](const std::optional<std::string>& folder,
                                    const std::optional<Error>& error) {
                 if (!folder) return give_up(wanted, error->message(), done);
                 ask_for(wanted, *folder, done);
               });
}

void StorageMirror::ask_for(const store::CheckpointRow& wanted, const std::string& folder,
                            std::function<void()> done) {
  try {
    run_.calls.ask(run_.loop, question("get", wanted, folder),
                   [this, wanted, folder, done](const std::optional<Value>&,
                                                const std::optional<Error>& error) {
                     if (error) return give_up(wanted, error->message(), done);
                     restore(wanted, folder, done);
                   });
  } catch (const Error& e) {
    give_up(wanted, e.message(), done);
  }
}

void StorageMirror::restore(const store::CheckpointRow& wanted, const std::string& folder,
                            std::function<void()> done) {
  run_.io.call(
      [wanted, folder](RunRecord& record) {
        record.checkpoints().restore(wanted, folder);
        return true;
      },
      [this, wanted, done](const auto&, const std::optional<Error>& error) {
        if (error) return give_up(wanted, error->message(), done);
        run_.events.notice("info", cat("the checkpoint ", wanted.name,
                                       " was brought back by storage_filesystem.get"));
        done();
      });
}

void StorageMirror::give_up(const store::CheckpointRow& wanted, const std::string& problem,
                            std::function<void()> done) {
  run_.events.notice("warning", cat("the checkpoint ", wanted.name,
                                    " is missing, and storage_filesystem.get failed: ", problem));
  run_.io.call(
      [wanted, problem](RunRecord& record) {
        record.checkpoints().give_up(wanted, problem);
        return true;
      },
      [this, done](const auto&, const std::optional<Error>& error) {
        if (error) run_.events.notice("warning", error->message());
        done();
      });
}

}  // namespace rtrain::train
