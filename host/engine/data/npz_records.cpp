#include "host/engine/data/npz_records.h"

#include <c10/core/CPUAllocator.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "host/base/codec/stored_zip.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

using Record = StoredZip::Record;

constexpr std::string_view kSuffix = ".npy";
constexpr uint64_t kMaxExpansion = 1100;  // deflate expands at most 1032-fold
constexpr size_t kChunkBytes = size_t{1} << 18;

// A part of another source, which must outlive it.
class Part final : public ByteSource {
 public:
  Part(const ByteSource& whole, uint64_t offset, uint64_t size)
      : whole_(whole), offset_(offset), size_(size) {}

  uint64_t size() const override { return size_; }
  void read(uint64_t offset, void* to, size_t size) const override {
    RT_CHECK(offset <= size_ && size <= size_ - offset);
    whole_.read(offset_ + offset, to, size);
  }

 private:
  const ByteSource& whole_;
  uint64_t offset_, size_;
};

// Owns its bytes, if the machine has enough memory. Users of its mapping() share them.
class Memory final : public ByteSource {
 public:
  explicit Memory(uint64_t size) : size_(size) {
    auto data = std::make_shared<c10::DataPtr>(c10::GetCPUAllocator()->allocate(size));
    bytes_ = std::shared_ptr<char>(data, static_cast<char*>(data->mutable_get()));
  }

  uint64_t size() const override { return size_; }
  void read(uint64_t offset, void* to, size_t size) const override {
    RT_CHECK(offset <= size_ && size <= size_ - offset);
    std::memcpy(to, bytes_.get() + offset, size);
  }
  std::shared_ptr<char> mapping() const override { return bytes_; }
  char* data() { return bytes_.get(); }

 private:
  std::shared_ptr<char> bytes_;
  uint64_t size_;
};

[[noreturn]] void damaged(std::string_view what) {
  throw Error(Code::kArgument, cat("its compressed data is damaged (", what, ")"));
}

// Unpacks one deflated record.
class Inflater {
 public:
  Inflater(const ByteSource& source, const Record& record) : source_(source), record_(record) {
    // A negative value means that the data has no zlib header.
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      throw Error(Code::kOutOfMemory, "no memory to unpack it");
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Memory unpack() {
    Memory out(record_.unpacked_size);
    std::vector<Bytef> chunk(kChunkBytes);
    uint64_t taken = 0, written = 0;
    for (int result = Z_OK; result != Z_STREAM_END;) {
      if (stream_.avail_in == 0) taken += refill(chunk, taken);
      const auto room = static_cast<uInt>(std::min<uint64_t>(out.size() - written, kChunkBytes));
      Bytef past_end = 0;  // inflate needs output space to find the end of the data
      stream_.next_out = room > 0 ? reinterpret_cast<Bytef*>(out.data()) + written : &past_end;
      stream_.avail_out = room > 0 ? room : 1;
      const uInt before = stream_.avail_out;
      result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) damaged(reason(result));
      written += before - stream_.avail_out;
      if (written > out.size()) damaged("it holds more than the archive says");
    }
    if (written != out.size()) damaged("it holds less than the archive says");
    return out;
  }

 private:
  uint64_t refill(std::vector<Bytef>& chunk, uint64_t taken) {
    const uint64_t size = std::min<uint64_t>(record_.size - taken, kChunkBytes);
    if (size == 0) damaged("it ends too early");
    source_.read(record_.offset + taken, chunk.data(), size);
    stream_.next_in = chunk.data();
    stream_.avail_in = static_cast<uInt>(size);
    return size;
  }

  std::string_view reason(int result) const {
    if (stream_.msg != nullptr) return stream_.msg;
    return result == Z_MEM_ERROR ? "no memory" : "no more of it can be read";
  }

  const ByteSource& source_;
  const Record& record_;
  z_stream stream_{};
};

void check_sum(const ByteSource& bytes, uint32_t expected) {
  std::vector<Bytef> chunk(kChunkBytes);
  uLong sum = crc32(0, nullptr, 0);
  for (uint64_t at = 0; at < bytes.size();) {
    const uint64_t size = std::min<uint64_t>(bytes.size() - at, kChunkBytes);
    bytes.read(at, chunk.data(), size);
    sum = crc32(sum, chunk.data(), static_cast<uInt>(size));
    at += size;
  }
  if (sum != expected) throw Error(Code::kArgument, "it is damaged: its checksum is another one");
}

void visit_record(const ByteSource& source, const Record& record,
                  const std::function<void(const ByteSource&)>& visit) {
  if (record.method == StoredZip::kStored) {
    const Part part(source, record.offset, record.size);
    check_sum(part, record.checksum);
    return visit(part);
  }
  if (record.method != StoredZip::kDeflated) {
    throw Error(Code::kArgument, cat("it is compressed by method ", record.method,
                                     ": numpy.savez_compressed writes method 8"));
  }
  if (record.unpacked_size / kMaxExpansion > record.size) {
    damaged(cat(record.size, " bytes cannot hold the ", record.unpacked_size, " it should have"));
  }
  const Memory memory = Inflater(source, record).unpack();
  check_sum(memory, record.checksum);
  visit(memory);
}

}  // namespace

void visit_npz_records(const ByteSource& source,
                       const std::function<void(const std::string&, const ByteSource&)>& visit) {
  const StoredZip zip(source);
  std::vector<const std::pair<const std::string, Record>*> entries;
  for (const auto& entry : zip.records()) entries.push_back(&entry);
  std::ranges::sort(entries, {}, [](const auto* entry) { return entry->second.offset; });
  for (const auto* entry : entries) {
    const std::string& name = entry->first;
    if (!name.ends_with(kSuffix)) {
      throw Error(Code::kArgument, cat("its record '", name, "' is not a .npy file"));
    }
    const std::string array = name.substr(0, name.size() - kSuffix.size());
    try {
      visit_record(source, entry->second, [&](const ByteSource& bytes) { visit(array, bytes); });
    } catch (const Error& error) {
      throw Error(error.code(), cat("its array '", array, "': ", error.message()));
    }
  }
}

}  // namespace rtrain::engine
