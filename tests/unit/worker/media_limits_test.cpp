#include "host/worker/report/media_limits.h"

#include <gtest/gtest.h>

#include <utility>

#include "host/base/error.h"
#include "host/loop/channel/frame.h"

namespace rtrain::worker {
namespace {

message::Media media_of(size_t bytes) {
  return {.kind = "image", .name = "samples", .data = std::string(bytes, 'x')};
}

std::string refusal(MediaLimits& limits, size_t bytes) {
  try {
    limits.add(media_of(bytes));
  } catch (const Error& e) {
    return e.message();
  }
  return "none";
}

TEST(MediaLimits, AnItemFitsIntoAFrame) {
  MediaLimits limits;
  EXPECT_EQ(refusal(limits, MediaLimits::kMaxItemBytes), "none");
  EXPECT_EQ(refusal(limits, MediaLimits::kMaxItemBytes + 1),
            "log_image: 'samples' has 1000001 bytes as a PNG, at most 1000000 are allowed: log a "
            "smaller image");
  EXPECT_LT(MediaLimits::kMaxItemBytes, loop::kMaxFrameBytes);
}

TEST(MediaLimits, ARefusalNamesTheForm) {
  MediaLimits limits;
  for (const auto& [kind, form] :
       {std::pair{"video", "bytes as an animated PNG, at most 1000000 are allowed: log fewer or"},
        std::pair{"audio", "bytes as a WAV file, at most"}, std::pair{"text", "bytes, at most"},
        std::pair{"table", "bytes as JSON, at most"}}) {
    message::Media media = media_of(MediaLimits::kMaxItemBytes + 1);
    media.kind = kind;
    try {
      limits.add(media);
      ADD_FAILURE() << kind;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(form), std::string::npos) << e.message();
    }
  }
}

TEST(MediaLimits, AllTogetherAreBoundedInBytesAndWhatIsRefusedDoesNotCount) {
  MediaLimits limits;
  const size_t fits = MediaLimits::kMaxBytes / MediaLimits::kMaxItemBytes;
  for (size_t i = 0; i < fits; ++i) ASSERT_EQ(refusal(limits, MediaLimits::kMaxItemBytes), "none");
  EXPECT_NE(refusal(limits, MediaLimits::kMaxItemBytes).find("more than 256 MiB"),
            std::string::npos);
  EXPECT_EQ(refusal(limits, 1), "none");
}

TEST(MediaLimits, TheirNumberIsBounded) {
  MediaLimits limits;
  for (int64_t i = 0; i < MediaLimits::kMaxItems; ++i) ASSERT_EQ(refusal(limits, 1), "none");
  EXPECT_NE(refusal(limits, 1).find("this rank has logged 10000 images"), std::string::npos);
}

}  // namespace
}  // namespace rtrain::worker
