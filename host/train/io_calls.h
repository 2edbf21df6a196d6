// host/train/io_calls.h: work on the io thread whose result comes back as a task of the loop.
//
// Belongs to the control thread. Whoever makes a call outlives it.
#pragma once

#include <functional>
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
  struct Seams {
    TaskThread& io;
    Loop& loop;
    RunRecord& record;
    std::function<void(const Error& error)> on_write_error;
  };
  explicit IoCalls(Seams seams) : seams_(std::move(seams)) {}

  // Calls work(record) there, then done(result, error) here; exactly one of the two is there.
  template <class Work, class Done>
  void call(Work work, Done done) {
    using Result = std::invoke_result_t<Work, RunRecord&>;
    seams_.io.post([this, work = std::move(work), done = std::move(done)] {
      std::optional<Result> result;
      std::optional<Error> error;
      try {
        result = work(seams_.record);
      } catch (const Error& e) {
        error = e;
      } catch (const std::exception& e) {
        error = Error(Code::kInternal, e.what());
      }
      seams_.loop.post([done, result = std::move(result), error = std::move(error)]() mutable {
        done(std::move(result), std::move(error));
      });
    });
  }

  // The same for work without a result, whose error goes to on_write_error.
  template <class Work>
  void write(Work work) {
    call(
        [work = std::move(work)](RunRecord& record) {
          work(record);
          return true;
        },
        [this](const auto&, const std::optional<Error>& error) {
          if (error) seams_.on_write_error(*error);
        });
  }

 private:
  Seams seams_;
};

}  // namespace rtrain
