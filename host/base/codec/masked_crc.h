// host/base/codec/masked_crc.h: the checksum of TensorBoard's records.
#pragma once

#include <cstdint>
#include <string_view>

namespace rtrain {

// CRC-32C, changed such that a checksum of bytes that hold checksums is none of these.
uint32_t masked_crc(std::string_view bytes);

}  // namespace rtrain
