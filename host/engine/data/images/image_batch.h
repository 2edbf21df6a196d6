// host/engine/data/images/image_batch.h: decodes many images in parallel, on all
// threads that the calling thread may use; a pool's thread may use only itself.
//
// The Error for a bad image says which one it is; if several are bad, the first of
// them.
#pragma once

#include <string>
#include <vector>

#include "host/engine/data/images/byte_rows.h"
#include "host/engine/data/images/image.h"

namespace rtrain::engine {

// Throws Error(kArgument): "image 3: …".
std::vector<at::Tensor> decode_rows(const ByteRows& rows, const ImageOptions& options);

using ImageDecoder = at::Tensor (*)(ImageBytes, const ImageOptions&);

// Throws Error(kNotFound) without such a file, else Error(kArgument) with its path.
at::Tensor decode_file(const std::string& path, const ImageOptions& options, ImageDecoder decoder);
std::vector<at::Tensor> decode_files(const std::vector<std::string>& paths,
                                     const ImageOptions& options);

// Stacks images of equal size into one tensor (n, h, w, c). Undefined if sizes differ or there are
// no images.
at::Tensor stacked(const std::vector<at::Tensor>& images);

}  // namespace rtrain::engine
