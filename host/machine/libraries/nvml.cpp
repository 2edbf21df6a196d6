#include "host/machine/libraries/nvml.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <utility>

#include "host/base/text/text.h"
#include "host/machine/libraries/library_call.h"

namespace rtrain::machine {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr int kSuccess = 0;
constexpr int kTextSize = 96;
constexpr unsigned long long kXidEvent = 8;
constexpr unsigned long long kNotAvailable = ~0ULL;

// The structures of NVML's interface, which is stable: they belong to these versions of functions.
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

struct PciInfo {
  std::array<char, 16> old_address;
  unsigned domain, bus, device, id, subsystem;
  std::array<char, 32> address;
};
struct FieldValue {
  unsigned field, scope;
  long long time, latency;
  int type, code;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};

constexpr unsigned kMostNvlinks = 18;
constexpr unsigned kNvlinkSpeedField = 90;  // MB/s of each active link
constexpr int kSwitch = 2;                  // the kind of what is at the other end of a link

std::string address_text(const PciInfo& info) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x", info.domain, info.bus, info.device);
  return text.data();
}

// NVML's GPU_IS_LOST, RESET_REQUIRED and UNKNOWN. Other codes may only mean an old library.
constexpr std::pair<int, const char*> kDeviceFailures[] = {
    {15, "the driver has lost it: it has fallen off the bus, or is gone in another way"},
    {16, "it has to be reset"},
    {999, "the driver gives an internal error for it"}};
constexpr std::pair<uint64_t, const char*> kSlowdowns[] = {
    {0x04, "power limit"}, {0x08, "hardware"},        {0x10, "sync boost"},
    {0x20, "heat"},        {0x40, "heat (hardware)"}, {0x80, "power supply"}};

}  // namespace

template <class... Args>
int Nvml::call(const char* name, Args... args) const {
  return call_library(library_, name, args...);
}

// Returns the value that the function writes to its last argument.
template <class T, class... Args>
std::optional<T> Nvml::ask(const char* name, void* device, Args... args) const {
  T value{};
  if (call(name, device, args..., &value) != kSuccess) return std::nullopt;
  return value;
}

Nvml::Nvml() : library_(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    refusal_ = cat("no NVIDIA driver: ", kLibrary, " is not on this machine");
  } else if (call("nvmlInit_v2") != kSuccess) {
    refusal_ = "the NVIDIA driver's library is here, but the driver does not answer";
    dlclose(library_);
    library_ = nullptr;
  }
}

Nvml::~Nvml() {
  if (events_ != nullptr) call("nvmlEventSetFree", events_);
  if (library_ == nullptr) return;
  call("nvmlShutdown");
  dlclose(library_);
}

std::string Nvml::driver_version() const {
  std::array<char, kTextSize> text{};
  call("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size() - 1));
  return text.data();
}

void* Nvml::device(int64_t index) const {
  void* handle = nullptr;
  call("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(index), &handle);
  return handle;
}

void* Nvml::device(const std::string& uuid) const {
  void* handle = nullptr;
  call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &handle);
  return handle;
}

std::string Nvml::uuid_of(void* device) const {
  std::array<char, kTextSize> text{};
  call("nvmlDeviceGetUUID", device, text.data(), static_cast<unsigned>(text.size() - 1));
  return text.data();
}

std::string Nvml::whole_device(const std::string& uuid) const {
  void* whole = nullptr;
  call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device(uuid), &whole);
  return whole == nullptr ? uuid : uuid_of(whole);
}

std::vector<Gpu> Nvml::gpus() const {
  unsigned count = 0;
  call("nvmlDeviceGetCount_v2", &count);
  std::vector<Gpu> out;
  for (unsigned index = 0; index < count; ++index) {
    void* handle = device(index);
    if (handle == nullptr) continue;
    std::array<char, kTextSize> name{};
    call("nvmlDeviceGetName", handle, name.data(), static_cast<unsigned>(name.size() - 1));
    const auto memory = ask<Memory>("nvmlDeviceGetMemoryInfo", handle);
    out.push_back({index, uuid_of(handle), name.data(),
                   static_cast<int64_t>(memory.value_or(Memory{}).total)});
  }
  return out;
}

