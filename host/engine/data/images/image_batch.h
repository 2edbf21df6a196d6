// host/engine/data/images/image_batch.h: many images at once, on all threads that the calling one
// may use: in a pool's threads that is one.
//
// What is wrong with an image is an Error that says which one it is; with several the first of
// them.
#pragma once

#include <string>
#include <vector>

#include "host/engine/data/images/byte_rows.h"
#include "host/engine/data/images/image.h"

namespace rtrain {

// Throws Error(kArgument): "image 3: …".
std::vector<at::Tensor> decode_rows(const ByteRows& rows, const ImageOptions& options);

using ImageDecoder = at::Tensor (*)(ImageBytes, const ImageOptions&);

// Throws Error(kNotFound) without such a file, else Error(kArgument) with its path.
at::Tensor decode_file(const std::string& path, const ImageOptions& options, ImageDecoder decoder);
std::vector<at::Tensor> decode_files(const std::vector<std::string>& paths,
                                     const ImageOptions& options);

// One tensor (n, h, w, c) of images that are all of one size; undefined when they are not, or there
// are none.
at::Tensor stacked(const std::vector<at::Tensor>& images);

}  // namespace rtrain
