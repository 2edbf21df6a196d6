#include "host/engine/distributed/nccl_group.h"

#include <c10/core/DeviceGuard.h>
#include <pthread.h>

#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/engine/distributed/given_collectives.h"
#include "host/engine/distributed/gloo/peer_error.h"
#include "host/engine/distributed/nccl_error.h"
#include "host/engine/distributed/tensor_texts.h"

namespace rtrain::engine {
namespace {

constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::milliseconds kShutdownPatience{30000};
constexpr std::chrono::milliseconds kAbortPatience{10000};
// How long to wait for the controller to report a lost rank, which NCCL may notice earlier.
constexpr std::chrono::milliseconds kCutPatience{1000};

// Runs `body` on its own thread and waits for it while `wants` returns true. Returns false if it
// did not end in time; the thread then continues.
bool ends_within(
    std::chrono::milliseconds patience, std::function<void()> body,
    const std::function<bool()>& wants = [] { return true; }) {
  auto ended = std::make_shared<std::promise<void>>();
  auto future = ended->get_future();
  std::thread([ended, body = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), "rtrain-nccl-end");
    try {
      body();
    } catch (const std::exception&) {
      // The group is being closed: the error was reported before or has no effect.
    }
    body = nullptr;
    ended->set_value();
  }).detach();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (wants() && std::chrono::steady_clock::now() < deadline) {
    if (future.wait_for(kLook) == std::future_status::ready) return true;
  }
  return false;
}

}  // namespace

struct NcclGroup::State : std::enable_shared_from_this<NcclGroup::State> {
  State(const NcclGroupOptions& given_options, const CudaGroupsApi& cuda,
        const api::HostApi& host_api)
      : options(given_options), api(cuda), host(host_api) {}

  NcclOptions nccl_options();
  void connect();
  void start_watch();
  void watch();
  bool waits(std::chrono::milliseconds patience);
  std::optional<NcclFailure> look();
  void show_pending();
  NcclFailure describe(NcclFailure::Kind kind, std::string detail) const;
  void end(const Error& error);
  void abort(const Error& error);
  void end_watch();
  void close();
  bool has_failed() const {
    const std::lock_guard lock(mutex);
    return failure || is_cut;
  }
  void warn(const std::string& text) const {
    if (host.warn != nullptr) host.warn(text);
  }

  const NcclGroupOptions options;
  const CudaGroupsApi& api;
  const api::HostApi& host;
  c10::intrusive_ptr<c10d::Backend> backend;
  GivenCollectives given;
  std::string telling;       // the collective being submitted; the group's thread
  uint64_t shown = 0;        // the number last reported to the host; the watch thread
  uint64_t oldest = 0;       // the device's oldest pending sequence, 0: none; watch thread
  mutable std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  std::optional<double> connecting_since_s;
  std::optional<std::string> abort_reason;
  std::optional<Error> failure;
  bool is_cut = false;
  bool ending = false;
  bool watching = false;
};

NcclOptions NcclGroup::State::nccl_options() {
  NcclOptions out;
  out.rank = options.rank;
  out.world_size = options.world_size;
  out.device = options.device;
  out.timeout = options.timeout;
  out.is_high_priority_stream = options.is_high_priority_stream;
  // The callbacks hold the state and the backend holds the callbacks. close() breaks this cycle.
  const auto self = shared_from_this();
  out.notify.host = &host;
  out.notify.begin = [self](const std::string& operation, const std::vector<at::Tensor>& tensors) {
    const std::string text = describe_tensors(tensors);
    self->telling = cat(operation, "(", text, ")");
    const auto enter = self->host.enter_collective;
    if (enter == nullptr) return uint64_t{0};
    return enter(operation.c_str(), text, self->options.members.get());
  };
  out.on_given = [self](uint64_t number, uint64_t sequence) {
    self->given.add({sequence, number, monotonic_s(), self->telling});
  };
  out.on_abort = [self](const std::string& reason) {
    const std::lock_guard lock(self->mutex);
    self->abort_reason = reason;
    self->changed.notify_all();
  };
  return out;
}

