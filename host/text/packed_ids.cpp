#include "host/text/packed_ids.h"

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::text {
namespace {

template <class Number>
void append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_id(std::string& bytes, uint32_t id, size_t id_bytes) {
  if (id_bytes == 4) return append(bytes, id);
  if (id > UINT16_MAX) {
    throw Error(Code::kArgument, cat("the id ", id, " does not fit into two bytes"));
  }
  append(bytes, static_cast<uint16_t>(id));
}

void append_text(PackedIds& out, const Tokenizer& tokenizer, std::string_view text,
                 const PackOptions& options) {
  const Encoded encoded =
      tokenizer.encode({text, {}}, {.add_special_tokens = options.add_special_tokens});
  for (const uint32_t id : encoded.ids()) append_id(out.ids, id, options.id_bytes);
  if (options.separator) append_id(out.ids, *options.separator, options.id_bytes);
  append(out.lengths, static_cast<int64_t>(encoded.ids().size() + (options.separator ? 1 : 0)));
}

}  // namespace

PackedIds pack_ids(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                   const PackOptions& options) {
  RT_CHECK(options.id_bytes == 2 || options.id_bytes == 4);
  // Without its truncation and padding.
  const Tokenizer whole(tokenizer.shared_pipeline());
  PackedIds out;
  for (size_t i = 0; i < texts.size(); ++i) {
    try {
      append_text(out, whole, texts[i], options);
    } catch (const Error& error) {
      throw Error(error.code(), cat("text ", i + 1, ": ", error.what()));
    }
  }
  return out;
}

}  // namespace rtrain::text
