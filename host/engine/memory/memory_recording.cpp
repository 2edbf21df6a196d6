#include "host/engine/memory/memory_recording.h"

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/memory/collector.h"
#include "host/engine/memory/frame_users.h"
#include "host/engine/memory/live_tensors.h"
#include "host/engine/runtime/lua_tensor.h"
#include "host/engine/runtime/vm.h"
#include "host/lua/guard.h"

namespace rtrain::engine {
namespace {

constexpr size_t kMostTensors = 100;
// Number of remembered storages above which freed ones are removed.
constexpr size_t kFewStorages = 4096;

enum class Look : uint8_t { kNone, kFirst, kLast };
std::atomic<Look> wanted_look{Look::kNone};

uintptr_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

// The line of the script; a line of a module if no script is on the stack.
std::string place_of(lua_State* L) {
  if (L == nullptr) return "";
  std::string out = lua::user_position(L);
  lua_Debug frame;
  for (int level = 0; out.empty() && lua_getstack(L, level, &frame) != 0; ++level) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline >= 0)
      out = cat(std::string_view(frame.short_src), ":", frame.currentline);
  }
  return out;
}

struct Device {
  profile::MemoryLedger ledger;
  profile::MemoryCurve curve;
};

// The recording of this process. Every function locks the mutex.
class Recording {
 public:
  std::mutex mutex;

  void start(const std::vector<DeviceMemory>& in_use) {
    devices_.clear();
    devices_.emplace("cpu", Device{profile::MemoryLedger(cpu_memory().allocated_bytes), {}});
    for (const DeviceMemory& device : in_use) add_device(device);
    report_.reset();
    is_recording_ = true;
  }

  bool is_recording() const { return is_recording_; }
  bool is_closed() const { return report_ != nullptr; }

  profile::MemoryLedger& cpu() { return devices_.at("cpu").ledger; }

  // CPU tensors are identified by their data, others by their storage.
  void add_storage(const at::Tensor& tensor, const std::string& place) {
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    if (tensor.is_view() || older_.count(storage) != 0 || storages_.count(storage) != 0) return;
    if (storages_.size() >= next_sweep_) sweep();
    profile::MemoryLedger& ledger = ledger_of(tensor.device().str());
    ledger.take(address(storage), static_cast<int64_t>(storage->nbytes()), place);
    ledger.describe(address(storage), describe(tensor), place);
    storages_.emplace(storage, Known{tensor.storage().getWeakStorageImpl(), &ledger});
  }

  void sample(double seconds, const std::vector<DeviceMemory>& in_use) {
    sweep();
    see_live(in_use);
    for (auto& [name, device] : devices_) {
      device.curve.add(seconds, device.ledger.take_recent_peak());
    }
  }

  // Called after garbage collection, with the devices' memory.
  void forget_garbage(const std::vector<DeviceMemory>& in_use) {
    sweep();
    see_live(in_use);
    for (auto& [name, device] : devices_) device.ledger.begin_without_garbage();
  }

  // Called at the beginning, with all tensors of the script.
  void know_older(const std::map<std::string, LiveTensors>& found) {
    for (const auto& [name, tensors] : found) {
      profile::MemoryLedger& ledger = ledger_of(name);
      for (const LiveTensor& tensor : tensors.largest) {
        const bool is_new = ledger.has(address(tensor.data)) || ledger.has(address(tensor.storage));
        if (!is_new) older_.insert(tensor.storage);
      }
    }
  }

  // `found`: the script's tensors at the end; null if they could not be searched.
  void close(const std::map<std::string, LiveTensors>* found,
             const std::vector<DeviceMemory>& in_use) {
    sweep();
    see_live(in_use);
    report_ = std::make_unique<profile::MemoryReport>();
    report_->has_names = found != nullptr;
    for (auto& [name, device] : devices_) {
      const profile::MemoryLedger& ledger = device.ledger;
      profile::DeviceReport out{.device = name,
                                .begin_bytes = ledger.begin_live(),
                                .end_bytes = ledger.live(),
                                .peak_bytes = ledger.peak(),
                                .new_bytes = ledger.bytes(),
                                .num_taken = ledger.num_taken(),
                                .curve = device.curve,
                                .lines = ledger.lines(),
                                .tensors = {}};
      if (found != nullptr && found->count(name) != 0) add_tensors(found->at(name), ledger, out);
      report_->devices.push_back(std::move(out));
    }
  }

  profile::MemoryReport finish() {
    if (!is_closed()) close(nullptr, {});
    profile::MemoryReport out = std::move(*report_);
    report_.reset();
    devices_.clear();
    storages_.clear();
    older_.clear();
    next_sweep_ = kFewStorages;
    is_recording_ = false;
    return out;
  }

  std::vector<std::string> device_names() const {
    std::vector<std::string> out;
    for (const auto& [name, device] : devices_) out.push_back(name);
    return out;
  }

 private:
  struct Known {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // reserves the address, not the memory
    profile::MemoryLedger* ledger;
  };

  void add_device(const DeviceMemory& memory) {
    devices_.emplace(memory.name, Device{profile::MemoryLedger(memory.allocated_bytes), {}});
  }

  // Memory of the devices; the CPU's allocator reports its own.
  void see_live(const std::vector<DeviceMemory>& in_use) {
    for (const DeviceMemory& memory : in_use) {
      add_device(memory);
      devices_.at(memory.name).ledger.see_live(memory.allocated_bytes);
    }
  }

  profile::MemoryLedger& ledger_of(const std::string& device) { return devices_[device].ledger; }

