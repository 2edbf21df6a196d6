#include "host/engine/data/packet_channel.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/base/error.h"
#include "host/base/files/write_all.h"
#include "host/base/text/text.h"
#include "host/engine/data/packed_tree.h"
#include "host/engine/data/socket_deadline.h"

namespace rtrain::engine {
namespace {

constexpr size_t kMostInline = 16384;
// The first byte of a packet: where the message's bytes are.
enum Form : char { kInline, kFile };

[[noreturn]] void fail(const std::string& what) {
  throw Error(Code::kEnvironment, cat(what, ": ", std::string_view(std::strerror(errno))));
}

// Writes the file instead of mapping it, so that a lack of memory is an error and not a signal.
Fd to_file(const PackedTree& packed) {
  Fd file(memfd_create("rtrain-rows", MFD_CLOEXEC));
  if (!file.is_open()) fail("cannot make a memory file");
  packed.write([&file](std::string_view bytes) {
    if (!write_all(file.get(), bytes)) fail("cannot keep a block of rows in memory");
  });
  return file;
}

Tree from_file(Fd file) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) fail("cannot read a memory file");
  const auto size = static_cast<size_t>(info.st_size);
  constexpr int kAllAtOnce = MAP_SHARED | MAP_POPULATE;  // faster than one page fault per page
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, kAllAtOnce, file.get(), 0);
  if (data == MAP_FAILED) fail("cannot map a memory file");
  const std::shared_ptr<void> owner(data, [size](void* mapped) { munmap(mapped, size); });
  return unpack_tree({static_cast<const char*>(data), size}, owner);
}

// A packet's bytes after the first one, and the file descriptor that came with it, if any.
struct Packet {
  char form = kInline;
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>(kMostInline, '\0');
  Fd file = {};
};

struct Message {
  Message(char& form, char* bytes, size_t size) : parts{{&form, 1}, {bytes, size}} {
    header.msg_iov = parts;
    header.msg_iovlen = 2;
  }
  void add_control() {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  iovec parts[2];
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

// Returns nullopt if the other end is closed.
std::optional<Packet> read_packet(int fd) {
  Packet out;
  Message message(out.form, out.bytes->data(), out.bytes->size());
  message.add_control();
  ssize_t n = 0;
  do n = recvmsg(fd, &message.header, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno != ECONNRESET) fail("cannot receive from another process");
  if (n <= 0) return std::nullopt;
  out.bytes->resize(static_cast<size_t>(n) - 1);
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&message.header)) {
    int received = -1;
    std::memcpy(&received, CMSG_DATA(rights), sizeof(received));
    out.file = Fd(received);
  } else if (out.form == kFile) {
    throw Error(Code::kEnvironment,
                "a block of rows was lost: this process has too many open files (`ulimit -n`)");
  }
  return out;
}

void attach(Message& message, int file) {
  message.add_control();
  cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(file));
  std::memcpy(CMSG_DATA(rights), &file, sizeof(file));
}

bool is_gone(int error) { return error == EPIPE || error == ECONNRESET; }

// The kernel's queue of packets or of descriptors in flight is full. That is temporary.
bool is_full(int error) { return error == EAGAIN || error == ETOOMANYREFS || error == ENOBUFS; }

bool write_packet(int fd, const msghdr& header, const SocketDeadline& deadline) {
  constexpr useconds_t kPauseUs = 500;
  while (sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (is_gone(errno)) return false;
    if (errno == EINTR) continue;
    if (!is_full(errno)) fail("cannot send to another process");
    if (errno != EAGAIN) usleep(kPauseUs);
    if (!deadline.wait(fd, POLLOUT) || deadline.is_over()) {
      throw Error(Code::kTimeout, "another process takes no more messages");
    }
  }
  return true;
}

}  // namespace

std::optional<size_t> PacketChannel::send(const Tree& tree, std::chrono::milliseconds timeout) {
  const PackedTree packed(tree);
  if (!send_packed(packed, timeout)) return std::nullopt;
  return packed.size();
}

bool PacketChannel::send_packed(const PackedTree& packed, std::chrono::milliseconds timeout) {
  const SocketDeadline deadline(timeout);
  if (packed.size() > kMostInline) {
    const Fd file = to_file(packed);
    char form = kFile;
    Message message(form, nullptr, 0);
    attach(message, file.get());
    return write_packet(fd_.get(), message.header, deadline);
  }
  std::string bytes;
  packed.write([&bytes](std::string_view part) { bytes += part; });
  char form = kInline;
  return write_packet(fd_.get(), Message(form, bytes.data(), bytes.size()).header, deadline);
}

TreeChannel::Received PacketChannel::receive(std::chrono::milliseconds timeout) {
  if (!SocketDeadline(timeout).wait(fd_.get(), POLLIN)) return {Received::Kind::kTimeout};
  std::optional<Packet> packet = read_packet(fd_.get());
  if (!packet) return {Received::Kind::kClosed};
  if (packet->form == kFile) return {Received::Kind::kTree, from_file(std::move(packet->file))};
  return {Received::Kind::kTree, unpack_tree(*packet->bytes, packet->bytes)};
}

}  // namespace rtrain::engine
