// host/loop/descriptor_message.h: one message with at most one descriptor, as a packet of a Unix
// socket.
#pragma once

#include <optional>

#include "host/base/value.h"

namespace rtrain {

struct DescriptorMessage {
  Value value;
  int fd = -1;  // belongs to the receiver
};

// False when the other end is gone, or takes no more. The descriptor stays the sender's.
bool send_descriptor_message(int socket, const Value& value, int fd = -1);

enum class Received { kMessage, kNothing, kEnd };

// Does not wait. What does not decode counts as the end.
Received receive_descriptor_message(int socket, DescriptorMessage& out);

}  // namespace rtrain
