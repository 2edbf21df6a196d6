#include "settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace fake_nvidia {

long number(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atol(text);
}

bool lists(const char* variable, const std::string& name) {
  const char* text = std::getenv(variable);
  std::istringstream items(text == nullptr ? "" : text);
  for (std::string item; std::getline(items, item, ',');) {
    if (item == name) return true;
  }
  return false;
}

const char* device_name() {
  const char* set = std::getenv("FAKE_CUDA_NAME");
  return set == nullptr ? "NVIDIA H100 80GB HBM3" : set;
}

std::vector<int> visible_devices() {
  std::vector<int> out;
  const int count = static_cast<int>(number("FAKE_CUDA_DEVICES"));
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

void write_uuid(void* bytes, int device) {
  std::memset(bytes, 0xab, 16);
  static_cast<unsigned char*>(bytes)[15] = static_cast<unsigned char>(device);
}

std::string uuid_text(int device) {
  char text[64];
  std::snprintf(text, sizeof text, "%s-abababab-abab-abab-abab-ababababab%02x",
                std::strstr(device_name(), " MIG ") == nullptr ? "GPU" : "MIG",
                static_cast<unsigned>(device));
  return text;
}

}  // namespace fake_nvidia
