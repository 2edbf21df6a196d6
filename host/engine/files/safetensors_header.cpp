#include "host/engine/files/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"

namespace rtrain::engine {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadataName = "__metadata__";
constexpr size_t kLengthBytes = 8, kAlignment = 64;
constexpr size_t kMaxDims = 64;

struct TypeWord {
  c10::ScalarType type;
  std::string_view word;
};

constexpr TypeWord kTypeWords[] = {
    {c10::kDouble, "F64"},
    {c10::kFloat, "F32"},
    {c10::kHalf, "F16"},
    {c10::kBFloat16, "BF16"},
    {c10::kLong, "I64"},
    {c10::kInt, "I32"},
    {c10::kShort, "I16"},
    {c10::kChar, "I8"},
    {c10::kByte, "U8"},
    {c10::kBool, "BOOL"},
    {c10::kUInt16, "U16"},
    {c10::kUInt32, "U32"},
    {c10::kUInt64, "U64"},
    {c10::kFloat8_e4m3fn, "F8_E4M3"},
    {c10::kFloat8_e5m2, "F8_E5M2"},
    {c10::kFloat8_e4m3fnuz, "F8_E4M3FNUZ"},
    {c10::kFloat8_e5m2fnuz, "F8_E5M2FNUZ"},
    {c10::kFloat8_e8m0fnu, "F8_E8M0"},
    {c10::kComplexFloat, "C64"},
};

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Code::kArgument, cat("malformed safetensors header: ", what));
}

// Error messages show names from files only up to a limited length.
std::string shown(const std::string& name) {
  constexpr size_t kMost = 200;
  return name.size() <= kMost ? name : cat(name.substr(0, kMost), "…");
}

