// host/base/codec/record.h: structs that are sent as maps: each lists its members once, with their
// names.
//
//   struct Part {
//     static constexpr std::string_view kType = "part";
//     int64_t id = 0;
//     std::string bytes;
//     static constexpr RecordFields kFields{required("id", &Part::id),
//                                         required("bytes", &Part::bytes)};
//   };
//
// A record has kFields; a message has kType as well. A member is a boolean, a number, an enum, a
// string, a Value, a List, an Error, a record, StringPairs, or a vector or std::optional of those.
// An enum travels as its number, or as its name if kNamesOf lists its names. A required field is
// always sent. An optional field is left out while it has its default value, and keeps that where
// the map has no such field. Fields that the record does not list are ignored: a newer sender may
// send more.
//
// A record that derives from another one lists the fields of both.
//
// A record with kClass is also a Lua table, of the class of that name. It is strict: a field that
// is not listed is an error, and only a std::optional may be left out, so that a default of C++
// never replaces a value that Lua should have given.
//
// Both directions move the record's members, so large payloads are not copied.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain {

template <class R, class T>
struct Field {
  std::string_view name;
  T R::*member;
  bool is_required;
};

template <class R, class T>
constexpr Field<R, T> required(std::string_view name, T R::*member) {
  return {name, member, true};
}

template <class R, class T>
constexpr Field<R, T> optional(std::string_view name, T R::*member) {
  return {name, member, false};
}

// The fields of a record, in their order. It does what std::tuple would do, but costs far less time
// to compile, which counts because every file that includes the record pays for it.
template <size_t, class F>
struct NumberedField {
  F field;
};
template <class Numbers, class... F>
struct NumberedFields;
template <size_t... I, class... F>
struct NumberedFields<std::index_sequence<I...>, F...> : NumberedField<I, F>... {
  static constexpr size_t kCount = sizeof...(F);
  constexpr explicit NumberedFields(F... fields) : NumberedField<I, F>{fields}... {}

  // Returns what the function returns for all fields as its arguments.
  template <class Function>
  constexpr decltype(auto) apply(Function function) const {
    return function(NumberedField<I, F>::field...);
  }
};
template <class... F>
struct RecordFields : NumberedFields<std::index_sequence_for<F...>, F...> {
  constexpr explicit RecordFields(F... fields)
      : NumberedFields<std::index_sequence_for<F...>, F...>(fields...) {}
};

// The last value of an enum in a record; larger numbers are refused. An enum that does not name its
// last value specializes this.
template <class E>
inline constexpr E kLastOf = E::kLast;

// The names of an enum in a record, in its order. An enum that travels as a name specializes this.
template <class E>
inline constexpr std::array<std::string_view, 0> kNamesOf{};

// Names with their values, sent as a map of strings: variables of an environment.
using StringPairs = std::vector<std::pair<std::string, std::string>>;

template <class T>
concept Record = requires {
  T::kFields;
};
template <class T>
concept Strict = Record<T> && requires {
  T::kClass;
};
template <class T>
concept Message = Record<T> && requires {
  T::kType;
};

// {code, message, traceback}; message and traceback are cut at 64 KiB each.
Value error_to_value(const Error& error);
Error error_from_value(const Value& value);

// Converts the record to a map; a message's map begins with its type.
template <Record R>
Value to_value(R record);

// Converts the message in the variant.
template <Message... Ms>
Value to_value(std::variant<Ms...> message) {
  return std::visit([](auto& held) { return to_value(std::move(held)); }, message);
}

// Throws Error(kArgument), which names the message and the field: "message 'part': field 'id' is
// missing"; for a strict record the class: "RunSpec: unknown field 'tag': did you mean 'tags'?".
template <Record R>
R from_value(Value value);

