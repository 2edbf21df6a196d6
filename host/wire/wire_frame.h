// host/wire/wire_frame.h: the messages between two ends of a link: frames, the greeting and its
// answer.
//
// A frame is a 4-byte length, a type, an 8-byte number (length and number little-endian) and a
// payload. A client's first frame is a hello, of which every version can read the version; a server
// answers with a welcome or a refusal.
// Pure. The bytes come from another node, so they are checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/loop/channel/frame.h"

namespace rtrain::wire {

inline constexpr int64_t kWireVersion = 1;

// Large enough for a message of a channel with its envelope.
inline constexpr size_t kMaxPayloadBytes = loop::kMaxFrameBytes + (size_t{64} << 10);
inline constexpr size_t kWireHeaderBytes = 9;  // type and number
inline constexpr size_t kMaxWireFrameBytes = kWireHeaderBytes + kMaxPayloadBytes;
inline constexpr size_t kWireOverheadBytes = 4 + kWireHeaderBytes;  // with its length

enum class WireType : char {
  kHello = 'h',
  kWelcome = 'w',
  kRefusal = 'r',   // the payload says why
  kData = 'd',      // number: its own, from 1
  kAck = 'a',       // number: all frames up to this one have come
  kSkip = 's',      // number: all frames up to this one are dropped
  kPing = 'p',      // number: the sender's clock
  kPong = 'q',      // number: the same as in the ping
  kFinish = 'f',    // number: of the last frame; none follows
  kFinished = 'g',  // the answer to kFinish
};

struct WireFrame {
  WireType type;
  uint64_t number = 0;
  std::string_view payload = {};

  void add_to(std::string& out) const;
  // The payload points into the body. Throws Error(kArgument) for bytes that are not a frame.
  static WireFrame parse(std::string_view body);
};

// The frames that one end of a link has sent and received.
struct LinkPosition {
  std::string stream;       // the random name of this end's numbering
  int64_t first = 1;        // the lowest number that it can still send
  std::string peer_stream;  // the other end's numbering; "" when none is known
  int64_t received = 0;     // it has all frames up to this number
  int64_t dropped = 0;      // it has dropped its frames up to this number

  bool operator==(const LinkPosition&) const = default;
  static constexpr RecordFields kFields{
      required("stream", &LinkPosition::stream), required("first", &LinkPosition::first),
      required("peer_stream", &LinkPosition::peer_stream),
      required("received", &LinkPosition::received), optional("dropped", &LinkPosition::dropped)};
};

// A client's first frame.
struct LinkHello {
  int64_t version = kWireVersion;
  std::string build;  // build_id()
  std::string link;   // the name of the link, which the client has chosen
  std::string about;  // the application's part
  LinkPosition position;

  static constexpr RecordFields kFields{
      required("version", &LinkHello::version), required("build", &LinkHello::build),
      required("link", &LinkHello::link), required("about", &LinkHello::about),
      required("position", &LinkHello::position)};

  std::string encode() const;
  // Throws Error(kArgument), also for another version, which it names.
  static LinkHello decode(std::string_view bytes);
};

// The server's answer.
struct LinkWelcome {
  LinkPosition position;

  static constexpr RecordFields kFields{required("position", &LinkWelcome::position)};

  std::string encode() const;
  // Throws Error(kArgument).
  static LinkWelcome decode(std::string_view bytes);
};

}  // namespace rtrain::wire
