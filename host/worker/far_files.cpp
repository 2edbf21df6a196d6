#include "host/worker/far_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "host/base/text/text.h"
#include "host/store/files/file.h"
#include "host/worker/report/controller_lost.h"
#include "host/worker/report/replies.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {
namespace {

constexpr size_t kOnTheWay = 4;

std::string read_part(const store::OpenFile& file) {
  std::string bytes(store::kFarPartBytes, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t n = ::read(file.fd(), bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw store::file_error("read", file.path());
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

FarFiles::FarFiles(WorkerProcess& worker) : worker_(worker) { store::set_far_store(this); }

FarFiles::~FarFiles() { store::set_far_store(nullptr); }

Value FarFiles::wait(int64_t id) {
  const double timeout_s = worker_.context().timeout_s;
  auto answer = worker_.wait_reply(id, to_ms(timeout_s) + kAnswerGrace);
  if (!answer) throw controller_silent("a file of a checkpoint", timeout_s);
  return std::move(*answer);
}

void FarFiles::put(int64_t index, const StagedRank& staged, const std::string& folder,
                   const store::BytesMoved& moved) {
  wait(worker_.request(message::PutFile{.index = index}));  // the folder, which may have no file
  for (const CheckpointFile& file : staged.files) {
    if (!file.link) put_file(index, file.path, cat(folder, "/", file.path), moved);
  }
  for (const CheckpointFile& file : staged.files) {  // last, so that no file is written through one
    if (!file.link) continue;
    wait(worker_.request(message::PutFile{.index = index, .path = file.path, .link = file.link}));
  }
}

void FarFiles::put_file(int64_t index, const std::string& path, const std::string& source,
                        const store::BytesMoved& moved) {
  const store::OpenFile file(source, O_RDONLY);
  std::deque<std::pair<int64_t, size_t>> waiting;  // calls, and the bytes of each
  const auto wait_for_first = [&] {
    const auto [id, size] = waiting.front();
    waiting.pop_front();
    wait(id);
    moved(size);
  };
  int64_t offset = 0;
  for (bool is_last = false; !is_last;) {
    std::string bytes = read_part(file);
    const size_t size = bytes.size();
    is_last = size < store::kFarPartBytes;
    if (waiting.size() == kOnTheWay) wait_for_first();
    const int64_t id = worker_.request(message::PutFile{.index = index,
                                                        .path = path,
                                                        .offset = offset,
                                                        .bytes = std::move(bytes),
                                                        .is_last = is_last});
    waiting.emplace_back(id, size);
    offset += static_cast<int64_t>(size);
  }
  while (!waiting.empty()) wait_for_first();
}

// Asks for several parts ahead. `take` gets them in their order.
template <class Take>
void FarFiles::read_parts(const std::string& name, const std::string& path, const Take& take) {
  std::deque<int64_t> waiting;
  int64_t offset = 0;
  bool at_end = false;
  while (!at_end || !waiting.empty()) {
    while (!at_end && waiting.size() < kOnTheWay) {
      waiting.push_back(
          worker_.request(message::ReadFile{.name = name, .path = path, .offset = offset}));
      offset += static_cast<int64_t>(store::kFarPartBytes);
    }
    const Value answer = wait(waiting.front());
    waiting.pop_front();
    const std::string& bytes = answer.as_string();
    at_end = at_end || bytes.size() < store::kFarPartBytes;
    take(bytes);
  }
}

std::string FarFiles::read(const std::string& name, const std::string& path) {
  std::string out;
  read_parts(name, path, [&](const std::string& bytes) { out += bytes; });
  return out;
}

void FarFiles::get_file(const std::string& name, const std::string& path,
                        const std::string& target) {
  store::OpenFile file(target, O_WRONLY | O_CREAT | O_TRUNC);
  read_parts(name, path, [&](const std::string& bytes) { file.write(bytes); });
  file.sync_data();
}

}  // namespace rtrain::worker
