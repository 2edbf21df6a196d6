#include "host/text/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::text {
namespace {

// Runs work(i) for all i below count. Rethrows the error of the lowest i.
template <class Work>
void run_on_threads(size_t count, size_t num_threads, const Work& work) {
  if (num_threads == 0) num_threads = std::max(1U, std::thread::hardware_concurrency());
  num_threads = std::min(num_threads, count);
  constexpr size_t kAtOnce = 8;
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t failed = count;
  std::exception_ptr error;
  const auto run = [&] {
    for (size_t begin = next.fetch_add(kAtOnce); begin < count; begin = next.fetch_add(kAtOnce)) {
      for (size_t i = begin; i < std::min(begin + kAtOnce, count); ++i) {
        try {
          work(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (i >= failed) continue;
          failed = i;
          error = std::current_exception();
        }
      }
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < num_threads; ++i) threads.emplace_back(run);
  run();
  threads.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace

Encoded Tokenizer::encode_unpadded(const EncodeInput& input, const EncodeOptions& options) const {
  std::vector<Encoding> encodings;
  if (!input.pair) {
    const auto& frame = pipeline_->frame(options.add_special_tokens);
    if (auto tokens = frame ? pipeline_->encode_bytes(input.text) : std::nullopt) {
      const size_t size = frame->before.size() + tokens->ids.size() + frame->after.size();
      if (!truncation || size <= truncation->max_length) {
        std::vector<uint32_t> ids;
        if (frame->before.empty() && frame->after.empty()) {
          ids = tokens->ids;
        } else {
          ids.reserve(size);
          ids.insert(ids.end(), frame->before.begin(), frame->before.end());
          ids.insert(ids.end(), tokens->ids.begin(), tokens->ids.end());
          ids.insert(ids.end(), frame->after.begin(), frame->after.end());
        }
        return Encoded(std::move(ids), std::move(*tokens), options.add_special_tokens, pipeline_);
      }
      encodings.push_back(pipeline_->to_encoding(*tokens));
    }
  }
  if (encodings.empty()) encodings.push_back(pipeline_->encode(input.text, 0));
  if (input.pair) encodings.push_back(pipeline_->encode(*input.pair, 1));
  if (truncation) truncate(encodings, options);
  pipeline_->process(encodings, options.add_special_tokens);
  return Encoded(std::move(encodings[0]));
}

void Tokenizer::truncate(std::vector<Encoding>& encodings, const EncodeOptions& options) const {
  const bool is_pair = encodings.size() > 1;
  const size_t added = options.add_special_tokens ? pipeline_->num_added_tokens(is_pair) : 0;
  if (truncation->max_length < added) return;  // as tokenizers does
  const size_t most = truncation->max_length - added;
  size_t first = encodings[0].size(), second = is_pair ? encodings[1].size() : 0;
  if (first + second <= most) return;
  const size_t excess = first + second - most;
  if (most == 0) {
    first = second = 0;
  } else if (truncation->strategy == TruncationStrategy::kLongestFirst) {
    if (!is_pair) {
      first = most;
    } else {
      size_t shorter = std::min(first, second);
      size_t longer = shorter > most ? shorter : std::max(shorter, most - shorter);
      if (shorter + longer > most) {
        shorter = most / 2;
        longer = shorter + most % 2;
      }
      const bool first_is_longer = first > second;
      first = first_is_longer ? longer : shorter;
      second = first_is_longer ? shorter : longer;
    }
  } else {
    const bool of_first = truncation->strategy == TruncationStrategy::kOnlyFirst;
    if (!of_first && !is_pair) {
      throw Error(Code::kArgument, "truncation 'only_second' needs a pair of texts");
    }
    size_t& target = of_first ? first : second;
    if (target <= excess) {
      throw Error(Code::kArgument, cat("truncation: a text of ", target,
                                       " tokens is too short to leave out ", excess));
    }
    target -= excess;
  }
  if (options.overflowing) return split(encodings, {first, second});
  encodings[0].truncate(first, truncation->side);
  if (is_pair) encodings[1].truncate(second, truncation->side);
}

void Tokenizer::split(std::vector<Encoding>& encodings,
                      const std::array<size_t, 2>& lengths) const {
  constexpr int kMostTokensOfParts = 1 << 24;
  const size_t stride = truncation->stride;
  double num_parts = 1, length = 1;
  for (size_t i = 0; i < encodings.size(); ++i) {
    const size_t size = encodings[i].size();
    length += static_cast<double>(lengths[i]);
    if (size <= lengths[i]) continue;
    if (lengths[i] > 0 && stride >= lengths[i]) {
      throw Error(Code::kArgument,
                  cat("truncation: stride ", stride, " must be less than the ", lengths[i],
                      " tokens that stay of a text: set a smaller stride or a larger max_length"));
    }
    const size_t others = lengths[i] == 0 ? 0 : (size - lengths[i]) / (lengths[i] - stride);
    num_parts *= 2 + static_cast<double>(others);
  }
  // A part of a pair may have parts itself, no more than there are in all.
  const double num_tokens = num_parts * length * (encodings.size() > 1 ? 3 : 1);
  if (num_tokens > kMostTokensOfParts) {
    throw Error(Code::kArgument,
                cat("truncation: the overflowing parts have more than ", kMostTokensOfParts,
                    " tokens: set a smaller stride or a larger max_length"));
  }
  for (size_t i = 0; i < encodings.size(); ++i) {
    encodings[i].split(lengths[i], truncation->side, stride);
  }
}

void Tokenizer::pad(std::vector<Encoded>& batch) const {
  size_t length = padding->length.value_or(0);
  if (!padding->length) {
    for (const Encoded& encoded : batch) length = std::max(length, encoded.ids().size());
  }
  if (const size_t multiple = padding->multiple_of.value_or(0); multiple > 0) {
    length = (length + multiple - 1) / multiple * multiple;
  }
  for (Encoded& encoded : batch) {
    if (encoded.ids().size() >= length && !encoded.has_overflowing()) continue;
    Encoding full = encoded.take();
    full.pad(length, padding->padding);
    encoded = Encoded(std::move(full));
  }
}

Encoded Tokenizer::encode(const EncodeInput& input, const EncodeOptions& options) const {
  std::vector<Encoded> batch;
  batch.push_back(encode_unpadded(input, options));
  if (padding) pad(batch);
  return std::move(batch[0]);
}

std::vector<Encoded> Tokenizer::encode_batch(const std::vector<EncodeInput>& inputs,
                                             const EncodeOptions& options,
                                             size_t num_threads) const {
  std::vector<Encoded> out(inputs.size());
  run_on_threads(inputs.size(), num_threads,
                 [&](size_t i) { out[i] = encode_unpadded(inputs[i], options); });
  if (padding) pad(out);
  return out;
}

std::vector<std::string> Tokenizer::decode_batch(const std::vector<std::vector<uint32_t>>& ids,
                                                 bool skip_special_tokens,
                                                 size_t num_threads) const {
  std::vector<std::string> out(ids.size());
  run_on_threads(ids.size(), num_threads,
                 [&](size_t i) { out[i] = decode(ids[i], skip_special_tokens); });
  return out;
}

size_t Tokenizer::add_tokens(const std::vector<AddedToken>& tokens) {
  size_t num_added = 0;
  pipeline_ = pipeline_->with_tokens(tokens, num_added);
  return num_added;
}

std::vector<std::pair<std::string, uint32_t>> Tokenizer::vocabulary(bool with_added_tokens) const {
  std::vector<std::pair<std::string, uint32_t>> out;
  const Vocabulary& model = pipeline_->model().vocabulary();
  for (uint32_t id = 0; id < model.end_id(); ++id) {
    const auto token = model.token_of(id);
    if (token && model.id_of(*token) == id) out.emplace_back(*token, id);
  }
  if (!with_added_tokens) return out;
  for (const auto& [id, token] : pipeline_->added().tokens()) {
    if (!model.has(token.content)) out.emplace_back(token.content, id);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return out;
}

size_t Tokenizer::vocabulary_size(bool with_added_tokens) const {
  const Vocabulary& model = pipeline_->model().vocabulary();
  size_t size = model.size();
  if (!with_added_tokens) return size;
  for (const auto& [id, token] : pipeline_->added().tokens()) {
    size += model.has(token.content) ? 0 : 1;
  }
  return size;
}

}  // namespace rtrain::text
