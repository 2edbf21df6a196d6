// host/machine/libraries/nvml.h: asks NVIDIA's management library about the devices of this node:
// their names, state, processes and errors. Makes no CUDA context and takes no memory of a device.
//
// The library comes with the driver and is loaded by name. It lists all devices of the node, in the
// order of their bus numbers, whatever CUDA_VISIBLE_DEVICES says: so a UUID names a device. One
// thread at a time.
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

// The present state of a device. A value is missing if the device does not report it.
struct GpuState {
  std::optional<int64_t> used_bytes;
  std::optional<int> utilization_percent;  // of the last second: time in which a kernel ran
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<int> temperature_c;
  std::vector<std::string> slowed_by;  // "power limit", "heat", …; not that it idles
  std::vector<GpuProcess> processes;   // the processes that compute on it
};

// How a device is connected to the others and to the processor. A value is 0 if the driver does not
// say it.
struct GpuWiring {
  std::string bus;  // its address, "0000:19:00"; empty if the driver does not say it
  int pcie_generation = 0;
  int pcie_width = 0;                   // lanes, as many as device and slot have
  double nvlink_gb_s = 0;               // of one link, in one direction
  int switch_links = 0;                 // active NVLinks to a switch, which connects all devices
  std::vector<std::string> peer_links;  // the address at the other end of each other active NVLink
};

// A critical error that the driver has recorded. The number is NVIDIA's "Xid".
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

  // Why the library cannot be asked; "" if it can. If not, the functions below return no data.
  const std::string& refusal() const { return refusal_; }
  std::string driver_version() const;
  std::vector<Gpu> gpus() const;
  // The state of a device, or of a part of one ("MIG-…"), which has its own memory and processes.
  GpuState state(const std::string& uuid) const;
  GpuWiring wiring(const std::string& uuid) const;
  // Returns why the device cannot be used any more, according to the driver; "" if it can be used.
  std::string problem(const std::string& uuid) const;
  // Returns the device that a part belongs to, since faults concern whole devices; else `uuid`.
  std::string whole_device(const std::string& uuid) const;
  // Returns the next fault of any device since this object was made; nothing at the end of the
  // wait, or if the driver does not report such events. Never throws.
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
  void* events_ = nullptr;  // null until faults are asked for
  bool listens_ = false;
  std::string refusal_;
};

// Returns the names of the reasons in a set of bits.
std::vector<std::string> slowdown_names(uint64_t reasons);

struct GpuSearch {
  std::vector<Gpu> gpus;
  std::string driver;  // the driver's version; empty without one
  std::string reason;  // why there are no devices; empty if there are some
};

GpuSearch find_gpus();

}  // namespace rtrain::machine
