// host/base/secrets.h: keeps keys and passwords out of a run's record; compares them.
//
// A name is that of a secret if one of its parts is key, token, secret, password or credential:
// api_key, WANDB_TOKEN, db.password, but not monkey or tokens. Underscores, dashes and dots
// separate parts; case is ignored. Only strings are secrets: key_size = 64 is not masked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain {

// Replaces a secret.
inline constexpr std::string_view kMasked = "***";

bool is_secret_name(std::string_view name);

// Whether both are equal and not empty. The time does not depend on where they differ.
bool is_same_secret(std::string_view a, std::string_view b);

// Returns the config with strings under such names masked, at any depth.
Value mask_secrets(const Value& config);
// Returns the arguments with values masked in NAME=VALUE, --NAME=VALUE and --set=NAME=VALUE, and in
// the argument after --NAME.
std::vector<std::string> mask_secrets(const std::vector<std::string>& command);

}  // namespace rtrain
