// host/base/codec/wav.h: what the header of a WAV file says. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace rtrain {

struct WavFormat {
  uint32_t channels = 0;
  uint32_t sample_rate = 0;  // samples a second of each channel
  uint64_t frames = 0;       // samples of each channel

  double seconds() const { return static_cast<double>(frames) / sample_rate; }
};

// Reads the header that train.log_audio writes: the format, then the samples. Throws
// Error(kArgument) for anything else.
WavFormat read_wav_format(std::string_view file);

}  // namespace rtrain