// NCCL's connecting has no deadline of its own, so the watch thread enforces one. If a rank is lost
// meanwhile, connecting may never end, and its thread is abandoned.
void NcclGroup::State::connect() {
  {
    const std::lock_guard lock(mutex);
    connecting_since_s = monotonic_s();
  }
  std::packaged_task<void()> body([nccl = backend, device = options.device] {
    const at::Device place(at::kCUDA, static_cast<c10::DeviceIndex>(device));
    const c10::DeviceGuard guard(place);
    nccl->eagerConnectSingleDevice(place);
  });
  auto ended = body.get_future();
  std::thread(std::move(body)).detach();
  while (ended.wait_for(kLook) != std::future_status::ready) {
    const std::lock_guard lock(mutex);
    if (is_cut) throw lost_peer();
  }
  ended.get();
  const std::lock_guard lock(mutex);
  connecting_since_s.reset();
}

void NcclGroup::State::start_watch() {
  watching = true;
  std::thread([self = shared_from_this()] {
    pthread_setname_np(pthread_self(), "rtrain-nccl");
    self->watch();
    const std::lock_guard lock(self->mutex);
    self->watching = false;
    self->changed.notify_all();
  }).detach();
}

void NcclGroup::State::watch() {
  while (waits(kLook)) {
    const auto found = look();
    if (!found) continue;
    const bool may_be_a_loss = found->kind == NcclFailure::Kind::kError;
    if (may_be_a_loss && !waits(kCutPatience)) return;
    return end(nccl_error(*found));
  }
}

// Returns false when the watch must end. If the group was cut, it has been aborted before.
bool NcclGroup::State::waits(std::chrono::milliseconds patience) {
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, patience, [this] { return ending || is_cut || abort_reason; });
    if (!is_cut) return !ending;
  }
  abort(lost_peer());
  return false;
}

std::optional<NcclFailure> NcclGroup::State::look() {
  using Kind = NcclFailure::Kind;
  {
    const std::lock_guard lock(mutex);
    if (abort_reason) return describe(Kind::kAbort, *abort_reason);
    if (connecting_since_s) {
      NcclFailure late = describe(Kind::kStart, "");
      late.waited_s = monotonic_s() - *connecting_since_s;
      if (late.waited_s * 1000 < static_cast<double>(options.start_timeout.count())) {
        return std::nullopt;
      }
      return late;
    }
  }
  const c10d::ErrorType error = backend->getError();
  if (error == c10d::ErrorType::TIMEOUT) return describe(Kind::kTimeout, "");
  if (error != c10d::ErrorType::SUCCESS) return describe(Kind::kError, api.problem(*backend));
  show_pending();
  return std::nullopt;
}

// Shows the controller which collective the device waits in, also while the rank's thread does
// other work.
void NcclGroup::State::show_pending() {
  const std::optional<uint64_t> pending = api.pending(*backend);
  if (!pending) return;
  oldest = *pending;
  const auto found = oldest == 0 ? std::nullopt : given.find(oldest);
  const uint64_t number = found ? found->number : 0;
  if (number == shown || host.set_device_wait == nullptr) return;
  shown = number;
  host.set_device_wait(number);
}

NcclFailure NcclGroup::State::describe(NcclFailure::Kind kind, std::string detail) const {
  NcclFailure out;
  out.kind = kind;
  out.rank = options.rank;
  out.world_size = options.world_size;
  out.detail = std::move(detail);
  // LibTorch's watchdog hides pending collectives while the group closes. The device then waits in
  // the last one.
  out.collective = oldest == 0 ? given.latest() : given.find(oldest);
  if (!out.collective) return out;
  out.waited_s = monotonic_s() - out.collective->at_s;
  if (out.collective->number != 0 && host.absent_ranks != nullptr) {
    out.absent = host.absent_ranks(out.collective->number, nullptr);
  }
  return out;
}

void NcclGroup::State::end(const Error& error) {
  if (host.end_worker != nullptr) host.end_worker(error);
  abort(error);
}

