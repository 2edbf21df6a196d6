// host/text/decode_stream.h: decodes ids that come one by one, and never splits a character.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/text/pipeline.h"

namespace rtrain::text {

class DecodeStream {
 public:
  DecodeStream(std::shared_ptr<const Pipeline> pipeline, bool skip_special_tokens)
      : pipeline_(std::move(pipeline)), skip_special_tokens_(skip_special_tokens) {}

  // Adds an id. Returns the text that is complete by it, "" while a character is not.
  std::string step(uint32_t id);
  // Returns what is left: characters that were not completed are U+FFFD.
  std::string finish();

 private:
  std::string decode(const std::vector<uint32_t>& ids) const {
    return pipeline_->decode(ids, skip_special_tokens_);
  }

  std::shared_ptr<const Pipeline> pipeline_;
  bool skip_special_tokens_;
  // The last ids whose text was returned, which decide on what comes next, and the new ones.
  std::vector<uint32_t> ids_;
  size_t done_ = 0;     // how many of them are old
  std::string prefix_;  // the text of those
};

}  // namespace rtrain::text
