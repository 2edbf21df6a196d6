// host/wire/wire_frame.h: the messages between two ends of a link: frames, the greeting and its
// answer.
//
// A frame is a 4-byte length, a type, an 8-byte number (both little-endian) and a payload. The
// first frame of a client is a hello, which every version can read as far as its version; a server
// answers with a welcome or a refusal. Pure; what is read comes from another node and is not
// trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/loop/channel/frame.h"

namespace rtrain::wire {

inline constexpr int64_t kWireVersion = 1;

// A message of a channel fits, with what says where it belongs.
inline constexpr size_t kMaxPayloadBytes = loop::kMaxFrameBytes + (size_t{64} << 10);
inline constexpr size_t kWireHeaderBytes = 9;  // type and number
inline constexpr size_t kMaxWireFrameBytes = kWireHeaderBytes + kMaxPayloadBytes;
inline constexpr size_t kWireOverheadBytes = 4 + kWireHeaderBytes;  // with its length

enum class WireType : char {
  kHello = 'h',
  kWelcome = 'w',
  kRefusal = 'r',   // the payload says why
  kData = 'd',      // number: its sequence, from 1
  kAck = 'a',       // number: all up to that one have arrived
  kSkip = 's',      // number: all up to that one will not come
  kPing = 'p',      // number: the sender's clock
  kPong = 'q',      // number: that of the ping
  kFinish = 'f',    // number: the last sequence; nothing comes after it
  kFinished = 'g',  // the answer
};

struct WireFrame {
  WireType type;
  uint64_t number = 0;
  std::string_view payload = {};

  void add_to(std::string& out) const;
  // The payload lies in the body. Throws Error(kArgument) for what is not such a frame.
  static WireFrame parse(std::string_view body);
};

// How far one end of a link has come.
struct LinkPosition {
  std::string stream;       // names the numbering of what this end sends: random
  int64_t first = 1;        // the lowest sequence that it can still send
  std::string peer_stream;  // the numbering that it has received; "" for none
  int64_t received = 0;     // all up to that one
  int64_t dropped = 0;      // all up to that one are not sent any more

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
  std::string link;   // which link this connection belongs to; the client has named it
  std::string about;  // the application's own greeting
  LinkPosition position;

  static constexpr RecordFields kFields{
      required("version", &LinkHello::version), required("build", &LinkHello::build),
      required("link", &LinkHello::link), required("about", &LinkHello::about),
      required("position", &LinkHello::position)};

  std::string encode() const;
  // Throws Error(kArgument), also for another version: it names both.
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
