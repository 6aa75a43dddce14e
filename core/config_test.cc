#include "core/config.h"

#include <cstdio>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace remotist;

namespace {

struct TemporaryFile {
  explicit TemporaryFile(const std::string& text, mode_t mode) {
    char pattern[] = "/tmp/remotist-config-XXXXXX";
    const int fd = mkstemp(pattern);
    REQUIRE(fd >= 0);
    path = pattern;
    close(fd);
    std::ofstream{path} << text;
    chmod(path.c_str(), mode);
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

}  // namespace

TEST_CASE("settings are read, and what is not set keeps its default") {
  ConfigReader reader{
      "X_",
      {{"X_NAME", "market"}, {"X_PORT", "8081"}, {"X_TLS", "true"}, {"X_PROXIES", "a,b"}, {"HOME", "/"}}};
  std::string name;
  std::string other = "default";
  std::int64_t port = 0;
  bool tls = false;
  std::vector<std::string> proxies;
  reader.text("NAME", name);
  reader.text("OTHER", other);
  reader.number("PORT", port, 1, 65535);
  reader.flag("TLS", tls);
  reader.list("PROXIES", proxies);
  CHECK(reader.mistakes().empty());
  CHECK(name == "market");
  CHECK(other == "default");
  CHECK(port == 8081);
  CHECK(tls);
  CHECK(proxies == std::vector<std::string>{"a", "b"});
}

TEST_CASE("all mistakes are told at once, and each names its setting") {
  ConfigReader reader{"X_", {{"X_PORT", "65536"}, {"X_COUNT", "12x"}, {"X_TLS", "yes"}, {"X_PROT", "1"}}};
  std::int64_t number = 5;
  bool flag = false;
  std::string text;
  reader.number("PORT", number, 1, 65535);
  reader.number("COUNT", number, 1, 65535);
  reader.flag("TLS", flag);
  reader.required_text("NAME", text);
  const auto mistakes = reader.mistakes();
  REQUIRE(mistakes.size() == 5);
  CHECK(mistakes[0].starts_with("X_PORT='65536'"));
  CHECK(mistakes[1].starts_with("X_COUNT='12x'"));
  CHECK(mistakes[2].starts_with("X_TLS='yes'"));
  CHECK(mistakes[3] == "X_NAME must be set");
  CHECK(mistakes[4] == "X_PROT is not a setting");
  CHECK(number == 5);
}

TEST_CASE("a choice is one of its words") {
  std::string word = "open";
  ConfigReader right{"X_", {{"X_MODE", "closed"}}};
  right.choice("MODE", word, {"open", "closed"});
  CHECK(right.mistakes().empty());
  CHECK(word == "closed");
  ConfigReader wrong{"X_", {{"X_MODE", "ajar"}}};
  wrong.choice("MODE", word, {"open", "closed"});
  REQUIRE(wrong.mistakes().size() == 1);
  CHECK(wrong.mistakes()[0] == "X_MODE='ajar' must be one of: open closed");
  CHECK(word == "closed");
}

TEST_CASE("a number is accepted at its bounds and refused one past them") {
  for (const auto& [given, right] : std::initializer_list<std::pair<const char*, bool>>{
           {"0", false}, {"1", true}, {"10", true}, {"11", false}}) {
    ConfigReader reader{"X_", {{"X_N", given}}};
    std::int64_t number = 0;
    reader.number("N", number, 1, 10);
    CHECK(reader.mistakes().empty() == right);
  }
}

TEST_CASE("a secret comes from a file that only its owner can read") {
  const TemporaryFile closed{"s3cret\n", 0600};
  const TemporaryFile open{"s3cret\n", 0644};
  std::string secret;
  ConfigReader right{"X_", {{"X_KEY_FILE", closed.path}}};
  right.secret("KEY", secret);
  CHECK(right.mistakes().empty());
  CHECK(secret == "s3cret");

  ConfigReader readable{"X_", {{"X_KEY_FILE", open.path}}};
  readable.secret("KEY", secret);
  CHECK(readable.mistakes().size() == 1);

  ConfigReader in_environment{"X_", {{"X_KEY", "s3cret"}}};
  in_environment.secret("KEY", secret);
  REQUIRE(in_environment.mistakes().size() == 1);
  CHECK(in_environment.mistakes()[0].find("s3cret") == std::string::npos);
}

TEST_CASE("a settings file takes KEY=VALUE lines and names the line that is not one") {
  const TemporaryFile good{"# a comment\n\nX_A=1\nX_B=two=2\n", 0600};
  const auto values = ConfigReader::file(good.path);
  CHECK(values.at("X_A") == "1");
  CHECK(values.at("X_B") == "two=2");
  const TemporaryFile bad{"X_A=1\noops\n", 0600};
  CHECK_THROWS_WITH(ConfigReader::file(bad.path), doctest::Contains(":2: expected KEY=VALUE"));
}
