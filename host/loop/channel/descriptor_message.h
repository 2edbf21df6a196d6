// host/loop/channel/descriptor_message.h: one message with descriptors, as a packet of a Unix
// socket.
#pragma once

#include <vector>

#include "host/base/files/fd.h"
#include "host/base/value.h"

namespace rtrain::loop {

struct DescriptorMessage {
  Value value;
  std::vector<Fd> fds;  // in the order in which they were sent
};

// False when the other end is gone, or takes no more, or the kernel does not send that much at
// once: 128 KiB and 253 descriptors. The descriptors stay the sender's.
bool send_descriptor_message(int socket, const Value& value, const std::vector<int>& fds = {});

enum class Received { kMessage, kNothing, kEnd };

// Does not wait. Bytes that do not decode count as the end.
Received receive_descriptor_message(int socket, DescriptorMessage& out);

// The same, as long as it takes. Nothing at the end.
bool wait_for_descriptor_message(int socket, DescriptorMessage& out);

}  // namespace rtrain::loop
