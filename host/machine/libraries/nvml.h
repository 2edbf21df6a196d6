// host/machine/libraries/nvml.h: the answers of NVIDIA's management library about the devices of
// this node: their names, state, processes and errors. Makes no CUDA context and takes no memory of
// a device.
//
// The library comes with the driver and is loaded by name. It shows all devices of the node, in the
// order of their bus numbers, whatever CUDA_VISIBLE_DEVICES says: a device is known by its UUID.
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtrain::machine {

struct Gpu {
  int64_t index = 0;
  std::string uuid;  // as in host/machine/libraries/cuda_driver.h
  std::string name;
  int64_t memory_bytes = 0;
};

struct GpuProcess {
  int pid = 0;
  std::optional<int64_t> memory_bytes;
};

// The state of a device now; nothing where it does not say.
struct GpuState {
  std::optional<int64_t> used_bytes;
  std::optional<int> utilization_percent;  // of the last second: time in which a kernel ran
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<int> temperature_c;
  std::vector<std::string> slowed_by;  // "power limit", "heat", …; idle clocks are none
  std::vector<GpuProcess> processes;   // that compute
};

// A critical error that the driver has written down: its number is NVIDIA's "Xid".
struct GpuFault {
  std::string uuid;
  int64_t xid = 0;
};

class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Why it cannot be asked; empty where it can. Then all below tell of nothing.
  const std::string& refusal() const { return refusal_; }
  std::string driver_version() const;
  std::vector<Gpu> gpus() const;
  // Of a device, or of a part of one ("MIG-…"), which has memory and processes of its own.
  GpuState state(const std::string& uuid) const;
  // Why the device cannot be used any more, as the driver says when it is asked; empty: it can.
  std::string problem(const std::string& uuid) const;
  // The device that a part belongs to: faults are a whole device's. Any other device is itself.
  std::string whole_device(const std::string& uuid) const;
  // The next fault of any device since this was made; nothing at the end of the wait. Throws
  // nothing: a driver without such events has none.
  std::optional<GpuFault> next_fault(std::chrono::milliseconds wait);

 private:
  template <class... Args>
  int call(const char* name, Args... args) const;
  void* device(int64_t index) const;
  void* device(const std::string& uuid) const;
  std::string uuid_of(void* device) const;
  template <class T, class... Args>
  std::optional<T> ask(const char* name, void* device, Args... args) const;
  void listen();

  void* library_ = nullptr;
  void* events_ = nullptr;  // once somebody has asked for faults
  bool listens_ = false;
  std::string refusal_;
};

// The names of the reasons in such a set of bits.
std::vector<std::string> slowdown_names(uint64_t reasons);

struct GpuSearch {
  std::vector<Gpu> gpus;
  std::string driver;  // the driver's version; empty without one
  std::string reason;  // why there are none; empty when there are some
};

GpuSearch find_gpus();

}  // namespace rtrain::machine
