#include "host/engine/files/joined_safetensors.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/files/input_file.h"
#include "host/base/text/text.h"
#include "host/engine/files/safetensors.h"

namespace rtrain::engine {
namespace {

constexpr size_t kBuffer = size_t{4} << 20;

void copy_part(const FilePart& part, std::vector<char>& buffer, NewFile& file) {
  const InputFile source(part.path, InputFile::Access::kCopy);
  if (part.offset > source.size() || source.size() - part.offset < part.size) {
    throw Error(Code::kArgument,
                cat("'", part.path, "' is cut off: it has ", source.size(), " bytes"));
  }
  for (uint64_t done = 0; done < part.size;) {
    const size_t count = std::min<uint64_t>(buffer.size(), part.size - done);
    source.read(part.offset + done, buffer.data(), count);
    file.write(buffer.data(), count);
    done += count;
  }
}

void write_tensor(const JoinedTensor& tensor, std::vector<char>& buffer, NewFile& file) {
  if (tensor.values.defined()) {
    const at::Tensor values = file_values(tensor.values).cpu();
    file.write(values.const_data_ptr(), values.nbytes());
    return;
  }
  for (const FilePart& part : tensor.parts) copy_part(part, buffer, file);
}

void check_parts(const JoinedTensor& tensor, const SafetensorsEntry& place) {
  if (tensor.values.defined()) return;
  uint64_t size = 0;
  for (const FilePart& part : tensor.parts) size += part.size;
  if (size == place.end - place.begin) return;
  throw Error(Code::kArgument, cat("tensor ", tensor.name, ": its parts have ", size,
                                   " bytes, not ", place.end - place.begin));
}

}  // namespace

void join_safetensors(const std::vector<JoinedTensor>& tensors,
                      const std::vector<std::pair<std::string, std::string>>& metadata,
                      const std::string& path) {
  SafetensorsHeader header;
  header.metadata = metadata;
  for (const JoinedTensor& tensor : tensors) {
    if (tensor.values.defined()) check_dense(tensor.name, tensor.values);
    header.tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  const std::vector<size_t> order = place_safetensors(header);
  for (const size_t i : order) check_parts(tensors[i], header.tensors[i]);
  std::vector<char> buffer(kBuffer);
  NewFile file(path);
  write_safetensors_header(safetensors_header_text(header), file);
  for (const size_t i : order) write_tensor(tensors[i], buffer, file);
  file.commit();
}

}  // namespace rtrain::engine
