// host/train/io_calls.h: work on the io thread whose result comes back as a task of the loop.
//
// Belongs to the control thread. Whoever makes a call outlives it.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "host/base/error.h"
#include "host/loop/loop.h"
#include "host/loop/task_thread.h"
#include "host/train/run_record.h"

namespace rtrain {

class IoCalls {
 public:
  IoCalls(TaskThread& io, Loop& loop, RunRecord& record) : io_(io), loop_(loop), record_(record) {}

  // Calls work(record) there, then done(result, error) here; exactly one of the two is there.
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
        error = Error(Code::kInternal, e.what());
      }
      loop_.post([done, result = std::move(result), error = std::move(error)]() mutable {
        done(std::move(result), std::move(error));
      });
    });
  }

 private:
  TaskThread& io_;
  Loop& loop_;
  RunRecord& record_;
};

}  // namespace rtrain
