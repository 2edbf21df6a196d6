// tests/fake_nvidia/settings.h: what the environment wants of the fake devices.
#pragma once

#include <string>
#include <vector>

namespace fake_nvidia {

long number(const char* variable, long otherwise = 0);

// Whether a list such as "all_reduce,broadcast" holds the name.
bool lists(const char* variable, const std::string& name);

// FAKE_CUDA_NAME: what the devices are.
const char* device_name();

// The devices that CUDA_VISIBLE_DEVICES leaves of FAKE_CUDA_DEVICES, as their own numbers. It may
// hold numbers and UUIDs; what is behind an unknown one does not count.
std::vector<int> visible_devices();

// The last byte of a device's UUID is its number, all others are 0xab.
void write_uuid(void* bytes, int device);
// "GPU-…", or "MIG-…" where the name is that of a part of a device.
std::string uuid_text(int device);

}  // namespace fake_nvidia
