// Frames and hellos of a peer, in pieces of any size: a parsed frame must survive writing and
// reading again.
#include "host/wire/wire_frame.h"
#include "tests/soak/fuzz/run_reader.h"

namespace rtrain {
namespace {

template <class Greeting>
void read_greeting(std::string_view payload) {
  run_reader([&] {
    const auto greeting = Greeting::decode(payload);
    if (!(Greeting::decode(greeting.encode()).position == greeting.position)) __builtin_trap();
  });
}

void read_frame(const std::string& body) {
  run_reader([&] {
    const wire::WireFrame frame = wire::WireFrame::parse(body);
    std::string bytes;
    frame.add_to(bytes);
    loop::FrameReader again(wire::kMaxWireFrameBytes);
    again.add(bytes);
    if (again.next() != body) __builtin_trap();
    if (frame.type == wire::WireType::kHello) read_greeting<wire::LinkHello>(frame.payload);
    if (frame.type == wire::WireType::kWelcome) read_greeting<wire::LinkWelcome>(frame.payload);
  });
}

}  // namespace
}  // namespace rtrain

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  return run_reader([&] {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    loop::FrameReader frames(wire::kMaxWireFrameBytes);
    const size_t piece = size == 0 ? 1 : 1 + data[0];
    for (size_t at = 0; at < size; at += piece) {
      frames.add(bytes.substr(at, piece));
      while (const auto body = frames.next()) read_frame(*body);
    }
  });
}
