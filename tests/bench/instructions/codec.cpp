// tests/bench/instructions/codec.cpp: counts encoding a report to a frame, and decoding it.
#include <string>

#include "host/base/codec/codec.h"
#include "host/loop/channel/frame.h"
#include "host/loop/messages/to_controller.h"
#include "tests/bench/instructions/counted.h"

namespace rtrain {
namespace {

constexpr int kWarm = 20;
constexpr int kCalls = 15;

Value report_message() {
  Map metrics;
  for (int i = 1; i <= 8; ++i) metrics.set("metric_" + std::to_string(i), i / 8.0);
  return to_value(Report{.index = 1000, .time_ms = 1'800'000'000'000, .metrics = metrics});
}

// Returns the message that the other end of a channel receives; nil if the frame is incomplete.
Value send(const Value& message) {
  loop::FrameReader reader;
  reader.add(loop::to_frame(encode(message)));
  const auto body = reader.next();
  return body ? decode(*body) : Value();
}

}  // namespace
}  // namespace rtrain

int main() {
  const rtrain::Value message = rtrain::report_message();
  const std::string sent = rtrain::encode(message);
  for (int i = 0; i < rtrain::kWarm; ++i) {
    if (rtrain::encode(rtrain::send(message)) != sent) return 1;
  }
  for (int i = 0; i < rtrain::kCalls; ++i) {
    count_begin();
    const rtrain::Value received = rtrain::send(message);
    count_end("frame_codec");
  }
  return 0;
}
