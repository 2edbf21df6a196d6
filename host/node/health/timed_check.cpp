#include "host/node/health/timed_check.h"

#include <pthread.h>

#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"

namespace rtrain::node {

struct TimedCheck::Shared {
  std::mutex mutex;
  loop::Loop* loop;  // null once no caller waits, when the loop may be destroyed
  Done done;         // used only on the loop's thread
  double begun_s = monotonic_s();
};

TimedCheck::TimedCheck(loop::Loop& loop, Work work, std::chrono::milliseconds timeout, Done done)
    : shared_(std::make_shared<Shared>()), deadline_(loop, [shared = shared_, timeout] {
        const double limit_s = std::chrono::duration<double>(timeout).count();
        finish(shared, {.problem = cat("no answer within ", limit_s, " s"), .is_over = false});
      }) {
  shared_->loop = &loop;
  shared_->done = std::move(done);
  deadline_.start(timeout);
  std::thread([shared = shared_, work = std::move(work)] {
    pthread_setname_np(pthread_self(), "rtrain-check");
    run(shared, work);
  }).detach();
}

TimedCheck::~TimedCheck() {
  const std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
}

void TimedCheck::run(const std::shared_ptr<Shared>& shared, const Work& work) {
  std::string problem;
  try {
    problem = work();
  } catch (const std::exception& e) {
    problem = e.what();
  }
  const std::lock_guard lock(shared->mutex);
  if (shared->loop == nullptr) return;
  shared->loop->post(
      [shared, problem = std::move(problem)] { finish(shared, {.problem = problem}); });
}

void TimedCheck::finish(std::shared_ptr<Shared> shared, CheckOutcome outcome) {
  {
    const std::lock_guard lock(shared->mutex);
    if (std::exchange(shared->loop, nullptr) == nullptr) return;
  }
  outcome.seconds = monotonic_s() - shared->begun_s;
  const Done done = std::move(shared->done);
  done(outcome);
}

}  // namespace rtrain::node