  void add_tensors(const LiveTensors& found, const profile::MemoryLedger& ledger,
                   profile::DeviceReport& out) const {
    out.reachable_bytes = found.bytes;
    for (const LiveTensor& tensor : found.largest) {
      const bool has_data = ledger.has(address(tensor.data));
      const bool is_new = has_data || ledger.has(address(tensor.storage));
      const void* own = has_data ? tensor.data : tensor.storage;
      out.tensors.push_back({.name = tensor.name,
                             .kind = tensor.text,
                             .place = ledger.place_of(address(own)),
                             .bytes = tensor.bytes,
                             .is_older = !is_new && older_.count(tensor.storage) != 0});
    }
    // Among equally large tensors new ones come first, because they are what grows.
    std::ranges::stable_sort(out.tensors,
                             [](const profile::MemoryTensor& a, const profile::MemoryTensor& b) {
                               return std::tie(b.bytes, a.is_older) < std::tie(a.bytes, b.is_older);
                             });
    out.tensors.resize(std::min(out.tensors.size(), kMostTensors));
  }

  void sweep() {
    for (auto each = storages_.begin(); each != storages_.end();) {
      const bool is_freed = each->second.storage.expired();
      if (is_freed) each->second.ledger->give(address(each->first));
      each = is_freed ? storages_.erase(each) : std::next(each);
    }
    next_sweep_ = std::max(kFewStorages, 2 * storages_.size());
  }

  bool is_recording_ = false;
  std::map<std::string, Device> devices_;
  std::unordered_map<const void*, Known> storages_;
  std::unordered_set<const void*> older_;  // storages
  size_t next_sweep_ = kFewStorages;
  std::unique_ptr<profile::MemoryReport> report_;
};

// Never destroyed, because tensors are freed until the process ends.
Recording& recording() {
  static auto& own = *new Recording();
  return own;
}

void set_recording(bool is_on) {
  records_tensors.store(is_on);
  record_allocations(is_on);
  want_frames(FrameUser::kRecording, is_on);
}

}  // namespace

void record_taken(const void* data, size_t bytes, int64_t live) {
  const std::string place = place_of(frame_state());
  Recording& own = recording();
  const std::lock_guard lock(own.mutex);
  if (!own.is_recording() || own.is_closed()) return;
  own.cpu().take(address(data), static_cast<int64_t>(bytes), place);
  own.cpu().see_live(live);
}

void record_freed(const void* data, int64_t live) {
  Recording& own = recording();
  const std::lock_guard lock(own.mutex);
  if (!own.is_recording() || own.is_closed()) return;
  own.cpu().give(address(data));
  own.cpu().see_live(live);
}

void record_tensor(lua_State* L, const at::Tensor& tensor) {
  if (!tensor.has_storage() || tensor.is_meta()) return;
  const std::string place = place_of(L);
  Recording& own = recording();
  const std::lock_guard lock(own.mutex);
  if (!own.is_recording() || own.is_closed()) return;
  if (!tensor.is_cpu()) return own.add_storage(tensor, place);
  const uintptr_t data = address(tensor.storage().data());
  if (own.cpu().lacks_kind(data)) own.cpu().describe(data, describe(tensor), place);
}

void look_at_values(lua_State* L) {
  if (wanted_look.load(std::memory_order_relaxed) == Look::kNone || gettid() != getpid()) return;
  if (!collect_garbage(vm(L), L)) return;  // retried at the next operator
  const Look look = wanted_look.exchange(Look::kNone);
  if (look == Look::kNone) return;
  Recording& own = recording();
  std::vector<std::string> names;
  {
    const std::lock_guard lock(own.mutex);
    if (!own.is_recording() || own.is_closed()) return;
    names = own.device_names();
  }
  std::map<std::string, LiveTensors> found;
  for (const std::string& name : names) {
    found.emplace(name, live_tensors(L, c10::Device(name), SIZE_MAX));
  }
  const std::vector<DeviceMemory> in_use = device_memory();
  const std::lock_guard lock(own.mutex);
  if (!own.is_recording() || own.is_closed()) return;
  if (look == Look::kFirst) {
    own.forget_garbage(in_use);
    return own.know_older(found);
  }
  own.close(&found, in_use);
  set_recording(false);
}

void start_memory_recording() {
  const std::vector<DeviceMemory> in_use = device_memory();
  Recording& own = recording();
  const std::lock_guard lock(own.mutex);
  if (own.is_recording()) {
    throw Error(Code::kArgument, "a memory profile of this process is under way: wait for its end");
  }
  own.start(in_use);
  set_recording(true);
  wanted_look.store(Look::kFirst);
}

void sample_memory_recording(double seconds) {
  // Must run before the lock: while it holds its own lock, a device's allocator may collect
  // garbage, which frees tensors and thereby records.
  const std::vector<DeviceMemory> in_use = device_memory();
  Recording& own = recording();
  const std::lock_guard lock(own.mutex);
  if (own.is_recording() && !own.is_closed()) own.sample(seconds, in_use);
}

bool is_memory_recording_closed() {
  Recording& own = recording();
  const std::lock_guard lock(own.mutex);
  if (own.is_closed()) return true;
  wanted_look.store(Look::kLast);
  return false;
}

profile::MemoryReport stop_memory_recording() {
  Recording& own = recording();
  const std::lock_guard lock(own.mutex);
  wanted_look.store(Look::kNone);
  set_recording(false);
  return own.finish();
}

}  // namespace rtrain::engine
