#include "tests/unit/test_worker.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "host/base/text/text.h"
#include "host/loop/channel/channel.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/processes/process.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/pages/progress_board.h"

namespace rtrain {
namespace {

class TestWorker {
 public:
  TestWorker(int rank, std::string what) : rank_(rank), what_(std::move(what)) {}

  void run() {
    begin();
    loop_.run();
  }

 private:
  void begin() {
    if (what_ == "nonsense") {
      const std::string bytes(64, '\xff');
      if (write(loop::kChannelFd, bytes.data(), bytes.size()) < 0) end(1);
    }
    if (what_ == "print") {
      std::cout << "one\ntwo\n" << std::flush;
      std::cerr << "three\n" << std::flush;
    }
    if (what_ == "hang") take_page();
    if (what_ == "validate") std::cout << "validating\n" << std::flush;
    if (what_ == "daemon" && fork() == 0) {
      setsid();
      for (;;) pause();
    }
    Value hello = to_value(message::Hello{.build_id = "", .pid = getpid()});
    hello.as_map().set("rank", rank_);
    channel_.send(hello);
    if (what_ == "flood") {
      std::cout << std::string(size_t{1} << 20, 'x') << "\n" << std::flush;
      channel_.send(Map{{"type", "printed"}});
    }
  }

  void on_message(const Value& message) {
    const std::string& type = message["type"].as_string();
    if (type == "exit" && what_ == "hang") {
      std::thread([] { pause(); }).detach();
      syscall(SYS_exit, 0);
    } else if (type == "exit") {
      end(what_ == "echo" ? 3 : 0);
    } else if (what_ == "echo") {
      channel_.send(message);
    } else if (what_ == "validate" && type == "start") {
      channel_.send(to_value(message::Returned{.value = Map{{"acc", 0.75}}}));
    }
  }

  void take_page() {
    static pages::ProgressBoard board(pages::ProgressBoard::Inherited{loop::kProgressFd});
    pages::ProgressPage& page = board.page(rank_);
    pthread_mutex_lock(&page.alive);
    page.reports = 7;
    page.attached = 1;
  }

  // The channel must close together with the process: a worker that closes it earlier is killed.
  [[noreturn]] static void end(int code) { _exit(code); }

  int rank_;
  std::string what_;
  loop::Loop loop_;
  loop::Channel channel_{loop_, loop::kChannelFd,
                         [this](const Value& message) { on_message(message); },
                         [this](const std::string&) {
                           if (what_ != "nonsense") end(1);
                         }};
};

}  // namespace

int run_test_worker(int rank, int controller_pid) {
  loop::die_with_parent(controller_pid);
  const char* what = std::getenv(kTestWorker);
  TestWorker(rank, what == nullptr ? "echo" : what).run();
  return 0;
}

}  // namespace rtrain
