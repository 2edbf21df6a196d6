// host/loop/channel/channel.h: messages (a Value each, as MessagePack) over one end of a socket
// pair.
//
// A FrameChannel whose frames are messages.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "host/base/codec/codec.h"
#include "host/base/value.h"
#include "host/loop/channel/frame_channel.h"

namespace rtrain::loop {

class Channel : public FrameChannel {
 public:
  using OnMessage = std::function<void(Value message)>;

  Channel(Loop& loop, int fd, OnMessage on_message, OnClose on_close)
      : FrameChannel(
            loop, fd,
            [on_message = std::move(on_message)](const std::string& body) {
              on_message(decode(body));
            },
            std::move(on_close)) {}

  bool send(const Value& message) { return FrameChannel::send(encode(message)); }
};

}  // namespace rtrain::loop
