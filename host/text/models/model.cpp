#include "host/text/models/model.h"

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/models/bpe.h"
#include "host/text/models/unigram.h"
#include "host/text/models/word_models.h"

namespace rtrain::text {
namespace {

// Files of earlier versions have no type: their fields say it.
std::string type_of(const Fields& fields) {
  if (const auto type = fields.optional_text("type")) return *type;
  if (fields.find("merges") != nullptr) return "BPE";
  if (fields.find("vocab") != nullptr && fields.get("vocab").is_list()) return "Unigram";
  return fields.find("continuing_subword_prefix") != nullptr ? "WordPiece" : "WordLevel";
}

}  // namespace

std::unique_ptr<Model> make_model(const Value& component) {
  const std::string type = type_of(Fields(component, "model"));
  if (type == "BPE") return Bpe::from_value(component);
  if (type == "WordPiece") return WordPiece::from_value(component);
  if (type == "Unigram") return Unigram::from_value(component);
  if (type == "WordLevel") return WordLevel::from_value(component);
  throw Error(Code::kArgument,
              cat("model: unknown type '", type, "': it is BPE, WordPiece, Unigram or WordLevel"));
}

}  // namespace rtrain::text
