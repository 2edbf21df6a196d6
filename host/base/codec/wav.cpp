#include "host/base/codec/wav.h"

#include "host/base/error.h"

namespace rtrain {
namespace {

constexpr size_t kHeaderBytes = 44;

uint32_t little_endian(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

}  // namespace

WavFormat read_wav_format(std::string_view file) {
  const bool is_wav = file.size() >= kHeaderBytes && file.starts_with("RIFF") &&
                      file.substr(8, 8) == "WAVEfmt " && file.substr(36, 4) == "data";
  const auto number = [&](size_t at, size_t bytes) {
    return is_wav ? little_endian(file.substr(at, bytes)) : 0;
  };
  const uint32_t frame_bytes = number(32, 2);
  const WavFormat out{.channels = number(22, 2),
                      .sample_rate = number(24, 4),
                      .frames = frame_bytes ? (file.size() - kHeaderBytes) / frame_bytes : 0};
  if (out.channels == 0 || out.sample_rate == 0 || frame_bytes == 0) {
    throw Error(Code::kArgument, "the audio is not a WAV file");
  }
  return out;
}

}  // namespace rtrain
