#include "host/train/run/script_calls.h"

#include <future>
#include <utility>

#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

Error timeout_error(const ScriptQuestion& question) {
  return Error(Code::kTimeout,
               cat("the script has not answered '", question.name, "' for ",
                   static_cast<double>(question.timeout.count()) / 1000, " s (", question.setting,
                   "): the thread that called fit() is busy with another callback"));
}

Error closed_error(const std::string& name) {
  return Error(Code::kInterrupted, cat("the run has ended: nobody answers '", name, "' any more"));
}

}  // namespace

int64_t ScriptCalls::add(const ScriptQuestion& question, Finish finish) {
  int64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw closed_error(question.name);
    id = ++last_id_;
    waiting_.emplace(id, std::move(finish));
  }
  events_.add(
      Map{{"type", "call"}, {"id", id}, {"name", question.name}, {"argument", question.argument}});
  return id;
}

Value ScriptCalls::ask(const ScriptQuestion& question) {
  auto answered = std::make_shared<std::promise<Value>>();
  auto future = answered->get_future();
  const int64_t id = add(question, [answered](auto value, const auto& error) {
    if (error) {
      answered->set_exception(std::make_exception_ptr(*error));
    } else {
      answered->set_value(std::move(*value));
    }
  });
  if (future.wait_for(question.timeout) == std::future_status::timeout) {
    finish(id, std::nullopt, timeout_error(question));
  }
  return future.get();
}

void ScriptCalls::ask(loop::Loop& loop, const ScriptQuestion& question, Done done) {
  // Shared with the answer's task, which ends the timer before it calls `done`.
  struct Wait {
    std::optional<loop::Timer> deadline;
    Done done;
  };
  auto wait = std::make_shared<Wait>();
  wait->done = std::move(done);
  const Finish finish_wait = [&loop, wait](auto value, auto error) {
    loop.post([wait, value = std::move(value), error = std::move(error)]() mutable {
      wait->deadline.reset();
      wait->done(std::move(value), std::move(error));
    });
  };
  int64_t id = 0;
  try {
    id = add(question, finish_wait);
  } catch (const Error& e) {
    return finish_wait(std::nullopt, e);
  }
  wait->deadline.emplace(
      loop, [this, id, question] { finish(id, std::nullopt, timeout_error(question)); });
  wait->deadline->start(question.timeout);
}

void ScriptCalls::answer(int64_t id, Value value) { finish(id, std::move(value), std::nullopt); }

void ScriptCalls::answer_error(int64_t id, const Error& error) { finish(id, std::nullopt, error); }

void ScriptCalls::finish(int64_t id, std::optional<Value> value, std::optional<Error> error) {
  Finish finish;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    finish = std::move(found->second);
    waiting_.erase(found);
  }
  finish(std::move(value), std::move(error));
}

void ScriptCalls::close() {
  std::map<int64_t, Finish> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    left = std::exchange(waiting_, {});
  }
  for (auto& [id, finish] : left) finish(std::nullopt, closed_error(cat("call ", id)));
}

}  // namespace rtrain::train
