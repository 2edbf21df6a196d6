// host/train/record/io_calls.h: runs work on the io thread and passes its result to a task on the
// loop.
//
// Belongs to the control thread. The caller must outlive its calls.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "host/base/error.h"
#include "host/loop/loop.h"
#include "host/loop/task_thread.h"
#include "host/train/record/run_record.h"

namespace rtrain::train {

class IoCalls {
 public:
  using OnWriteError = std::function<void(const Error& error)>;

  IoCalls(loop::TaskThread& io, loop::Loop& loop, RunRecord& record, OnWriteError on_write_error)
      : io_(io), loop_(loop), record_(record), on_write_error_(std::move(on_write_error)) {}

  // Calls work(record) on the io thread, then done(result, error) here; exactly one of the two is
  // set.
  template <class Work, class Done>
  void call(Work work, Done done) {
    using Result = std::invoke_result_t<Work, RunRecord&>;
    io_.post([this, work = std::move(work), done = std::move(done)] {
      std::optional<Result> result;
      std::optional<Error> error;
      try {
        result = work(record_);
      } catch (const Error& e) {
        error = e;
      } catch (const std::exception& e) {
        error = error_of(e);
      }
      loop_.post([done, result = std::move(result), error = std::move(error)]() mutable {
        done(std::move(result), std::move(error));
      });
    });
  }

  // The same for work without a result; its error is passed to on_write_error.
  template <class Work>
  void write(Work work) {
    call(
        [work = std::move(work)](RunRecord& record) {
          work(record);
          return true;
        },
        [this](const auto&, const std::optional<Error>& error) {
          if (error) fail(*error);
        });
  }

  // Handles an error of a call() like an error of write().
  void fail(const Error& error) { on_write_error_(error); }

 private:
  loop::TaskThread& io_;
  loop::Loop& loop_;
  RunRecord& record_;
  OnWriteError on_write_error_;
};

}  // namespace rtrain::train
