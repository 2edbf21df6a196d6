// An NVRTC for the simulated GPU: the code of a kernel is its text, which gpu/modules.cpp compiles
// for the host. FAKE_NVRTC_REFUSES: the text of a refusal of all kernels. FAKE_NVRTC_MS: how long a
// compilation takes.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "settings.h"

namespace {

// Ends with a zero, as an image that the driver reads.
size_t copy(const std::string& text, char* to) {
  if (to != nullptr) std::memcpy(to, text.c_str(), text.size() + 1);
  return text.size() + 1;
}

std::string refusal() {
  const char* text = std::getenv("FAKE_NVRTC_REFUSES");
  return text == nullptr ? "" : text;
}

const std::string& text_of(void* program) { return *static_cast<std::string*>(program); }

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

int nvrtcCreateProgram(void** program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  *program = new std::string(text);
  return 0;
}

int nvrtcCompileProgram(void*, int, const char* const*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(fake_nvidia::number("FAKE_NVRTC_MS")));
  return refusal().empty() ? 0 : 6;
}

int nvrtcGetProgramLogSize(void*, size_t* size) {
  *size = copy(refusal(), nullptr);
  return 0;
}

int nvrtcGetProgramLog(void*, char* log) {
  copy(refusal(), log);
  return 0;
}

int nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = copy(text_of(program), nullptr);
  return 0;
}

int nvrtcGetCUBIN(void* program, char* code) {
  copy(text_of(program), code);
  return 0;
}

int nvrtcDestroyProgram(void** program) {
  delete static_cast<std::string*>(*program);
  return 0;
}
}
