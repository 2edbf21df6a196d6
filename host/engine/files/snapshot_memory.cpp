#include "host/engine/files/snapshot_memory.h"

#include <ATen/Parallel.h>
#include <sys/mman.h>

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/files/file_storage.h"
#include "host/engine/files/stream_copy.h"

namespace rtrain::engine {
namespace {

constexpr size_t kAlignment = 64;
// With huge pages 400 MB need 200 pages instead of 100,000.
constexpr size_t kPage = size_t{2} << 20;
// Bytes that one thread copies at a time.
constexpr size_t kPart = size_t{1} << 20;

size_t rounded(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

void copy(char* target, const at::Tensor& source) {
  const auto* bytes = static_cast<const char*>(source.const_data_ptr());
  const size_t size = source.nbytes();
  const auto parts = static_cast<int64_t>((size + kPart - 1) / kPart);
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    const size_t begin = static_cast<size_t>(first) * kPart;
    const size_t end = std::min(size, static_cast<size_t>(last) * kPart);
    stream_copy(target + begin, bytes + begin, end - begin);
  });
}

}  // namespace

SnapshotMemory::~SnapshotMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

void SnapshotMemory::reserve(size_t size) {
  if (size <= size_) return;
  if (data_ != nullptr) munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
  size = rounded(size, kPage);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(Code::kOutOfMemory,
                cat("no memory for a copy of ", size >> 20, " MiB: save without async_save"));
  }
  madvise(memory, size, MADV_HUGEPAGE);
  data_ = static_cast<char*>(memory);
  size_ = size;
}

std::vector<c10::Storage> SnapshotMemory::take(const std::vector<c10::Storage>& storages) {
  size_t total = 0;
  for (const c10::Storage& storage : storages) total += rounded(storage.nbytes(), kAlignment);
  reserve(total);
  std::vector<c10::Storage> out;
  out.reserve(storages.size());
  char* target = data_;
  for (const c10::Storage& storage : storages) {
    const size_t size = storage.nbytes();
    copy(target, host_bytes(storage));
    out.emplace_back(c10::Storage::use_byte_size_t(), size,
                     c10::DataPtr(target, c10::Device(c10::kCPU)));
    target += rounded(size, kAlignment);
  }
  return out;
}

}  // namespace rtrain::engine
