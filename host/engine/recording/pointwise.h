// host/engine/recording/pointwise.h: ATen's operators that work element by element or on rows, as
// instructions of a region of host/compile.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "host/compile/region.h"
#include "host/engine/recording/record.h"

namespace rtrain::engine {

struct PointwiseShape {
  at::Device device = at::kCPU;
  std::vector<int64_t> sizes;  // over which a call works element by element or row by row
  bool has_rows = false;       // it works row by row
};

// Nothing if the call has no formula here. Of a view: the sizes that its base has when it is
// expanded; nothing if the view shows it in another way.
std::optional<PointwiseShape> pointwise_shape(const Record& record, const RecordedCall& call);

// What rounds to a type of 16 bits; nothing for other types.
std::optional<compile::Operation> rounding_to(at::ScalarType dtype);

// Makes a region of calls of equal sizes on one device, in their order.
class RegionBuilder {
 public:
  RegionBuilder(const Record& record, PointwiseShape shape);

  // Returns false if the call cannot be added: no formula, or it looks at memory in another way
  // than a call before it that writes there. A view can be if it shows what such a call writes.
  bool add(const RecordedCall& call);
  bool has_rows() const { return region_.has_rows(); }
  // Whether it has a function of rows that LibTorch's operator computes more slowly.
  bool maps_rows() const;

  bool calls_functions() const { return calls_functions_; }
  at::Device device() const { return device_; }

  struct Built {
    compile::Region region;
    std::vector<int> inputs;   // values
    std::vector<int> outputs;  // values
    at::Device device = at::kCPU;
  };
  // The region with the written values that `is_needed` says are needed later.
  Built build(const std::vector<bool>& is_needed) const;
  const std::map<int, compile::Operand>& written() const { return current_; }

 private:
  friend class Formula;

  std::optional<compile::Operand> operand(int value);
  std::optional<compile::Operand> row_operand(int value);
  std::optional<compile::Operand> window(int value, int64_t begin);
  std::optional<compile::Operand> rolled(int value, int64_t first_column);
  std::optional<compile::Operand> rolled(const compile::Operand& operand, int64_t first_column);
  std::optional<compile::Operand> input(int value, compile::RegionTensor tensor);
  std::optional<compile::Operand> shown_by(const Value& value) const;
  bool set(int value, compile::Operand result);
  bool takes(const RecordedCall& call, const ValuePlace& place) const;
  compile::Operand rounded(compile::Operand result, at::ScalarType dtype);
  bool is_row_major(int value) const;
  bool is_full(int value) const;

  const Record* record_;
  at::Device device_;
  compile::Region region_;
  std::vector<int> inputs_;                  // values
  std::map<int, compile::Operand> current_;  // of each value that a call wrote
  std::set<int> written_storages_;
  bool calls_functions_ = false;
  bool is_row_major_ = false;     // the elements have to be in this order
  std::map<int, int> read_from_;  // storage → the value that was read in it, or -1 for several
};

}  // namespace rtrain::engine
