#include "host/engine/data/idx.h"

#include <ATen/ops/empty.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr int64_t kMaxExpansion = 1100;  // deflate's own limit is 1032
constexpr unsigned kChunkBytes = 1U << 20;

class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(path) {
    struct stat status;
    if (stat(path.c_str(), &status) == 0) file_ = gzopen(path.c_str(), "rb");
    if (file_ == nullptr) {
      throw Error(Code::kNotFound, cat("cannot read '", path, "': ", std::strerror(errno)));
    }
    size_bytes_ = status.st_size;
    gzbuffer(file_, kChunkBytes);
  }
  ~IdxFile() { gzclose_r(file_); }
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  at::Tensor read_all() {
    const std::vector<int64_t> shape = read_header();
    at::Tensor out = at::empty(shape, at::TensorOptions().dtype(at::kByte));
    read(static_cast<uint8_t*>(out.mutable_data_ptr()), out.numel());
    uint8_t extra = 0;
    if (gzread(file_, &extra, 1) > 0) fail("it is longer than its header says");
    return out;
  }

 private:
  [[noreturn]] void fail(std::string_view what) {
    throw Error(Code::kArgument, cat("cannot read '", path_, "': ", what));
  }

  std::vector<int64_t> read_header() {
    uint8_t magic[4];
    read(magic, 4);
    if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0) {
      fail(cat("it is no idx file: it begins with bytes ", magic[0], " ", magic[1], " ", magic[2],
               " ", magic[3], " where 0 0 8 and the number of dimensions should be"));
    }
    if (magic[2] != kUnsignedByte) {
      fail(cat("its elements have idx type ", magic[2], "; only 8, unsigned bytes, is read"));
    }
    std::vector<int64_t> shape;
    int64_t numel = 1;
    for (int i = 0; i < magic[3]; ++i) {
      uint8_t size[4];
      read(size, 4);
      shape.push_back(int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
      // Checked before the memory is taken: a damaged header may ask for anything.
      if (__builtin_mul_overflow(numel, shape.back(), &numel) ||
          numel / kMaxExpansion > size_bytes_) {
        fail(
            cat("it is truncated: its header promises more than its ", size_bytes_, " bytes hold"));
      }
    }
    return shape;
  }

  void read(uint8_t* out, int64_t size) {
    for (int64_t done = 0; done < size;) {
      const auto wanted = static_cast<unsigned>(std::min<int64_t>(size - done, kChunkBytes));
      const int got = gzread(file_, out + done, wanted);
      if (got < 0) fail_read();
      if (got == 0) fail(cat("it is truncated: ", size - done, " bytes are missing"));
      done += got;
    }
  }

  [[noreturn]] void fail_read() {
    int code = 0;
    const char* text = gzerror(file_, &code);
    if (code == Z_ERRNO) text = std::strerror(errno);
    fail(code == Z_BUF_ERROR ? std::string("it is truncated: its compressed data ends too early")
                             : cat("its compressed data is damaged (", text, ")"));
  }

  const std::string& path_;
  int64_t size_bytes_ = 0;
  gzFile file_ = nullptr;
};

}  // namespace

at::Tensor read_idx(const std::string& path) { return IdxFile(path).read_all(); }

}  // namespace rtrain
