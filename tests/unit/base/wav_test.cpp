#include "host/base/codec/wav.h"

#include <gtest/gtest.h>

#include <string>

#include "host/base/error.h"

namespace rtrain {
namespace {

using namespace std::string_literals;

// Two channels of 16 bits at 8000 Hz, three frames.
const std::string kStereo =
    "RIFF\x30\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0"s
    "data\x0c\0\0\0"s +
    std::string(12, '\x01');

TEST(Wav, TheHeaderSaysChannelsRateAndLength) {
  const WavFormat format = read_wav_format(kStereo);
  EXPECT_EQ(format.channels, 2U);
  EXPECT_EQ(format.sample_rate, 8000U);
  EXPECT_EQ(format.frames, 3U);
  EXPECT_DOUBLE_EQ(format.seconds(), 3.0 / 8000);
}

TEST(Wav, OtherBytesAreRefused) {
  std::string without_rate = kStereo;
  without_rate.replace(24, 4, 4, '\0');
  std::string without_channels = kStereo;
  without_channels.replace(22, 2, 2, '\0');
  for (const std::string& bytes : {""s, kStereo.substr(0, 43), "RIFX"s + kStereo.substr(4),
                                   std::string(100, 'x'), without_rate, without_channels}) {
    try {
      read_wav_format(bytes);
      ADD_FAILURE() << "read " << bytes.size() << " bytes";
    } catch (const Error& e) {
      EXPECT_EQ(e.message(), "the audio is not a WAV file");
    }
  }
}

}  // namespace
}  // namespace rtrain
