#include "host/engine/files/safetensors.h"

#include <algorithm>
#include <map>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/files/file_storage.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/shard_guard.h"

namespace rtrain::engine {
namespace {

constexpr size_t kLengthBytes = 8;

// The range of storage bytes from the tensor's first element to its last.
std::pair<int64_t, int64_t> extent(const at::Tensor& tensor) {
  int64_t last = tensor.storage_offset();
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  const auto item_size = static_cast<int64_t>(tensor.element_size());
  return {tensor.storage_offset() * item_size, (last + 1) * item_size};
}

void check_shared(const NamedTensors& content) {
  struct Place {
    const std::string* name;
    int64_t begin, end;
  };
  std::map<const void*, std::vector<Place>> storages;
  for (const auto& [name, tensor] : content.tensors) {
    if (tensor.numel() == 0) continue;
    const auto [begin, end] = extent(tensor);
    storages[tensor.storage().unsafeGetStorageImpl()].push_back({&name, begin, end});
  }
  for (auto& [storage, places] : storages) {
    std::ranges::stable_sort(places, {}, &Place::begin);
    for (size_t i = 1; i < places.size(); ++i) {
      if (places[i].begin >= places[i - 1].end) continue;
      throw Error(Code::kArgument,
                  cat("tensors ", *places[i - 1].name, " and ", *places[i].name,
                      " share memory, which safetensors cannot keep: leave one out, or save a "
                      "clone of it"));
    }
  }
}

at::Tensor tensor_of(const ByteSource& source, const SafetensorsEntry& entry, c10::Device device) {
  const c10::Storage stored =
      file_storage(source, entry.begin, entry.end - entry.begin, c10::elementSize(entry.dtype));
  const c10::Storage storage = storage_on(stored, device, "cpu");
  at::Tensor out =
      empty_tensor({0}, at::TensorOptions().dtype(entry.dtype).device(storage.device()));
  std::vector<int64_t> strides(entry.shape.size(), 1);
  for (size_t i = entry.shape.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * std::max<int64_t>(entry.shape[i - 1], 1);
  }
  return out.set_(storage, 0, entry.shape, strides);
}

uint64_t header_size(const ByteSource& source) {
  if (source.size() < kLengthBytes) throw Error(Code::kArgument, "it is too short for safetensors");
  uint64_t out = 0;
  source.read(0, &out, kLengthBytes);
  if (out <= kMaxSafetensorsHeader && out <= source.size() - kLengthBytes) return out;
  const bool zip = source.text(0, 4) == "PK\x03\x04";
  throw Error(
      Code::kArgument,
      zip ? std::string("it is not a safetensors file but a zip archive: try torch.load")
          : cat("it is not a safetensors file, or cut off: its header would have ", out, " bytes"));
}

}  // namespace

void check_dense(const std::string& name, const at::Tensor& tensor) {
  check_whole(tensor, "safetensors");
  if (tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.is_quantized()) return;
  throw Error(Code::kArgument, cat("tensor ", name, ": safetensors holds dense tensors only, not ",
                                   std::string_view(tensor.toString())));
}

SafetensorsContent lay_out_safetensors(const NamedTensors& named) {
  for (const auto& [name, tensor] : named.tensors) check_dense(name, tensor);
  check_shared(named);
  SafetensorsHeader header;
  header.metadata = named.metadata;
  for (const auto& [name, tensor] : named.tensors) {
    header.tensors.push_back({name, tensor.scalar_type(), tensor.sizes().vec()});
  }
  SafetensorsContent out;
  for (const size_t i : place_safetensors(header)) out.values.push_back(named.tensors[i].second);
  out.header = safetensors_header_text(header);
  return out;
}

at::Tensor file_values(const at::Tensor& tensor) {
  return tensor.detach().resolve_conj().resolve_neg().contiguous();
}

void write_safetensors_header(const std::string& header, NewFile& file) {
  const uint64_t size = header.size();
  file.write(&size, kLengthBytes);
  file.write(header.data(), header.size());
}

void write_safetensors(const SafetensorsContent& content, const std::string& path) {
  NewFile file(path);
  write_safetensors_header(content.header, file);
  for (const at::Tensor& tensor : content.values) {
    const at::Tensor values = file_values(tensor).cpu();
    file.write(values.const_data_ptr(), values.nbytes());
  }
  file.commit();
}

void save_safetensors(const NamedTensors& named, const std::string& path) {
  write_safetensors(lay_out_safetensors(named), path);
}

SafetensorsHeader read_safetensors_header(const ByteSource& source) {
  const uint64_t size = header_size(source);
  const uint64_t data_at = kLengthBytes + size;
  SafetensorsHeader out =
      parse_safetensors_header(source.text(kLengthBytes, size), source.size() - data_at);
  for (SafetensorsEntry& entry : out.tensors) {
    entry.begin += data_at;
    entry.end += data_at;
  }
  return out;
}

NamedTensors load_safetensors(const ByteSource& source, c10::Device device) {
  SafetensorsHeader header = read_safetensors_header(source);
  NamedTensors out;
  out.metadata = std::move(header.metadata);
  for (const SafetensorsEntry& entry : header.tensors) {
    out.tensors.emplace_back(entry.name, tensor_of(source, entry, device));
  }
  return out;
}

}  // namespace rtrain::engine
