#include "host/wire/wire_frame.h"

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

constexpr std::string_view kTypes = "hwrdaspqfg";
constexpr size_t kMaxLinkName = 256;

void check_position(const LinkPosition& position) {
  const bool is_in_range = position.first >= 1 && position.received >= 0 && position.dropped >= 0;
  if (!position.stream.empty() && is_in_range) return;
  throw Error(Code::kArgument, "a link's position has no stream or a number below its range");
}

}  // namespace

void WireFrame::add_to(std::string& out) const {
  loop::add_frame_length(out, kWireHeaderBytes + payload.size());
  out.push_back(static_cast<char>(type));
  for (size_t i = 0; i < sizeof(number); ++i) out.push_back(static_cast<char>(number >> (8 * i)));
  out.append(payload);
}

WireFrame WireFrame::parse(std::string_view body) {
  if (body.size() < kWireHeaderBytes || kTypes.find(body[0]) == kTypes.npos) {
    throw Error(Code::kArgument, cat("a frame of ", body.size(), " bytes without a known type"));
  }
  WireFrame out{.type = static_cast<WireType>(body[0])};
  for (size_t i = 0; i < sizeof(out.number); ++i)
    out.number |= uint64_t{static_cast<uint8_t>(body[1 + i])} << (8 * i);
  out.payload = body.substr(kWireHeaderBytes);
  return out;
}

std::string LinkHello::encode() const { return rtrain::encode(to_value(*this)); }

LinkHello LinkHello::decode(std::string_view bytes) {
  Value value = rtrain::decode(bytes);
  const Value* version = value.as_map().find("version");
  if (version == nullptr || version->as_int() != kWireVersion) {
    throw Error(Code::kArgument,
                cat("the client speaks version ", version == nullptr ? 0 : version->as_int(),
                    " of the protocol, the server version ", kWireVersion,
                    ": run the same rtrain on all nodes"));
  }
  auto out = from_value<LinkHello>(std::move(value));
  if (out.link.empty() || out.link.size() > kMaxLinkName) {
    throw Error(Code::kArgument,
                cat("a link's name has 1 to ", kMaxLinkName, " bytes, not ", out.link.size()));
  }
  check_position(out.position);
  return out;
}

std::string LinkWelcome::encode() const { return rtrain::encode(to_value(*this)); }

LinkWelcome LinkWelcome::decode(std::string_view bytes) {
  auto out = from_value<LinkWelcome>(rtrain::decode(bytes));
  check_position(out.position);
  return out;
}

}  // namespace rtrain::wire
