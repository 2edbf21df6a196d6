#include "host/engine/distributed/peer_error.h"

#include <string>

#include "host/base/text.h"

namespace rtrain {

std::optional<Error> peer_error(std::string_view text) {
  // What LibTorch's own stores say when a rank never came.
  if (text.starts_with("Wait timeout")) return Error(Code::kTimeout, "they did not come");
  // NCCL's, where the user has set TORCH_NCCL_BLOCKING_WAIT.
  if (text.find("collective operation timeout") != std::string_view::npos) {
    return Error(Code::kTimeout, "they did not come");
  }
  if (text.find("gloo/") == std::string_view::npos) return std::nullopt;
  const bool late = text.find("imed out") != std::string_view::npos ||
                    text.find("imeout") != std::string_view::npos;
  // Gloo's texts begin with the place in its source: "[…/pair.cc:547] Connection closed by peer".
  const size_t end = text.find("] ");
  if (text.starts_with('[') && end != std::string_view::npos) text.remove_prefix(end + 2);
  return Error(late ? Code::kTimeout : Code::kPeerLost, std::string(split(text, '\n').front()));
}

}  // namespace rtrain
