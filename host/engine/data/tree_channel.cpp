#include "host/engine/data/tree_channel.h"

#include <sys/socket.h>

#include "host/engine/data/packet_channel.h"
#include "host/engine/data/stream_channel.h"

namespace rtrain::engine {

std::unique_ptr<TreeChannel> TreeChannel::open(Fd socket) {
  int type = 0;
  socklen_t size = sizeof(type);
  getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size);
  if (type == SOCK_SEQPACKET) return std::make_unique<PacketChannel>(std::move(socket));
  return std::make_unique<StreamChannel>(std::move(socket));
}

}  // namespace rtrain::engine
