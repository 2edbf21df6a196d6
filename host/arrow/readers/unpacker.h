// host/arrow/readers/unpacker.h: unpacks gzip, Zstandard, bzip2 and xz step by step.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>

#include "host/base/codec/packing.h"

namespace rtrain::arrow {

// Used by one thread at a time. Needs at most 256 MiB, whatever the packed bytes request.
class Unpacker {
 public:
  struct Step {
    int64_t read = 0;
    int64_t written = 0;
  };

  virtual ~Unpacker() = default;

  // Reads packed bytes and writes unpacked ones, as far as the buffers allow. Returns an error
  // status for damaged bytes, and NotImplemented for bytes that need more memory.
  virtual ::arrow::Result<Step> run(const uint8_t* from, int64_t from_size, uint8_t* to,
                                    int64_t to_size) = 0;
  // Whether the packed stream has ended. restart() begins with the next stream.
  virtual bool is_finished() = 0;
  virtual ::arrow::Status restart() = 0;
};

std::unique_ptr<Unpacker> make_unpacker(Packing packing);

}  // namespace rtrain::arrow
