#include "host/decide/rank_facts.h"

#include "host/base/text/text.h"

namespace rtrain::decide {

std::string CollectiveFacts::text() const { return cat(operation, "(", tensors, ")"); }

}  // namespace rtrain::decide
