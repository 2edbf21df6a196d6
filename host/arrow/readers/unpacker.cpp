#include "host/arrow/readers/unpacker.h"

#include <arrow/util/compression.h>
#include <lzma.h>

#include <utility>

#include "host/arrow/types/status.h"

namespace rtrain::arrow {
namespace {

::arrow::Status too_much_memory() {
  return ::arrow::Status::NotImplemented("it needs more memory to be unpacked than is allowed");
}

class ArrowUnpacker final : public Unpacker {
 public:
  explicit ArrowUnpacker(::arrow::Compression::type type) {
    const FileTask task{"unpack", ::arrow::util::Codec::GetCodecAsString(type)};
    codec_ = take(::arrow::util::Codec::Create(type), task);
    decompressor_ = take(codec_->MakeDecompressor(), task);
  }

  ::arrow::Result<Step> run(const uint8_t* from, int64_t from_size, uint8_t* to,
                            int64_t to_size) override {
    const auto step = decompressor_->Decompress(from_size, from, to_size, to);
    if (!step.ok()) return status_of(step.status());
    return Step{.read = step->bytes_read, .written = step->bytes_written};
  }
  bool is_finished() override { return decompressor_->IsFinished(); }
  ::arrow::Status restart() override { return decompressor_->Reset(); }

 private:
  // Translates the error of Zstandard for a window above its limit of 128 MiB.
  static ::arrow::Status status_of(const ::arrow::Status& status) {
    const bool is_too_much = status.message().find("too much memory") != std::string::npos;
    return is_too_much ? too_much_memory() : status;
  }

  std::unique_ptr<::arrow::util::Codec> codec_;
  std::shared_ptr<::arrow::util::Decompressor> decompressor_;
};

class XzUnpacker final : public Unpacker {
 public:
  XzUnpacker() { failed_ = begin(); }
  ~XzUnpacker() override { lzma_end(&stream_); }
  XzUnpacker(const XzUnpacker&) = delete;
  XzUnpacker& operator=(const XzUnpacker&) = delete;

  ::arrow::Result<Step> run(const uint8_t* from, int64_t from_size, uint8_t* to,
                            int64_t to_size) override {
    ARROW_RETURN_NOT_OK(failed_);
    stream_.next_in = from;
    stream_.avail_in = static_cast<size_t>(from_size);
    stream_.next_out = to;
    stream_.avail_out = static_cast<size_t>(to_size);
    const lzma_ret code = lzma_code(&stream_, LZMA_RUN);
    finished_ = code == LZMA_STREAM_END;
    // LZMA_BUF_ERROR means that no progress was possible, which the caller detects itself.
    if (code != LZMA_OK && code != LZMA_BUF_ERROR && !finished_) return status_of(code);
    return Step{.read = from_size - static_cast<int64_t>(stream_.avail_in),
                .written = to_size - static_cast<int64_t>(stream_.avail_out)};
  }
  bool is_finished() override { return finished_; }
  ::arrow::Status restart() override {
    finished_ = false;
    return begin();
  }

 private:
  static constexpr uint64_t kMostMemory = uint64_t{256} << 20;

  static ::arrow::Status status_of(lzma_ret code) {
    switch (code) {
      case LZMA_MEM_ERROR:
        return ::arrow::Status::OutOfMemory("not enough memory to unpack it");
      case LZMA_MEMLIMIT_ERROR:
        return too_much_memory();
      case LZMA_OPTIONS_ERROR:
        return ::arrow::Status::NotImplemented("it is packed with a filter that is not known");
      default:
        return ::arrow::Status::Invalid("its bytes or their checksum are wrong");
    }
  }

  ::arrow::Status begin() {
    const lzma_ret code = lzma_stream_decoder(&stream_, kMostMemory, 0);
    return code == LZMA_OK ? ::arrow::Status::OK() : status_of(code);
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  ::arrow::Status failed_;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Unpacker> make_unpacker(Packing packing) {
  switch (packing) {
    case Packing::kGzip:
      return std::make_unique<ArrowUnpacker>(::arrow::Compression::GZIP);
    case Packing::kZstandard:
      return std::make_unique<ArrowUnpacker>(::arrow::Compression::ZSTD);
    case Packing::kBzip2:
      return std::make_unique<ArrowUnpacker>(::arrow::Compression::BZ2);
    case Packing::kXz:
      break;
  }
  return std::make_unique<XzUnpacker>();
}

}  // namespace rtrain::arrow
