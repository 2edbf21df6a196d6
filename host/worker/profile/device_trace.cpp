#include "host/worker/profile/device_trace.h"

#include <fcntl.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <thread>

#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};

std::atomic<std::string (*)()> current{nullptr};

void write(const std::string& folder, int rank, const std::string& text) {
  store::make_folders(folder);
  store::OpenFile(cat(folder, "/nccl-rank-", rank, ".json"), O_WRONLY | O_CREAT | O_TRUNC)
      .write(text + "\n");
}

}  // namespace

void set_device_trace(std::string (*trace)()) { current = trace; }

void write_device_trace(const std::string& folder, int rank) {
  const auto trace = current.load();
  if (trace == nullptr) return;
  auto written = std::make_shared<std::promise<void>>();
  auto future = written->get_future();
  std::thread([=] {
    pthread_setname_np(pthread_self(), "rtrain-trace");
    try {
      write(folder, rank, trace());
    } catch (const std::exception&) {
      // The stacks are sent without this file.
    }
    written->set_value();
  }).detach();
  future.wait_for(kPatience);
}

}  // namespace rtrain::worker
