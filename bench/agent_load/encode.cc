#include "bench/agent_load/encode.h"

#include <algorithm>
#include <openssl/evp.h>
#include <variant>

namespace remotist::bench {
namespace {

using protocol::AttemptKey;

// Texts that are written as they are; anything else is left to those who know how to escape it.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.' || c == '/';
  });
}

void append_key(std::string& text, const AttemptKey& key) {
  text.append(R"("job":")").append(key.name.job.text());
  text.append(R"(","attempt":)").append(std::to_string(key.name.number));
  text.append(R"(,"token":")").append(key.token).append("\"");
}

void append_base64(std::string& text, std::string_view bytes) {
  const std::size_t before = text.size();
  // OpenSSL ends it with a zero.
  text.resize_and_overwrite(before + (bytes.size() + 2) / 3 * 4 + 1, [&](char* whole, std::size_t) {
    const int written =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(whole + before),
                        reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    return before + static_cast<std::size_t>(written);
  });
}

void append_end(std::string& text, std::int64_t number, std::int64_t ack) {
  text.append(R"(,"seq":)").append(std::to_string(number));
  if (ack != 0) text.append(R"(,"ack":)").append(std::to_string(ack));
  text.push_back('}');
}

std::string encode_accept(const protocol::Accept& accept, std::int64_t number, std::int64_t ack) {
  std::string text = R"({"type":"accept","attempts":[)";
  for (const auto& key : accept.attempts) {
    text.append(text.back() == '[' ? "{" : ",{");
    append_key(text, key);
    text.push_back('}');
  }
  text.push_back(']');
  append_end(text, number, ack);
  return text;
}

std::string encode_outcome(const protocol::Outcome& outcome, std::int64_t number, std::int64_t ack) {
  std::string text = R"({"type":"outcome",)";
  append_key(text, outcome.attempt);
  text.append(R"(,"outcome":")").append(name_of(outcome.kind));
  text.append(R"(","cpu_ms":)").append(std::to_string(outcome.cpu_ms));
  if (!outcome.files.empty()) text.append(R"(,"files":[)");
  for (const auto& file : outcome.files) {
    text.append(text.back() == '[' ? "{" : ",{");
    text.append(R"("role":")").append(file.role);
    text.append(R"(","path":")").append(file.path);
    text.append(R"(","base64":")");
    append_base64(text, file.bytes);
    text.append("\"}");
  }
  if (!outcome.files.empty()) text.push_back(']');
  append_end(text, number, ack);
  return text;
}

}  // namespace

std::string encode(const protocol::Frame<protocol::FromAgent>& frame) {
  if (const auto* accept = std::get_if<protocol::Accept>(&frame.body)) {
    if (std::ranges::all_of(accept->attempts, [](const auto& key) { return is_plain(key.token); }))
      return encode_accept(*accept, frame.number, frame.ack);
  }
  if (const auto* outcome = std::get_if<protocol::Outcome>(&frame.body)) {
    const bool files_plain = std::ranges::all_of(
        outcome->files, [](const auto& file) { return is_plain(file.role) && is_plain(file.path); });
    if (is_plain(outcome->attempt.token) && files_plain && !outcome->failure_code &&
        outcome->failure_detail.empty())
      return encode_outcome(*outcome, frame.number, frame.ack);
  }
  return text_of(frame);
}

}  // namespace remotist::bench
