#include "host/engine/data/idx.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/byte_order.h"
#include "host/engine/data/gunzip.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

// The dtype of an idx type byte; nullopt for an unknown byte.
std::optional<at::ScalarType> idx_dtype(uint8_t type) {
  switch (type) {
    case 0x08:
      return at::kByte;
    case 0x09:
      return at::kChar;
    case 0x0B:
      return at::kShort;
    case 0x0C:
      return at::kInt;
    case 0x0D:
      return at::kFloat;
    case 0x0E:
      return at::kDouble;
    default:
      return std::nullopt;
  }
}

constexpr int64_t kMaxExpansion = 1100;  // deflate expands at most 1032-fold
constexpr unsigned kChunkBytes = 1U << 20;
constexpr int kMaxDims = 64;  // LibTorch's own limit in many operators
constexpr int64_t kLongestHeader = 4 + 4 * kMaxDims;

class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(path) {
    struct stat status;
    if (stat(path.c_str(), &status) == 0) file_ = gzopen(path.c_str(), "rb");
    if (file_ == nullptr) {
      throw Error(Code::kNotFound, std::strerror(errno));
    }
    size_bytes_ = status.st_size;
    gzbuffer(file_, kChunkBytes);
  }
  ~IdxFile() { gzclose_r(file_); }
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  IdxRows read_rows(int64_t most) {
    Header header = read_header();
    const int64_t count = header.shape[0];
    if (count <= most) return {read_all(header), count};
    header.shape[0] = std::max<int64_t>(most, 0);
    at::Tensor out = read_values(header);
    swap_bytes(out.mutable_data_ptr(), static_cast<size_t>(out.numel()), out.element_size());
    return {out, count};
  }

 private:
  struct Header {
    at::ScalarType dtype;
    std::vector<int64_t> shape;
  };

  at::Tensor read_all(const Header& header) {
    std::optional<at::Tensor> at_once = gzdirect(file_) == 0 ? read_at_once(header) : std::nullopt;
    at::Tensor out = at_once ? *std::move(at_once) : read_in_chunks(header);
    swap_bytes(out.mutable_data_ptr(), static_cast<size_t>(out.numel()), out.element_size());
    return out;
  }

  // Reads a compressed file in one call. nullopt if it is damaged: then read_in_chunks() says how.
  std::optional<at::Tensor> read_at_once(const Header& header) {
    at::Tensor out = empty_tensor_behind(kLongestHeader, header.shape, header.dtype);
    if (size_bytes_ > kLongestHeader + 2 * static_cast<int64_t>(out.nbytes())) return std::nullopt;
    std::vector<uint8_t> file(static_cast<size_t>(size_bytes_));
    std::ifstream input(path_, std::ios::binary);
    if (!input.read(reinterpret_cast<char*>(file.data()), size_bytes_)) return std::nullopt;
    const auto header_bytes = 4 + 4 * header.shape.size();
    auto* begin = static_cast<uint8_t*>(out.mutable_data_ptr()) - header_bytes;
    if (!gunzip(file, {begin, header_bytes + out.nbytes()})) return std::nullopt;
    return out;
  }

  at::Tensor read_values(const Header& header) {
    at::Tensor out = empty_tensor(header.shape, at::TensorOptions().dtype(header.dtype));
    read(static_cast<uint8_t*>(out.mutable_data_ptr()), static_cast<int64_t>(out.nbytes()));
    return out;
  }

  at::Tensor read_in_chunks(const Header& header) {
    at::Tensor out = read_values(header);
    uint8_t extra = 0;
    const int rest = gzread(file_, &extra, 1);
    if (rest < 0) fail_read();
    if (rest > 0) fail("it is longer than its header says");
    return out;
  }

  [[noreturn]] void fail(std::string_view what) { throw Error(Code::kArgument, std::string(what)); }

  Header read_header() {
    uint8_t magic[4];
    read(magic, 4);
    if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0) {
      fail(cat("it is not an idx file: it begins with bytes ", magic[0], " ", magic[1], " ",
               magic[2], " ", magic[3],
               " where 0 0, the type and the number of dimensions should be"));
    }
    const std::optional<at::ScalarType> dtype = idx_dtype(magic[2]);
    if (!dtype) {
      fail(cat("its elements have idx type ", magic[2],
               ", which idx does not know: 8, 9, 11, 12, 13 and 14 are read"));
    }
    if (magic[3] > kMaxDims) fail(cat("it has ", magic[3], " dimensions; 64 are read at most"));
    return {*dtype, read_shape(magic[3], static_cast<int64_t>(c10::elementSize(*dtype)))};
  }

  std::vector<int64_t> read_shape(int dims, int64_t element_bytes) {
    std::vector<int64_t> shape;
    int64_t extent = element_bytes;  // bytes that strides span: a size of 0 counts as 1
    bool fits = true, empty = false;
    for (int i = 0; i < dims; ++i) {
      uint8_t size[4];
      read(size, 4);
      shape.push_back(int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
      empty = empty || shape.back() == 0;
      fits = fits && !__builtin_mul_overflow(extent, std::max<int64_t>(shape.back(), 1), &extent);
    }
    // Checked before memory is allocated, because a damaged header may contain any size.
    if (!fits || (!empty && extent / kMaxExpansion > size_bytes_)) {
      fail(cat("it is truncated: its header promises more than its ", size_bytes_, " bytes hold"));
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

IdxRows read_idx(const std::string& path, int64_t most) { return IdxFile(path).read_rows(most); }

}  // namespace rtrain::engine
