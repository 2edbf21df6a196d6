#include "host/text/decode_stream.h"

namespace rtrain::text {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

}  // namespace

std::string DecodeStream::step(uint32_t id) {
  ids_.push_back(id);
  std::string text = decode(ids_);
  const bool is_whole = text.size() > prefix_.size() && !text.ends_with(kReplacement);
  if (!is_whole || !text.starts_with(prefix_)) return {};
  std::string made = text.substr(prefix_.size());
  // The new ids are the old ones of the next step: a decoder looks at no more than the token
  // before.
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<ptrdiff_t>(done_));
  done_ = ids_.size();
  prefix_ = decode(ids_);
  return made;
}

std::string DecodeStream::finish() {
  const std::string text = decode(ids_);
  std::string rest = text.starts_with(prefix_) ? text.substr(prefix_.size()) : "";
  ids_.clear();
  done_ = 0;
  prefix_.clear();
  return rest;
}

}  // namespace rtrain::text
