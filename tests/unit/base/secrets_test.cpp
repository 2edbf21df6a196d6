#include "host/base/secrets.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

using Arguments = std::vector<std::string>;

TEST(SecretsTest, ANameIsASecretsByOneOfItsParts) {
  for (const char* name : {"key", "api_key", "WANDB_API_KEY", "db.password", "--hf-token",
                           "client_secret", "aws_credential_file", "Token"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"", "monkey", "keys", "tokens", "tokenizer", "passwords", "lr"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(SecretsTest, StringsOfAConfigAreMaskedAtAnyDepth) {
  const Map config{{"api_key", "a"},
                   {"key", 3},
                   {"lr", 0.1},
                   {"models", List{Map{{"token", "b"}, {"name", "c"}}}}};
  const Map masked{{"api_key", "***"},
                   {"key", 3},
                   {"lr", 0.1},
                   {"models", List{Map{{"token", "***"}, {"name", "c"}}}}};
  EXPECT_EQ(mask_secrets(Value(config)), Value(masked));
}

TEST(SecretsTest, ValuesOfACommandAreMaskedWhereTheyAreStrings) {
  EXPECT_EQ(
      mask_secrets(Arguments{"--set", "api_key=x=y", "--set=a.token=x", "--set", "key=64", "--set",
                             "secret=true", "--set", "key=", "--password", "x", "--token", "--lr",
                             "0.1"}),
      (Arguments{"--set", "api_key=***", "--set=a.token=***", "--set", "key=64", "--set",
                 "secret=true", "--set", "key=", "--password", "***", "--token", "--lr", "0.1"}));
}

}  // namespace
}  // namespace rtrain
