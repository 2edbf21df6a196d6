// host/api/arrow_batch.h: columns of rows that librtrain_arrow.so and the engine pass to each
// other, through Apache Arrow's C data interface, so that neither needs the other's library.
//
// Thread: any, one at a time. A batch's columns are never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// https://arrow.apache.org/docs/format/CDataInterface.html; Arrow's own header uses the same guard.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}

#endif  // ARROW_C_DATA_INTERFACE

namespace rtrain::api {

struct ArrowColumn {
  ArrowColumn() = default;
  ~ArrowColumn() {
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
  }
  ArrowColumn(const ArrowColumn&) = delete;
  ArrowColumn& operator=(const ArrowColumn&) = delete;

  std::string name;
  ArrowSchema schema{};
  ArrowArray array{};
  // In a column of tensors, which is a fixed-size list: an element's dimensions in their order in
  // memory, and the permutation to the order that the user sees (empty: the same).
  std::vector<int64_t> shape;
  std::vector<int64_t> permutation;
};

struct ArrowBatch {
  std::vector<std::shared_ptr<ArrowColumn>> columns;
  int64_t num_rows = 0;
};

}  // namespace rtrain::api
