#include "host/engine/recording/kernel_compiler.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "host/base/text/text.h"
#include "host/machine/libraries/kernel_cache.h"
#include "host/machine/libraries/nvrtc.h"

namespace rtrain::engine {
namespace {

// The folder of libtorch_cpu.so.
std::string libtorch_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).parent_path().string();
}

class Compiler {
 public:
  static Compiler& get() {
    static Compiler the;
    return the;
  }

  std::shared_ptr<CompiledKernel> add(const compile::Kernel& kernel,
                                      const std::string& architecture) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<CompiledKernel>& known = kernels_[cat(architecture, "\n", kernel.text)];
    if (known) return known;
    known = std::make_shared<CompiledKernel>();
    if (!nvrtc_.refusal().empty()) {
      known->refusal = nvrtc_.refusal();
      known->state = CompiledKernel::State::kRefused;
      return known;
    }
    work_.push_back({known, cat(compile::kernel_prelude(), kernel.text), architecture});
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_one();
    return known;
  }

 private:
  struct Work {
    std::shared_ptr<CompiledKernel> kernel;
    std::string text;
    std::string architecture;
  };

  // NVRTC is loaded before, so that its own end comes after that of the thread.
  Compiler() : nvrtc_(libtorch_folder()), cache_(machine::KernelCache::default_folder()) {}

  ~Compiler() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_over_ || !work_.empty(); });
      if (is_over_) return;
      const Work work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      compile(work);
      lock.lock();
    }
  }

  void compile(const Work& work) const {
    using State = CompiledKernel::State;
    State state = State::kReady;
    try {
      work.kernel->image = image_of(work);
    } catch (const std::exception& e) {
      work.kernel->refusal = e.what();
      state = State::kRefused;
    }
    work.kernel->state.store(state, std::memory_order_release);
  }

  std::string image_of(const Work& work) const {
    const std::string key = cat(work.architecture, " ", nvrtc_.version(), " ",
                                join(machine::Nvrtc::options(), " "), "\n", work.text);
    if (auto found = cache_.find(key)) return *std::move(found);
    std::string out = nvrtc_.compile(work.text, work.architecture);
    cache_.add(key, out);
    return out;
  }

  const machine::Nvrtc nvrtc_;
  const machine::KernelCache cache_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<CompiledKernel>> kernels_;
  std::deque<Work> work_;
  std::thread thread_;
  bool is_over_ = false;
};

}  // namespace

std::shared_ptr<CompiledKernel> compile_kernel(const compile::Kernel& kernel,
                                               const std::string& architecture) {
  return Compiler::get().add(kernel, architecture);
}

}  // namespace rtrain::engine
