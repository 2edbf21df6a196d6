// A libcuda.so.1 that answers as a driver with FAKE_CUDA_DEVICES devices does, or with the error
// FAKE_CUDA_ERROR: for the tests of what comes before any use of a device.
#include <cstdlib>

namespace {

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return number("FAKE_CUDA_ERROR"); }

int cuDeviceGetCount(int* count) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  *count = visible != nullptr && *visible == '\0' ? 0 : number("FAKE_CUDA_DEVICES");
  return 0;
}

int cuGetErrorString(int, const char** text) {
  *text = "the driver is of another version";
  return 0;
}
}
