#include "host/arrow/readers/ipc_index.h"

#include <arrow/buffer.h>
#include <arrow/ipc/message.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "host/arrow/readers/flat_table.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using ::arrow::io::RandomAccessFile;
using ::arrow::ipc::MessageType;

constexpr std::string_view kMagic = "ARROW1";
constexpr int64_t kHeadBytes = 8;
constexpr int64_t kTailBytes = 10;    // of a file: the footer's size, and the magic again
constexpr int64_t kLookBytes = 4096;  // read at once; most metadata are smaller
constexpr uint32_t kContinuation = 0xFFFFFFFF;

[[noreturn]] void fail(const FileTask& task, std::string_view detail) {
  throw Error(Code::kArgument, failure_text(task, detail));
}

class IndexReader {
 public:
  IndexReader(RandomAccessFile& file, const FileTask& task)
      : file_(file), task_(task), size_(take(file.GetSize(), task)) {}

  IpcIndex run() {
    const auto head = take(file_.ReadAt(0, static_cast<int64_t>(kMagic.size())), task_);
    if (std::string_view(*head) == kMagic) return of_footer();
    if (std::string_view(*head).starts_with("FEA1")) {
      throw Error(Code::kUnsupported,
                  failure_text(task_, "it is Feather of version 1: write it as version 2"));
    }
    return of_stream();
  }

 private:
  FileTask at(int64_t offset) const {
    return task_.with(cat("batch ", index_.batches.size(), ", whose message is at byte ", offset));
  }

  // Reads the message that begins at the offset; nullopt at the end of a stream.
  std::optional<std::pair<IpcMessage, MessageType>> message(int64_t offset) {
    const FileTask task = at(offset);
    const auto head = take(file_.ReadAt(offset, kLookBytes), task);
    const std::string_view bytes(*head);
    if (bytes.empty()) return std::nullopt;
    if (bytes.size() < kHeadBytes / 2) fail(task, "its end is missing");
    const auto first = little_endian<uint32_t>(bytes);
    const bool has_mark = first == kContinuation;  // absent before version 0.15
    if (has_mark && bytes.size() < kHeadBytes) fail(task, "its end is missing");
    const auto size = has_mark ? little_endian<uint32_t>(bytes.substr(kHeadBytes / 2)) : first;
    if (size == 0) return std::nullopt;
    IpcMessage out{.offset = offset + (has_mark ? kHeadBytes : kHeadBytes / 2),
                   .metadata_bytes = size};
    if (out.metadata_bytes > size_ - out.offset) {
      fail(task, index_.batches.empty() ? "it is not an Arrow file or stream, or its end is missing"
                                        : "its end is missing");
    }
    return open(out, *head, offset, task);
  }

  std::pair<IpcMessage, MessageType> open(IpcMessage out, const ::arrow::Buffer& head,
                                          int64_t offset, const FileTask& task) {
    const int64_t begin = out.offset - offset;
    std::shared_ptr<::arrow::Buffer> metadata;
    if (out.metadata_bytes <= head.size() - begin) {
      metadata = take(head.CopySlice(begin, out.metadata_bytes), task);
    } else {
      metadata = take(file_.ReadAt(out.offset, out.metadata_bytes), task);
    }
    const auto message = take(::arrow::ipc::Message::Open(metadata, nullptr), task);
    const FlatTable table{std::string_view(*metadata)};
    out.body_bytes = table.get<int64_t>(3, 0);
    const int64_t rest = size_ - out.offset - out.metadata_bytes;
    if (out.body_bytes < 0 || out.body_bytes > rest) {
      fail(task, cat("its end is missing: it has ", out.body_bytes, " bytes, and ", rest,
                     " are left in the file"));
    }
    const auto batch = table.table(2);
    if (message->type() == MessageType::RECORD_BATCH && batch) {
      out.rows = batch->get<int64_t>(0, 0);
      if (out.rows < 0) fail(task, cat("it is damaged: it promises ", out.rows, " rows"));
    }
    return {out, message->type()};
  }

  IpcIndex of_stream() {
    index_.is_stream = true;
    for (int64_t offset = 0;;) {
      const auto found = message(offset);
      if (!found) break;
      const auto& [place, type] = *found;
      if ((offset == 0) != (type == MessageType::SCHEMA)) {
        fail(at(offset), "it is damaged: a stream has one schema, at its beginning");
      }
      if (type == MessageType::SCHEMA) index_.schema = place;
      if (type == MessageType::RECORD_BATCH) index_.batches.push_back(place);
      if (type == MessageType::DICTIONARY_BATCH) {
        index_.dictionaries.push_back(place);
        index_.batches_before.push_back(static_cast<int64_t>(index_.batches.size()));
      }
      offset = place.offset + place.metadata_bytes + place.body_bytes;
    }
    if (index_.schema.metadata_bytes == 0) fail(task_, "it is empty");
    return std::move(index_);
  }

  IpcIndex of_footer() {
    const FileTask task = task_.with("footer");
    if (size_ < kHeadBytes + kTailBytes) fail(task, "its end is missing");
    const auto tail = take(file_.ReadAt(size_ - kTailBytes, kTailBytes), task);
    const std::string_view text(*tail);
    const auto bytes = static_cast<int64_t>(little_endian<uint32_t>(text));
    if (text.substr(4) != kMagic || bytes > size_ - kTailBytes - kHeadBytes) {
      fail(task, "it has no footer: its end is missing");
    }
    const auto footer = take(file_.ReadAt(size_ - kTailBytes - bytes, bytes), task);
    const FlatTable table{std::string_view(*footer)};
    constexpr size_t kBlocks = 3;       // the field recordBatches
    constexpr size_t kBlockBytes = 24;  // offset, size of the metadata, size of the body
    const auto blocks = table.items(kBlocks);
    for (size_t i = 0; i < blocks.count; ++i) {
      const auto offset = table.number<int64_t>(blocks.first + i * kBlockBytes);
      if (offset < kHeadBytes || offset >= size_) fail(task, "it is damaged");
      const auto found = message(offset);
      if (!found || found->second != MessageType::RECORD_BATCH) {
        fail(at(offset), "it is damaged: the footer says that a batch is there");
      }
      index_.batches.push_back(found->first);
    }
    return std::move(index_);
  }

  RandomAccessFile& file_;
  FileTask task_;
  int64_t size_;
  IpcIndex index_;
};

}  // namespace

IpcIndex read_ipc_index(RandomAccessFile& file, const FileTask& task) {
  return in_file(task, [&] { return IndexReader(file, task).run(); });
}

}  // namespace rtrain::arrow
