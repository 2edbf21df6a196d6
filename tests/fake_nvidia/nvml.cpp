// A libnvidia-ml.so.1 that simulates FAKE_CUDA_DEVICES devices, of which the first is busy, and
// reports the error FAKE_NVML_XID of the last one, once. FAKE_NVML_PCIE=4: the devices are in slots
// of that generation. FAKE_NVML_NVLINKS=18: each has 18 links of FAKE_NVML_NVLINK_MBPS to a switch.
// Without these it does not say what the links are.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "settings.h"

using fake_nvidia::number;

namespace {

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
struct OldProcess {
  unsigned pid;
  unsigned long long used;
};
struct PciInfo {
  char old_address[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
};
struct FieldValue {
  unsigned field, scope;
  long long time, latency;
  int type, code;
  unsigned long long value;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kTimeout = 10;
constexpr int kLost = 15;

// A handle is the address of one of these elements; each device has a part, for multi-instance
// GPUs.
constexpr long kDevices = 64;
char devices[kDevices];
char parts[kDevices];

bool is_part(const void* device) { return device >= parts && device < parts + kDevices; }
long number_of(const void* device) {
  return static_cast<const char*>(device) - (is_part(device) ? parts : devices);
}

bool exists(const char* variable) {
  const char* path = std::getenv(variable);
  return path != nullptr && access(path, F_OK) == 0;
}

int copy(char* to, unsigned size, const char* text) {
  std::snprintf(to, size, "%s", text);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return static_cast<int>(number("FAKE_NVML_ERROR")); }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return copy(text, size, "580.65.06"); }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(number("FAKE_CUDA_DEVICES"));
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (static_cast<long>(index) >= number("FAKE_CUDA_DEVICES")) return kNotFound;
  *device = devices + index;
  return 0;
}

// LibTorch passes the address that the runtime gave, "0000:01:00.0", or one with a domain of eight
// digits: the first device has bus 1.
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  const long bus = std::strtol(std::strchr(address, ':') + 1, nullptr, 16);
  return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(bus - 1), device);
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const std::string digits = std::string(uuid).substr(std::strlen(uuid) < 4 ? 0 : 4);
  for (long i = 0; i < number("FAKE_CUDA_DEVICES"); ++i) {
    if (digits != fake_nvidia::uuid_text(static_cast<int>(i)).substr(4)) continue;
    *device = std::strncmp(uuid, "MIG-", 4) == 0 ? parts + i : devices + i;
    return 0;
  }
  return kNotFound;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* part, void** device) {
  if (!is_part(part)) return kNotSupported;
  *device = devices + number_of(part);
  return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  *info = {};
  info->bus = static_cast<unsigned>(number_of(device)) + 1;
  return 0;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  *generation = static_cast<unsigned>(number("FAKE_NVML_PCIE"));
  return *generation == 0 ? kNotSupported : 0;
}

int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* lanes) {
  *lanes = 16;
  return number("FAKE_NVML_PCIE") == 0 ? kNotSupported : 0;
}

int nvmlDeviceGetNvLinkState(void*, unsigned link, int* is_active) {
  *is_active = 1;
  return static_cast<long>(link) < number("FAKE_NVML_NVLINKS") ? 0 : kNotSupported;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned link, int* kind) {
  constexpr int kSwitch = 2;
  *kind = kSwitch;
  return static_cast<long>(link) < number("FAKE_NVML_NVLINKS") ? 0 : kNotSupported;
}

int nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
  constexpr unsigned kNvlinkSpeed = 90;
  for (int i = 0; i < count; ++i) {
    const bool is_known = values[i].field == kNvlinkSpeed && number("FAKE_NVML_NVLINKS") > 0;
    values[i].code = is_known ? 0 : kNotSupported;
    values[i].value = static_cast<unsigned long long>(number("FAKE_NVML_NVLINK_MBPS"));
  }
  return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return kNotSupported; }
int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return kNotSupported; }

int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  const std::string digits = fake_nvidia::uuid_text(static_cast<int>(number_of(device))).substr(4);
  return copy(text, size, ((is_part(device) ? "MIG-" : "GPU-") + digits).c_str());
}

int nvmlDeviceGetName(void*, char* text, unsigned size) {
  return copy(text, size, fake_nvidia::device_name());
}

// FAKE_NVML_HANG, FAKE_NVML_LOST: while the named file exists, the devices do not answer, or are
// lost.
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  while (exists("FAKE_NVML_HANG")) sleep(1);
  if (exists("FAKE_NVML_LOST")) return kLost;
  if (is_part(device)) {
    *memory = {10ULL << 30, 7ULL << 30, 3ULL << 30};
    return 0;
  }
  const unsigned long long used = number_of(device) == 0 ? 20ULL << 30 : 0;
  *memory = {80ULL << 30, (80ULL << 30) - used, used};
  return 0;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* rates) {
  if (is_part(device)) return kNotSupported;
  *rates = number_of(device) == 0 ? Utilization{97, 40} : Utilization{0, 0};
  return 0;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = number_of(device) == 0 ? 699500 : 70000;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}

int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* degrees) {
  *degrees = number_of(device) == 0 ? 71 : 30;
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = number_of(device) == 0 ? 0x4 : 0x1;  // power limit, idle
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  *count = number_of(device) == 0 ? 1 : 0;
  if (*count == 1) processes[0] = {4711, 19ULL << 30, 0, 0};
  return 0;
}

// LibTorch calls this older form when a device is out of memory.
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, OldProcess* processes) {
  *count = number_of(device) == 0 ? 1 : 0;
  if (*count == 1) processes[0] = {4711, 19ULL << 30};
  return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}

int nvmlEventSetCreate(void** events) {
  *events = devices;
  return 0;
}
int nvmlEventSetFree(void*) { return 0; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }

int nvmlEventSetWait_v2(void*, Event* event, unsigned) {
  static bool told = false;
  const long xid = number("FAKE_NVML_XID");
  if (told || xid == 0) return kTimeout;
  told = true;
  *event = {devices + number("FAKE_CUDA_DEVICES") - 1, 8, static_cast<unsigned long long>(xid), 0,
            0};
  return 0;
}
}
