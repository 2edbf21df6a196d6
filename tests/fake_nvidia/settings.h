// tests/fake_nvidia/settings.h: the settings of the simulated devices in the environment.
#pragma once

#include <string>
#include <vector>

namespace fake_nvidia {

long number(const char* variable, long otherwise = 0);

// Whether a list such as "all_reduce,broadcast" contains the name.
bool lists(const char* variable, const std::string& name);

// FAKE_CUDA_NAME: the name of the devices.
const char* device_name();

// Returns the numbers of the devices that CUDA_VISIBLE_DEVICES selects from FAKE_CUDA_DEVICES. It
// may hold numbers and UUIDs; the list ends at an unknown entry.
std::vector<int> visible_devices();

// The last byte of a device's UUID is its number, all other bytes are 0xab.
void write_uuid(void* bytes, int device);
// Returns "GPU-…", or "MIG-…" if the name is that of a part of a device.
std::string uuid_text(int device);

}  // namespace fake_nvidia
