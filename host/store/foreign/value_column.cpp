#include "host/store/foreign/value_column.h"

#include <array>
#include <utility>

namespace rtrain::store {

// What the structs of one column point to.
struct ValueColumn::Memory {
  std::string name;
  std::vector<uint8_t> valid;
  std::vector<int64_t> integers;  // or offsets
  std::vector<double> reals;
  std::string bytes;
  std::array<const void*, 3> buffers{};
};

void ValueColumn::add_valid(bool valid) {
  if (count_ % 8 == 0) valid_.push_back(0);
  if (valid) valid_.back() = static_cast<uint8_t>(valid_.back() | 1U << (count_ % 8));
  nulls_ += valid ? 0 : 1;
  ++count_;
}

void ValueColumn::add(int64_t value) {
  add_valid(true);
  integers_.push_back(value);
}

void ValueColumn::add(double value) {
  add_valid(true);
  reals_.push_back(value);
}

void ValueColumn::add(std::string_view bytes) {
  add_valid(true);
  bytes_ += bytes;
  ends_.push_back(static_cast<int64_t>(bytes_.size()));
}

void ValueColumn::add_null() {
  add_valid(false);
  if (type_ == Type::kInteger) integers_.push_back(0);
  if (type_ == Type::kReal) reals_.push_back(0);
  if (type_ == Type::kText || type_ == Type::kBlob) {
    ends_.push_back(static_cast<int64_t>(bytes_.size()));
  }
}

int64_t ValueColumn::size_bytes() const {
  return static_cast<int64_t>(8 * (integers_.size() + reals_.size() + ends_.size()) +
                              bytes_.size());
}

std::shared_ptr<api::ArrowColumn> ValueColumn::finish() {
  static constexpr std::array kFormats = {"n", "l", "g", "U", "Z"};
  auto out = std::make_shared<api::ArrowColumn>();
  out->name = name_;
  const bool has_bytes = type_ == Type::kText || type_ == Type::kBlob;
  if (has_bytes) ends_.insert(ends_.begin(), 0);
  auto memory = std::make_unique<Memory>(
      Memory{.name = name_,
             .valid = std::exchange(valid_, {}),
             .integers = has_bytes ? std::exchange(ends_, {}) : std::exchange(integers_, {}),
             .reals = std::exchange(reals_, {}),
             .bytes = std::exchange(bytes_, {})});
  const void* values = type_ == Type::kReal ? static_cast<const void*>(memory->reals.data())
                                            : memory->integers.data();
  memory->buffers = {nulls_ > 0 ? memory->valid.data() : nullptr, values, memory->bytes.data()};
  out->schema.format = kFormats[static_cast<size_t>(type_)];
  out->schema.name = memory->name.c_str();
  constexpr int64_t kNullable = 2;
  out->schema.flags = kNullable;
  out->schema.release = [](ArrowSchema* schema) { schema->release = nullptr; };
  ArrowArray& array = out->array;
  array.length = std::exchange(count_, 0);
  array.null_count = std::exchange(nulls_, 0);
  array.n_buffers = type_ == Type::kNull ? 0 : has_bytes ? 3 : 2;
  array.buffers = memory->buffers.data();
  array.private_data = memory.release();
  array.release = [](ArrowArray* done) {
    delete static_cast<Memory*>(done->private_data);
    done->release = nullptr;
  };
  return out;
}

}  // namespace rtrain::store