// Implementation details.
namespace record_fields {

[[noreturn]] void missing(std::string_view field);
[[noreturn]] void wrong(std::string_view what, std::string_view name, const Error& error);
[[noreturn]] void wrong_class(std::string_view name, const Error& error);
[[noreturn]] void out_of_range(int64_t number);
// Throws when the map has a field that is none of these.
void check_known(const Map& map, const std::vector<std::string>& names);
// Returns the index of the name. Throws Error(kArgument) when it is none of these.
size_t index_of(std::string_view name, std::span<const std::string_view> names);
Value to_map(StringPairs texts);
StringPairs to_pairs(const Value& map);

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> =
    !std::is_same_v<T, Value> && !std::is_same_v<std::vector<T>, StringPairs>;

template <class T>
Value take(T& member) {
  if constexpr (Record<T>) {
    return to_value(std::move(member));
  } else if constexpr (kIsOptional<T>) {
    return member ? take(*member) : Value();
  } else if constexpr (kIsVector<T>) {
    List out;
    out.reserve(member.size());
    for (auto& each : member) out.push_back(take(each));
    return out;
  } else if constexpr (std::is_same_v<T, Error>) {
    return error_to_value(member);
  } else if constexpr (std::is_same_v<T, StringPairs>) {
    return to_map(std::move(member));
  } else if constexpr (std::is_enum_v<T> && !kNamesOf<T>.empty()) {
    return Value(kNamesOf<T>.at(static_cast<size_t>(member)));
  } else if constexpr (std::is_enum_v<T>) {
    return Value(static_cast<int64_t>(member));
  } else {
    return Value(std::move(member));
  }
}

template <Record R>
R read(Value& value);

// An empty table of Lua arrives as a map, and it is an empty list too.
inline bool is_empty_list(const Value& value) { return value.is_map() && value.as_map().empty(); }

template <class T>
T give(Value& value) {
  if constexpr (Record<T>) {
    return read<T>(value);
  } else if constexpr (kIsOptional<T>) {
    return value.is_nil() ? T() : T(give<typename T::value_type>(value));
  } else if constexpr (kIsVector<T>) {
    T out;
    if (is_empty_list(value)) return out;
    out.reserve(value.as_list().size());
    for (Value& each : value.as_list()) out.push_back(give<typename T::value_type>(each));
    return out;
  } else if constexpr (std::is_same_v<T, Error>) {
    return error_from_value(value);
  } else if constexpr (std::is_same_v<T, Value>) {
    return std::move(value);
  } else if constexpr (std::is_same_v<T, List>) {
    return is_empty_list(value) ? List() : std::move(value.as_list());
  } else if constexpr (std::is_same_v<T, StringPairs>) {
    return to_pairs(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::move(value.as_string());
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.as_bool();
  } else if constexpr (std::is_floating_point_v<T>) {
    return value.as_float();
  } else if constexpr (std::is_enum_v<T> && !kNamesOf<T>.empty()) {
    return static_cast<T>(index_of(value.as_string(), kNamesOf<T>));
  } else if constexpr (std::is_enum_v<T>) {
    const int64_t number = value.as_int();
    if (number < 0 || number > static_cast<int64_t>(kLastOf<T>)) out_of_range(number);
    return static_cast<T>(number);
  } else {
    const int64_t number = value.as_int();
    if (!std::in_range<T>(number)) out_of_range(number);
    return static_cast<T>(number);
  }
}

template <class T>
bool is_default(const T& member) {
  if constexpr (kIsOptional<T>) {
    return !member;
  } else if constexpr (kIsVector<T>) {
    return member.empty();
  } else if constexpr (std::is_same_v<T, Error> || Record<T>) {
    return false;  // always sent
  } else {
    return member == T();
  }
}

template <class R, class T>
void add(Map& out, std::type_identity_t<R>& record, const Field<R, T>& field) {
  T& member = record.*field.member;
  if (!field.is_required && is_default(member)) return;
  out.set(std::string(field.name), take(member));
}

// The names of the fields, in their order.
template <Record R>
std::vector<std::string> names_of() {
  return R::kFields.apply(
      [](const auto&... field) { return std::vector<std::string>{std::string(field.name)...}; });
}

// Whether the fields that may be left out are exactly those whose type can express it.
template <Strict R>
constexpr bool has_no_silent_default() {
  return R::kFields.apply([]<class... Holder, class... T>(const Field<Holder, T>&... field) {
    return ((field.is_required != kIsOptional<T>)&&...);
  });
}

template <class R, class T>
void read_field(Map& map, std::type_identity_t<R>& record, const Field<R, T>& field) {
  Value* value = map.find(field.name);
  if (value == nullptr && field.is_required) missing(field.name);
  if (value == nullptr || (!field.is_required && value->is_nil())) return;
  try {
    record.*field.member = give<T>(*value);
  } catch (const Error& e) {
    wrong("field", field.name, e);
  }
}

template <Record R>
R read(Value& value) {
  Map& map = value.as_map();
  if constexpr (Strict<R>) {
    static_assert(has_no_silent_default<R>(), "only a std::optional may be left out");
    check_known(map, names_of<R>());
  }
  R out;
  R::kFields.apply([&](const auto&... field) { (read_field(map, out, field), ...); });
  return out;
}

}  // namespace record_fields

template <Record R>
Value to_value(R record) {
  Map out;
  if constexpr (Message<R>) out.set("type", R::kType);
  R::kFields.apply([&](const auto&... field) { (record_fields::add(out, record, field), ...); });
  return out;
}

template <Record R>
R from_value(Value value) {
  if constexpr (Message<R>) {
    try {
      return record_fields::read<R>(value);
    } catch (const Error& e) {
      record_fields::wrong("message", R::kType, e);
    }
  } else if constexpr (Strict<R>) {
    try {
      return record_fields::read<R>(value);
    } catch (const Error& e) {
      record_fields::wrong_class(R::kClass, e);
    }
  } else {
    return record_fields::read<R>(value);
  }
}

}  // namespace rtrain