// Threads that wait for the device return; the device's remaining work is left incomplete.
void NcclGroup::State::abort(const Error& error) {
  c10::intrusive_ptr<c10d::Backend> nccl;
  {
    const std::lock_guard lock(mutex);
    if (failure || backend == nullptr) return;
    failure = error;
    // The communicator does not exist yet, and LibTorch's abort would wait for it.
    if (is_cut && connecting_since_s) return;
    nccl = backend;
  }
  try {
    nccl->abort();
  } catch (const std::exception& e) {
    warn(cat("NCCL's communicators could not be aborted: ", e.what()));
  }
}

void NcclGroup::State::end_watch() {
  std::unique_lock lock(mutex);
  ending = true;
  changed.notify_all();
  changed.wait_for(lock, kAbortPatience, [this] { return !watching; });
}

void NcclGroup::State::close() {
  if (backend == nullptr) return;
  // The device's collectives may wait for late ranks, for which the watch has a deadline.
  const auto patience = options.timeout + kShutdownPatience;
  const bool ended = !has_failed() && ends_within(
                                          patience, [nccl = backend] { nccl->shutdown(); },
                                          [this] { return !has_failed(); });
  end_watch();
  c10::intrusive_ptr<c10d::Backend> nccl;
  {
    const std::lock_guard lock(mutex);
    nccl = std::exchange(backend, nullptr);
  }
  if (shown != 0 && host.set_device_wait != nullptr) host.set_device_wait(0);
  if (ended) return;
  if (!has_failed()) {
    warn(cat("rank ", options.rank, ": NCCL has not ended after ", patience.count() / 1000,
             " s: it is aborted"));
    ends_within(kAbortPatience, [nccl] { nccl->abort(); });
  }
  // Leaks the backend: its destructor would wait for LibTorch's threads, which sleep for a minute.
  c10::raw::intrusive_ptr::incref(nccl.get());
}

NcclGroup::NcclGroup(const NcclGroupOptions& options, const CudaGroupsApi& api,
                     const c10::intrusive_ptr<c10d::Store>& store, const api::HostApi& host)
    : state_(std::make_shared<State>(options, api, host)) {
  state_->backend = api.create(store, state_->nccl_options());
  {
    const std::lock_guard lock(living_mutex());
    std::erase_if(living(), [](const auto& each) { return each.expired(); });
    living().push_back(state_);
  }
  state_->start_watch();
  try {
    state_->connect();
  } catch (...) {
    close();
    throw;
  }
}

std::mutex& NcclGroup::living_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::vector<std::weak_ptr<NcclGroup::State>>& NcclGroup::living() {
  static std::vector<std::weak_ptr<State>> states;
  return states;
}

c10::intrusive_ptr<c10d::Backend> NcclGroup::backend() const { return state_->backend; }

int NcclGroup::device() const { return state_->options.device; }

std::optional<Error> NcclGroup::failure() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->is_cut && !state_->failure) return lost_peer();
  return state_->failure;
}

void NcclGroup::close() noexcept {
  try {
    state_->close();
  } catch (const std::exception& e) {
    state_->warn(cat("the NCCL group could not be closed: ", e.what()));
  }
}

std::vector<std::shared_ptr<NcclGroup::State>> NcclGroup::all_living() {
  const std::lock_guard lock(living_mutex());
  std::vector<std::shared_ptr<State>> out;
  for (const auto& each : living()) {
    if (auto state = each.lock()) out.push_back(std::move(state));
  }
  return out;
}

void abort_nccl_groups() noexcept {
  for (const auto& state : NcclGroup::all_living()) {
    state->abort(Error(Code::kInterrupted, "the run is being ended"));
  }
}

void cut_nccl_groups() noexcept {
  for (const auto& state : NcclGroup::all_living()) {
    const std::lock_guard lock(state->mutex);
    state->is_cut = true;
    state->changed.notify_all();
  }
}

}  // namespace rtrain::engine

// Called by a thread of the host, which finds the function by its symbol name.
extern "C" __attribute__((visibility("default"))) void rtrain_engine_abort_groups() {
  rtrain::engine::abort_nccl_groups();
}