// Parses the JSON event by event: nlohmann's values would keep only one of two equal names, and
// this parser builds nothing for unexpected input.
class HeaderParser final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader take() { return std::move(out_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { unexpected("a fraction"); }
  bool binary(binary_t&) override { unexpected("bytes"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (state_ == State::kShape) {
      if (number > INT64_MAX || entry_.shape.size() == kMaxDims) in_entry("its shape");
      entry_.shape.push_back(static_cast<int64_t>(number));
    } else if (state_ == State::kOffsets) {
      if (offsets_.size() == 2) in_entry("more than two data_offsets");
      offsets_.push_back(number);
    } else {
      unexpected("a number");
    }
    return true;
  }

  bool string(string_t& text) override {
    if (state_ == State::kDtype) {
      entry_.dtype = dtype(text);
      state_ = State::kFields;
    } else if (state_ == State::kText) {
      out_.metadata.back().second = std::move(text);
      state_ = State::kMetadata;
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_object(size_t) override {
    switch (state_) {
      case State::kBegin:
        state_ = State::kNames;
        break;
      case State::kMetadataBegin:
        state_ = State::kMetadata;
        break;
      case State::kTensorBegin:
        state_ = State::kFields;
        break;
      default:
        unexpected("an object");
    }
    return true;
  }

  bool key(string_t& name) override {
    if (state_ == State::kFields) {
      field(name);
    } else if (state_ == State::kMetadata) {
      if (!metadata_keys_.insert(name).second)
        refuse(cat("two metadata of the name ", shown(name)));
      out_.metadata.emplace_back(std::move(name), std::string());
      state_ = State::kText;
    } else {
      if (!names_.insert(name).second) refuse(cat("two tensors of the name ", shown(name)));
      entry_ = {std::move(name), c10::ScalarType::Undefined, {}};
      seen_dtype_ = seen_shape_ = seen_offsets_ = false;
      state_ = entry_.name == kMetadataName ? State::kMetadataBegin : State::kTensorBegin;
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::kFields) finish_entry();
    state_ = state_ == State::kNames ? State::kEnd : State::kNames;
    return true;
  }

  bool start_array(size_t) override {
    if (state_ == State::kShapeBegin) {
      state_ = State::kShape;
    } else if (state_ == State::kOffsetsBegin) {
      offsets_.clear();
      state_ = State::kOffsets;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    state_ = State::kFields;
    return true;
  }

  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    const std::string text = error.what();
    refuse(text.substr(0, 200));
  }

 private:
  // What the parser expects next.
  enum class State {
    kBegin,
    kNames,
    kMetadataBegin,
    kMetadata,  // a key of the metadata
    kText,      // its value
    kTensorBegin,
    kFields,
    kDtype,
    kShapeBegin,
    kShape,
    kOffsetsBegin,
    kOffsets,
    kEnd,
  };

  [[noreturn]] void in_entry(std::string_view what) const {
    refuse(cat("tensor ", shown(entry_.name), ": ", what));
  }

  [[noreturn]] void unexpected(std::string_view found) const {
    if (state_ == State::kBegin) refuse("it is not an object");
    if (entry_.name == kMetadataName) refuse(cat(kMetadataName, " holds ", found));
    in_entry(cat(found, " where it does not belong"));
  }

  c10::ScalarType dtype(const std::string& word) const {
    const auto* found = std::ranges::find(kTypeWords, word, &TypeWord::word);
    if (found == std::end(kTypeWords)) in_entry(cat("dtype ", shown(word), " is not supported"));
    return found->type;
  }

  void field(const std::string& name) {
    const auto once = [&](bool& seen, State next) {
      if (seen) in_entry(cat(name, " is there twice"));
      seen = true;
      state_ = next;
    };
    if (name == "dtype") return once(seen_dtype_, State::kDtype);
    if (name == "shape") return once(seen_shape_, State::kShapeBegin);
    if (name == "data_offsets") return once(seen_offsets_, State::kOffsetsBegin);
    in_entry(cat("unknown field ", shown(name)));
  }

  void finish_entry() {
    if (!seen_dtype_ || !seen_shape_ || !seen_offsets_ || offsets_.size() != 2) {
      in_entry("it needs dtype, shape and two data_offsets");
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    out_.tensors.push_back(std::move(entry_));
  }

  SafetensorsHeader out_;
  State state_ = State::kBegin;
  SafetensorsEntry entry_;
  std::vector<uint64_t> offsets_;
  bool seen_dtype_ = false, seen_shape_ = false, seen_offsets_ = false;
  std::set<std::string> names_, metadata_keys_;
};

// The bytes for the shape and dtype. A zero in the shape makes the tensor empty, but the other
// sizes must not overflow either, because LibTorch multiplies them for the strides.
uint64_t wanted_bytes(const SafetensorsEntry& entry) {
  int64_t size = static_cast<int64_t>(c10::elementSize(entry.dtype));
  bool empty = false;
  for (const int64_t dim : entry.shape) {
    empty |= dim == 0;
    if (dim != 0 && __builtin_mul_overflow(size, dim, &size)) {
      refuse(cat("tensor ", shown(entry.name), ": its shape is too large"));
    }
  }
  return empty ? 0 : static_cast<uint64_t>(size);
}

void check_places(const std::vector<SafetensorsEntry>& tensors, uint64_t data_size) {
  std::vector<const SafetensorsEntry*> by_place;
  for (const SafetensorsEntry& entry : tensors) {
    if (entry.begin > entry.end || entry.end > data_size) {
      refuse(cat("tensor ", shown(entry.name), ": its data_offsets [", entry.begin, ", ", entry.end,
                 "] lie outside the ", data_size, " bytes of the file"));
    }
    if (entry.end - entry.begin != wanted_bytes(entry)) {
      refuse(cat("tensor ", shown(entry.name), ": its shape and dtype ask for ",
                 wanted_bytes(entry), " bytes, its data_offsets for ", entry.end - entry.begin));
    }
    by_place.push_back(&entry);
  }
  std::ranges::sort(by_place, {},
                    [](const auto* entry) { return std::pair(entry->begin, entry->end); });
  uint64_t at = 0;
  for (const SafetensorsEntry* entry : by_place) {
    if (entry->begin < at) refuse(cat("tensor ", shown(entry->name), " overlaps another one"));
    if (entry->begin > at) refuse(cat("unused bytes before tensor ", shown(entry->name)));
    at = entry->end;
  }
  if (at != data_size) refuse("unused bytes behind the last tensor");
}

std::string_view type_word(const SafetensorsEntry& entry) {
  const auto* found = std::ranges::find(kTypeWords, entry.dtype, &TypeWord::type);
  if (found == std::end(kTypeWords)) {
    throw Error(Code::kArgument, cat("tensor ", entry.name, ": safetensors has no dtype ",
                                     dtype_name(entry.dtype), ": convert it with x:to"));
  }
  return found->word;
}

std::string quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error(Code::kArgument, "names and metadata of safetensors have to be UTF-8");
  }
}

std::string joined(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const int64_t number : numbers) out += cat(out.empty() ? "" : ",", number);
  return out;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_size) {
  if (!json.starts_with('{')) refuse("it does not begin with {");
  // The JSON library would ignore everything after a zero byte.
  if (json.find('\0') != std::string_view::npos) refuse("it holds a zero byte");
  HeaderParser parser;
  Json::sax_parse(json, &parser);
  SafetensorsHeader out = parser.take();
  check_places(out.tensors, data_size);
  return out;
}

std::vector<size_t> place_safetensors(SafetensorsHeader& header) {
  std::vector<size_t> out(header.tensors.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = i;
  std::ranges::stable_sort(out, std::ranges::greater(),
                           [&](size_t i) { return c10::elementSize(header.tensors[i].dtype); });
  uint64_t at = 0;
  for (const size_t i : out) {
    SafetensorsEntry& entry = header.tensors[i];
    entry.begin = at;
    at += wanted_bytes(entry);
    entry.end = at;
  }
  return out;
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
  std::string out;
  const auto add = [&out](const std::string& name, const std::string& content) {
    out += cat(out.empty() ? "{" : ",", quoted(name), ":{", content, "}");
  };
  if (!header.metadata.empty()) {
    std::string content;
    for (const auto& [key, text] : header.metadata) {
      content += cat(content.empty() ? "" : ",", quoted(key), ":", quoted(text));
    }
    add(std::string(kMetadataName), content);
  }
  for (const SafetensorsEntry& entry : header.tensors) {
    if (entry.name == kMetadataName) {
      throw Error(Code::kArgument, "no tensor can have the name __metadata__");
    }
    add(entry.name, cat("\"dtype\":\"", type_word(entry), "\",\"shape\":[", joined(entry.shape),
                        "],\"data_offsets\":[", entry.begin, ",", entry.end, "]"));
  }
  out += out.empty() ? "{}" : "}";
  out.append((kAlignment - (kLengthBytes + out.size()) % kAlignment) % kAlignment, ' ');
  if (out.size() > kMaxSafetensorsHeader) {
    throw Error(Code::kArgument, "too many or too long names: the header would exceed 100 MB");
  }
  return out;
}

}  // namespace rtrain::engine
