// host/base/secrets.h: keeps keys and passwords out of a run's record; compares them.
//
// A name is a secret's when one of its parts is key, token, secret, password or credential:
// api_key, WANDB_TOKEN, db.password, and not monkey or tokens. Parts are what lies between
// underscores, dashes and dots; case does not count. Only strings are secrets: key_size = 64 stays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain {

// What stands in a secret's place.
inline constexpr std::string_view kMasked = "***";

bool is_secret_name(std::string_view name);

// Whether both are the same, and not empty; the time that it takes says nothing about where they
// differ.
bool is_same_secret(std::string_view a, std::string_view b);

// The config with the strings under such names replaced, at any depth.
Value mask_secrets(const Value& config);
// The arguments with the value replaced in NAME=VALUE, --NAME=VALUE and --set=NAME=VALUE, and in
// the argument behind --NAME.
std::vector<std::string> mask_secrets(const std::vector<std::string>& command);

}  // namespace rtrain
