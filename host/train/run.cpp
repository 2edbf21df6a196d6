#include "host/train/run.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <future>
#include <mutex>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/files/sealed_file.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/machine/libraries/cuda_driver.h"
#include "host/machine/processes/process_start.h"
#include "host/node/workers/zygote.h"
#include "host/train/controller.h"
#include "host/train/resources/run_gpus.h"

namespace rtrain::train {
namespace {

// CUDA does not work after a fork.
bool can_fork_workers(const RunSpec& spec) {
  return spec.uses_torch && !spec.is_local && spec.gpus_per_worker == 0 && node::wants_zygote() &&
         !machine::has_cuda_driver();
}

}  // namespace

struct Run::Parts {
  explicit Parts(RunSpec given) : spec(std::move(given)), io("rtrain-io") {
    const bool has_hosts = node::node_server() != nullptr && spec.uses_nodes();
    if (const auto error = has_hosts ? impossible_worker_env(spec) : impossible_request(spec))
      throw *error;
    if (has_hosts) spec.port = node::node_server()->port();
    // The zygote loads LibTorch while the run is being opened.
    if (can_fork_workers(spec)) zygote.emplace(loop, spec.worker_env, lua::engine_fd());
    std::promise<std::unique_ptr<RunRecord>> made;
    io.post([&] {
      try {
        made.set_value(std::make_unique<RunRecord>(spec));
      } catch (const std::exception&) {
        made.set_exception(std::current_exception());
      }
    });
    record = made.get_future().get();
    functions_fd = sealed_file("rtrain-functions", spec.functions, "the train function");
  }
  ~Parts() {
    if (functions_fd >= 0) ::close(functions_fd);
  }
  void caught_up() {
    loop.post([this] {
      if (controller != nullptr) controller->events_taken();
    });
  }

  RunSpec spec;
  loop::Loop loop;
  EventQueue events{{.keeps_reports = spec.wants_reports, .on_caught_up = [this] { caught_up(); }}};
  ScriptCalls calls{events};  // after the loop, which has its timers
  std::optional<node::Zygote> zygote;
  int functions_fd = -1;
  std::unique_ptr<RunRecord> record;
  Controller* controller = nullptr;  // while it exists; only used on the control thread
  loop::TaskThread io;               // last: its tasks use the others
};

Run::Run(RunSpec spec) : parts_(std::make_unique<Parts>(std::move(spec))) {
  parts_->spec.functions.clear();
  machine::outlive_readers();
}

Run::Parts& Run::parts() const {
  if (!parts_) throw Error(Code::kArgument, "this run was closed");
  return *parts_;
}

const std::string& Run::run_id() const { return parts().record->run_id(); }

void Run::start() {
  parts();
  RT_CHECK(!control_.joinable());
  control_ = std::thread([this] { supervise(); });
  pthread_setname_np(control_.native_handle(), "rtrain-control");
}

Run::~Run() { close(); }

std::optional<Value> Run::next_event(double timeout_s) { return parts().events.next(timeout_s); }

void Run::answer(int64_t id, Value value) {
  if (parts_) parts_->calls.answer(id, std::move(value));
}

void Run::answer_error(int64_t id, const Error& error) {
  if (parts_) parts_->calls.answer_error(id, error);
}

void Run::request_stop(decide::StopKind kind, const std::string& by) {
  Parts& p = parts();
  p.loop.post([&p, kind, by] {
    if (p.controller != nullptr) p.controller->request_stop(kind, by);
  });
}

void Run::add_event(int64_t attempt, std::string level, std::string text) {
  Parts& p = parts();
  p.io.post([&p, attempt, level = std::move(level), text = std::move(text)] {
    try {
      p.record->add_event(attempt, level, text);
    } catch (const Error& e) {
      // The controller ends the run at its next write.
      p.events.add(Map{{"type", "notice"},
                       {"level", "warning"},
                       {"time", now_ms()},
                       {"text", cat("an event could not be written: ", e.message())}});
    }
  });
}

void Run::close() {
  if (!parts_) return;
  parts_->calls.close();
  parts_->loop.post([parts = parts_.get()] {
    if (parts->controller != nullptr) parts->controller->stop_now(decide::StopKind::kInterrupt);
  });
  if (control_.joinable()) control_.join();
  parts_.reset();
}

// The thread that called fit() is stuck in the train function. Everything of the run is written,
// the store is closed and the lock released.
void Run::end_process(int code) {
  Parts& parts = *parts_;
  const std::string text =
      cat("rtrain: the run ", parts.spec.name,
          " is over, but not the train function, which runs in this process and has not ended when "
          "it was stopped: the process ends (exit code ",
          code, ")\n");
  std::promise<void> closed;
  parts.io.post([&] {
    parts.record.reset();
    closed.set_value();
  });
  closed.get_future().wait();
  if (node::node_server() != nullptr) node::node_server()->leave(code);
  // The reader of stderr may have stopped reading.
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  if (poll(&writable, 1, 1000) == 1 && write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // The reader of stderr has closed it.
  }
  _exit(code);
}

void Run::supervise() {
  Parts& parts = *parts_;
  std::optional<int> abandoned;
  try {
    Controller controller({.spec = parts.spec,
                           .loop = parts.loop,
                           .io = parts.io,
                           .record = *parts.record,
                           .events = parts.events,
                           .calls = parts.calls,
                           .functions_fd = parts.functions_fd,
                           .engine_fd = lua::engine_fd(),
                           .zygote = parts.zygote ? &*parts.zygote : nullptr,
                           .nodes = node::node_server()});
    parts.controller = &controller;
    controller.start();
    parts.loop.run();
    parts.controller = nullptr;
    abandoned = controller.abandoned();
  } catch (const std::exception& e) {
    parts.controller = nullptr;
    const auto* known = dynamic_cast<const Error*>(&e);
    const Code code = known != nullptr ? known->code() : Code::kInternal;
    parts.events.add(Map{{"type", "finished"},
                         {"status", "ERRORED"},
                         {"time", now_ms()},
                         {"name", parts.spec.name},
                         {"run_id", parts.record->run_id()},
                         {"path", parts.record->run_path()},
                         {"error", Map{{"code", code_name(code)}, {"message", e.what()}}}});
  }
  if (abandoned) end_process(*abandoned);
}

}  // namespace rtrain::train
