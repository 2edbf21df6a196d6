// host/loop/channel/descriptor_message.h: sends and receives one message with descriptors, as a
// packet of a Unix socket.
#pragma once

#include <vector>

#include "host/base/files/fd.h"
#include "host/base/value.h"

namespace rtrain::loop {

struct DescriptorMessage {
  Value value;
  std::vector<Fd> fds;  // in the order in which they were sent
};

// Returns false when the other end is closed or does not read, or when the kernel refuses the size:
// it sends at most 128 KiB and 253 descriptors at once. The sender keeps its descriptors.
bool send_descriptor_message(int socket, const Value& value, const std::vector<int>& fds = {});

enum class Received { kMessage, kNothing, kEnd };

// Does not wait. Bytes that do not decode count as the end of the stream.
Received receive_descriptor_message(int socket, DescriptorMessage& out);

// Waits for a message without a time limit. Returns false at the end of the stream.
bool wait_for_descriptor_message(int socket, DescriptorMessage& out);

}  // namespace rtrain::loop
