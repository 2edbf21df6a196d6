// host/base/codec/masked_crc.h: the checksum of TFRecord files, such as those of TensorBoard.
#pragma once

#include <cstdint>
#include <string_view>

namespace rtrain {

// CRC-32C with the mask of these files, so that checksums of data that contain checksums differ
// from these.
uint32_t masked_crc(std::string_view bytes);

}  // namespace rtrain
