// host/loop/messages/routes.h: tables of handlers by type of message, which say who receives which
// message.
//
//   const Routes<message::ToWorker, WorkerProcess> WorkerProcess::kRoutes{
//       on<message::Exit>([](WorkerProcess& w, const message::Exit&) { … }), …};
//
// A table that lacks one of the messages does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::loop {

template <Message M, class Handler>
struct On {};

// The handler captures nothing. Its arguments are the receiver, the context and the message.
template <Message M, class Handler>
constexpr On<M, Handler> on(Handler) {
  return {};
}

// `Messages` is a variant of all messages of the table, `Context` the arguments with each of them.
template <class Messages, class Receiver, class... Context>
class Routes {
 public:
  template <class... Ms, class... Handlers>
  constexpr explicit Routes(On<Ms, Handlers>...)
      : routes_{Route{Ms::kType, &deliver_to<Ms, Handlers>}...} {
    static_assert(sizeof...(Ms) == std::variant_size_v<Messages>, "too many routes, or too few");
    static_assert(has_each<Ms...>(static_cast<Messages*>(nullptr)), "a message has no route");
  }

  constexpr bool has(std::string_view type) const { return find(type) != nullptr; }

  // Calls the message's handler. Throws Error(kArgument) for a message that cannot be read or has
  // an unknown type, and whatever the handler throws.
  void deliver(Receiver& receiver, Context... context, Value message) const {
    const std::string type = message["type"].as_string();
    if (try_deliver(type, receiver, context..., std::move(message))) return;
    throw Error(Code::kArgument, cat("unknown message '", type, "'"));
  }

  // As deliver(), with the type passed separately. Returns false for an unknown type.
  bool try_deliver(std::string_view type, Receiver& receiver, Context... context,
                   Value message) const {
    const Route* route = find(type);
    if (route == nullptr) return false;
    route->deliver(receiver, context..., std::move(message));
    return true;
  }

 private:
  struct Route {
    std::string_view type;
    void (*deliver)(Receiver& receiver, Context... context, Value&& message);
  };

  template <class... Routed, class... Ms>
  static consteval bool has_each(const std::variant<Ms...>*) {
    const auto is_routed = []<class M>(const M*) { return (std::same_as<M, Routed> || ...); };
    return (is_routed(static_cast<const Ms*>(nullptr)) && ...);
  }

  template <Message M, class Handler>
  static void deliver_to(Receiver& receiver, Context... context, Value&& message) {
    Handler{}(receiver, context..., from_value<M>(std::move(message)));
  }

  constexpr const Route* find(std::string_view type) const {
    const auto found = std::find_if(routes_.begin(), routes_.end(),
                                    [&](const Route& each) { return each.type == type; });
    return found == routes_.end() ? nullptr : &*found;
  }

  std::array<Route, std::variant_size_v<Messages>> routes_;
};

}  // namespace rtrain::loop