GpuState Nvml::state(const std::string& uuid) const {
  GpuState out;
  void* handle = device(uuid);
  if (handle == nullptr) return out;
  constexpr double kMilliwatts = 1000;
  if (const auto memory = ask<Memory>("nvmlDeviceGetMemoryInfo", handle)) {
    out.used_bytes = static_cast<int64_t>(memory->used);
  }
  if (const auto use = ask<Utilization>("nvmlDeviceGetUtilizationRates", handle)) {
    out.utilization_percent = static_cast<int>(use->gpu);
  }
  if (const auto power = ask<unsigned>("nvmlDeviceGetPowerUsage", handle)) {
    out.power_w = *power / kMilliwatts;
  }
  if (const auto limit = ask<unsigned>("nvmlDeviceGetEnforcedPowerLimit", handle)) {
    out.power_limit_w = *limit / kMilliwatts;
  }
  if (const auto degrees = ask<unsigned>("nvmlDeviceGetTemperature", handle, 0U)) {
    out.temperature_c = static_cast<int>(*degrees);
  }
  const auto reasons = ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", handle);
  out.slowed_by = slowdown_names(reasons.value_or(0));
  std::array<Process, 64> processes{};
  auto count = static_cast<unsigned>(processes.size());
  const int code =
      call("nvmlDeviceGetComputeRunningProcesses_v3", handle, &count, processes.data());
  for (unsigned i = 0; code == kSuccess && i < count && i < processes.size(); ++i) {
    GpuProcess& process =
        out.processes.emplace_back(GpuProcess{static_cast<int>(processes[i].pid), {}});
    if (processes[i].used != kNotAvailable) {
      process.memory_bytes = static_cast<int64_t>(processes[i].used);
    }
  }
  return out;
}

GpuWiring Nvml::wiring(const std::string& uuid) const {
  constexpr double kMegabytes = 1000;
  GpuWiring out;
  void* handle = device(uuid);
  if (handle == nullptr) return out;
  if (const auto info = ask<PciInfo>("nvmlDeviceGetPciInfo_v3", handle))
    out.bus = address_text(*info);
  out.pcie_generation =
      static_cast<int>(ask<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration", handle).value_or(0));
  out.pcie_width =
      static_cast<int>(ask<unsigned>("nvmlDeviceGetMaxPcieLinkWidth", handle).value_or(0));
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    if (ask<int>("nvmlDeviceGetNvLinkState", handle, link).value_or(0) == 0) continue;
    const auto kind = ask<int>("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link);
    if (kind == kSwitch) {
      ++out.switch_links;
    } else if (const auto info =
                   ask<PciInfo>("nvmlDeviceGetNvLinkRemotePciInfo_v2", handle, link)) {
      out.peer_links.push_back(address_text(*info));
    }
  }
  FieldValue speed{};
  speed.field = kNvlinkSpeedField;
  if (call("nvmlDeviceGetFieldValues", handle, 1, &speed) == kSuccess && speed.code == kSuccess) {
    out.nvlink_gb_s = speed.value.number / kMegabytes;
  }
  return out;
}

std::string Nvml::problem(const std::string& uuid) const {
  void* handle = nullptr;
  Memory memory{};
  int code = call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &handle);
  if (code == kSuccess) code = call("nvmlDeviceGetMemoryInfo", handle, &memory);
  for (const auto& [failure, text] : kDeviceFailures) {
    if (code == failure) return text;
  }
  return "";
}

void Nvml::listen() {
  listens_ = true;
  if (call("nvmlEventSetCreate", &events_) != kSuccess) {
    events_ = nullptr;
    return;
  }
  for (const Gpu& gpu : gpus()) {
    call("nvmlDeviceRegisterEvents", device(gpu.index), kXidEvent, events_);
  }
}

std::optional<GpuFault> Nvml::next_fault(std::chrono::milliseconds wait) {
  if (!listens_) listen();
  Event event{};
  const auto timeout = static_cast<unsigned>(wait.count());
  if (events_ == nullptr || call("nvmlEventSetWait_v2", events_, &event, timeout) != kSuccess) {
    return std::nullopt;
  }
  return GpuFault{uuid_of(event.device), static_cast<int64_t>(event.data)};
}

std::vector<std::string> slowdown_names(uint64_t reasons) {
  std::vector<std::string> out;
  for (const auto& [bit, name] : kSlowdowns) {
    if ((reasons & bit) != 0) out.emplace_back(name);
  }
  return out;
}

GpuSearch find_gpus() {
  const Nvml nvml;
  if (!nvml.refusal().empty()) return {{}, "", nvml.refusal()};
  GpuSearch search{nvml.gpus(), nvml.driver_version(), ""};
  if (search.gpus.empty()) search.reason = cat("NVIDIA driver ", search.driver, ", no device");
  return search;
}

}  // namespace rtrain::machine
