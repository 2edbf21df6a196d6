// A libcuda.so.1 that answers as a driver with FAKE_CUDA_DEVICES devices does (FAKE_CUDA_NAME: what
// they are), or with the error FAKE_CUDA_ERROR: for the tests of what comes before any use of a
// device. CUDA_VISIBLE_DEVICES may hold numbers and UUIDs, as with the real one.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

// The last byte of a device's UUID is its number, all others are 0xab.
std::string uuid_text(int device) {
  char digits[12];
  std::snprintf(digits, sizeof digits, "%02x", device);
  return std::string("GPU-abababab-abab-abab-abab-ababababab") + digits;
}

// The devices that this process may see; what is behind an unknown one does not count.
std::vector<int> visible() {
  std::vector<int> out;
  const int count = number("FAKE_CUDA_DEVICES");
  const char* set = std::getenv("CUDA_VISIBLE_DEVICES");
  if (set == nullptr) {
    for (int device = 0; device < count; ++device) out.push_back(device);
    return out;
  }
  std::istringstream items(set);
  for (std::string item; std::getline(items, item, ',');) {
    int found = -1;
    for (int device = 0; device < count; ++device) {
      if (item == std::to_string(device) || item == uuid_text(device)) found = device;
    }
    if (found < 0) break;
    out.push_back(found);
  }
  return out;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return number("FAKE_CUDA_ERROR"); }

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(visible().size());
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = visible().at(static_cast<size_t>(ordinal));
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* bytes, int device) {
  std::memset(bytes, 0xab, 16);
  bytes[15] = static_cast<unsigned char>(device);
  return 0;
}

int cuDeviceGetName(char* name, int size, int) {
  const char* set = std::getenv("FAKE_CUDA_NAME");
  std::snprintf(name, static_cast<size_t>(size), "%s",
                set == nullptr ? "NVIDIA H100 80GB HBM3" : set);
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{80} << 30;
  return 0;
}

int cuGetErrorString(int, const char** text) {
  *text = "the driver is of another version";
  return 0;
}
}
