#include "host/engine/distributed/gloo/peer_error.h"

#include <c10/util/Exception.h>

#include <string>

#include "host/base/text/text.h"
#include "host/engine/runtime/guard.h"

namespace rtrain::engine {
namespace {

// NCCL also fails for local reasons (no shared memory, a lost device), which are not a peer's loss.
Code code_of_group(const c10::Error& e) {
  const std::string_view text = e.what_without_backtrace();
  const bool is_nccls = text.find("NCCL error") != std::string_view::npos;
  const bool is_remote = text.find("emote process") != std::string_view::npos;
  return is_nccls && !is_remote ? Code::kUser : Code::kPeerLost;
}

}  // namespace

std::optional<Error> peer_error(std::string_view text) {
  // The text of LibTorch's stores when a rank never arrived.
  if (text.starts_with("Wait timeout")) return Error(Code::kTimeout, "they did not come");
  // NCCL's text if the user has set TORCH_NCCL_BLOCKING_WAIT.
  if (text.find("collective operation timeout") != std::string_view::npos) {
    return Error(Code::kTimeout, "they did not come");
  }
  // Gloo's text, without a source position, for what waits when another operation times out.
  if (text.find("timeout caused pair closure") != std::string_view::npos) {
    return Error(Code::kTimeout, "they did not come");
  }
  if (text.find("gloo/") == std::string_view::npos) return std::nullopt;
  const bool late = text.find("imed out") != std::string_view::npos ||
                    text.find("imeout") != std::string_view::npos;
  // Gloo's texts begin with a source position: "[…/pair.cc:547] Connection closed by peer".
  const size_t end = text.find("] ");
  if (text.starts_with('[') && end != std::string_view::npos) text.remove_prefix(end + 2);
  return Error(late ? Code::kTimeout : Code::kPeerLost, std::string(split(text, '\n').front()));
}

Error lost_peer() { return Error(Code::kPeerLost, "its process has ended, or its node is lost"); }

std::optional<Error> translate_peer_error(const std::exception& e) {
  const std::optional<Error> cause = peer_error(error_text(e));
  if (!cause) {
    const auto* group = dynamic_cast<const c10::DistError*>(&e);
    if (group == nullptr) return std::nullopt;
    return Error(code_of_group(*group), short_error_text(error_text(e)));
  }
  const bool late = cause->code() == Code::kTimeout;
  return Error(cause->code(),
               cat("exchanging gradients failed because another rank ",
                   late ? "did not come in time" : "is gone", " (", cause->message(), ")",
                   late ? "; a longer wait is set with torch_config = {timeout_s = …}" : ""));
}

}  // namespace rtrain::engine
