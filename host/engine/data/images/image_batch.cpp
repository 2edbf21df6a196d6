#include "host/engine/data/images/image_batch.h"

#include <ATen/Parallel.h>
#include <ATen/ops/stack.h>

#include <exception>
#include <functional>

#include "host/base/error.h"
#include "host/base/files/input_file.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

std::vector<at::Tensor> decode_all(size_t count, const std::function<at::Tensor(size_t)>& decode) {
  std::vector<at::Tensor> out(count);
  std::vector<std::exception_ptr> failures(count);
  at::parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      try {
        out[i] = decode(i);
      } catch (const std::exception&) {
        failures[i] = std::current_exception();
        return;
      }
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
  return out;
}

}  // namespace

std::vector<at::Tensor> decode_rows(const ByteRows& rows, const ImageOptions& options) {
  return decode_all(static_cast<size_t>(rows.size()), [&](size_t i) {
    try {
      return decode_image(rows[static_cast<int64_t>(i)], options);
    } catch (const Error& error) {
      throw Error(error.code(), cat("image ", i, ": ", error.message()));
    }
  });
}

at::Tensor decode_file(const std::string& path, const ImageOptions& options, ImageDecoder decoder) {
  const InputFile file(path, InputFile::Access::kCopy);
  std::vector<uint8_t> bytes(file.size());
  if (!bytes.empty()) file.read(0, bytes.data(), bytes.size());
  try {
    return decoder(bytes, options);
  } catch (const Error& error) {
    throw Error(error.code(), cat("cannot read '", path, "': ", error.message()));
  }
}

std::vector<at::Tensor> decode_files(const std::vector<std::string>& paths,
                                     const ImageOptions& options) {
  return decode_all(paths.size(),
                    [&](size_t i) { return decode_file(paths[i], options, &decode_image); });
}

at::Tensor stacked(const std::vector<at::Tensor>& images) {
  if (images.empty()) return {};
  for (const at::Tensor& image : images) {
    if (image.sizes() != images.front().sizes()) return {};
  }
  return at::stack(images);
}

}  // namespace rtrain::engine
