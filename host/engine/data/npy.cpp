#include "host/engine/data/npy.h"

#include <algorithm>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/byte_order.h"
#include "host/engine/data/npy_header.h"
#include "host/engine/data/npz_records.h"
#include "host/engine/files/file_storage.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionEnd = 8;
constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 20;  // NumPy's own limit is 10,000

[[noreturn]] void fail(std::string_view what) { throw Error(Code::kArgument, std::string(what)); }

struct Place {
  uint64_t begin;
  uint64_t size;
};

// Offset and size of the header's text.
Place header_place(const ByteSource& source) {
  const bool whole = source.size() >= kVersionEnd + sizeof(uint16_t);
  if (!whole || source.text(0, kMagic.size()) != kMagic) {
    const bool zip = source.size() >= 4 && source.text(0, 4) == "PK\x03\x04";
    fail(zip ? "it is not a .npy file but a zip archive: is it a .npz?" : "it is not a .npy file");
  }
  const std::string version = source.text(kMagic.size(), 2);
  const int major = static_cast<unsigned char>(version[0]);
  if (major < 1 || major > 3) fail(cat("it has version ", major, " of .npy; 1 to 3 are read"));
  const size_t length_bytes = major == 1 ? sizeof(uint16_t) : sizeof(uint32_t);
  if (source.size() < kVersionEnd + length_bytes) fail("it is truncated: its header is missing");
  uint64_t size = 0;  // little-endian, in the file and on this machine
  source.read(kVersionEnd, &size, length_bytes);
  const uint64_t begin = kVersionEnd + length_bytes;
  if (size > kMaxHeaderBytes) fail(cat("its header would have ", size, " bytes"));
  if (size > source.size() - begin) fail("it is truncated: its header is cut off");
  return {begin, size};
}

// The bytes of all elements. Throws if the file has more or fewer bytes.
uint64_t check_size(const NpyHeader& header, uint64_t held) {
  uint64_t wanted = c10::elementSize(header.dtype);
  bool overflow = false;
  bool empty = false;
  for (const int64_t size : header.shape) {
    empty = empty || size == 0;
    // Strides are computed from all sizes, even if one of the sizes is 0.
    overflow |=
        __builtin_mul_overflow(wanted, static_cast<uint64_t>(std::max<int64_t>(size, 1)), &wanted);
  }
  overflow = overflow || wanted > uint64_t{1} << 62;
  if (empty && !overflow) wanted = 0;
  if (overflow || wanted > held) {
    fail(cat("it is truncated: its header promises ",
             overflow ? std::string("far more") : cat(wanted), " bytes of values where ", held,
             " are"));
  }
  if (wanted < held) fail(cat("it is longer than its header says, by ", held - wanted, " bytes"));
  return wanted;
}

void swap_values(at::Tensor& values) {
  const bool complex = values.is_complex();
  const auto parts = static_cast<size_t>(values.numel()) * (complex ? 2 : 1);
  swap_bytes(values.mutable_data_ptr(), parts, values.element_size() / (complex ? 2 : 1));
}

// The elements in file order, as one dimension.
at::Tensor flat_values(const ByteSource& source, const NpyHeader& header, Place place) {
  const auto width = static_cast<int64_t>(c10::elementSize(header.dtype));
  const auto count = static_cast<int64_t>(place.size) / width;
  const auto options = at::TensorOptions();
  // NumPy reads any byte other than 0 as true, so this does too.
  if (header.dtype == at::kBool) {
    at::Tensor bytes = empty_tensor({count}, options.dtype(at::kByte));
    if (count > 0) source.read(place.begin, bytes.mutable_data_ptr(), place.size);
    return bytes.to(at::kBool);
  }
  if (!header.swapped) {
    at::Tensor out = empty_tensor({0}, options.dtype(header.dtype));
    return out.set_(file_storage(source, place.begin, place.size, static_cast<size_t>(width)), 0,
                    {count}, {1});
  }
  at::Tensor out = empty_tensor({count}, options.dtype(header.dtype));
  if (count > 0) source.read(place.begin, out.mutable_data_ptr(), place.size);
  swap_values(out);
  return out;
}

}  // namespace

at::Tensor read_npy(const ByteSource& source) {
  const Place text = header_place(source);
  const NpyHeader header = parse_npy_header(source.text(text.begin, text.size));
  const uint64_t begin = text.begin + text.size;
  const Place place{begin, check_size(header, source.size() - begin)};
  const at::Tensor flat = flat_values(source, header, place);
  if (!header.fortran_order) return flat.view(header.shape);
  const std::vector<int64_t> turned(header.shape.rbegin(), header.shape.rend());
  std::vector<int64_t> dims(turned.size());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(dims.size() - 1 - i);
  return flat.view(turned).permute(dims);
}

std::vector<std::pair<std::string, at::Tensor>> read_npz(const ByteSource& source) {
  std::vector<std::pair<std::string, at::Tensor>> out;
  visit_npz_records(source, [&](const std::string& name, const ByteSource& record) {
    out.emplace_back(name, read_npy(record));
  });
  return out;
}

}  // namespace rtrain::engine
