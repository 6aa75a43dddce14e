// What holds of everything that the market reads of a REST request but the bodies of bodies.h: paths, query
// parameters, headers, and the bodies of accounts, machines, jobs and admins. The fuzzer looks for bytes that
// break it, and the unit tests try again all that were found.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/digest.h"
#include "core/limits.h"
#include "core/websocket.h"
#include "market/api/router.h"
#include "market/api/timestamp.h"
#include "market/service/checkpoint_bodies.h"
#include "market/service/checks.h"
#include "market/service/jobs.h"
#include "market/service/new_machine.h"
#include "market/service/request_bodies.h"
#include "market/service/request_fields.h"
#include "market/service/subscriber.h"
#include "tests/fuzz/documents.h"

namespace remotist::fuzz {

// A table with an exact part beside a value, and two values.
inline const market::Router& sample_router() {
  static const market::Router router = [] {
    market::Router sample;
    sample.add("GET", "/", 0);
    sample.add("GET", "/job/", 1);
    sample.add("PUT", "/job/", 2);
    sample.add("GET", "/job/{id}", 3);
    sample.add("GET", "/job/list", 4);
    sample.add("GET", "/job/{id}/partialResults/{variable}", 5);
    return sample;
  }();
  return router;
}

// Every byte as %…
inline std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  std::string encoded;
  for (const char byte : text) {
    const auto number = static_cast<unsigned char>(byte);
    encoded += {'%', kDigits[number / 16], kDigits[number % 16]};
  }
  return encoded;
}

inline std::string value_broken_by(const std::string& value) {
  if (value.empty() || value.contains('\0') || !is_utf8(value)) return "a value is no text";
  const auto again = sample_router().find("GET", "/job/x/partialResults/" + percent_encoded(value));
  return again && again->values.size() == 2 && again->values[1] == value ? "" : "a value reads differently";
}

inline std::string target_broken_by(std::string_view path) {
  const auto match = sample_router().find("GET", path);
  if (!match) return {};
  if (!path.starts_with('/') || match->allowed.empty() || match->values.size() > 2)
    return "a path is found that is none";
  for (const auto& value : match->values) {
    if (auto broken = value_broken_by(value); !broken.empty()) return broken;
  }
  return {};
}

// As a whole, and as a value.
inline std::string paths_in_broken_by(std::string_view text) {
  if (auto broken = target_broken_by(text); !broken.empty()) return broken;
  return target_broken_by("/job/" + std::string{text} + "/partialResults/" + std::string{text});
}

inline std::string address_broken_by(std::string_view text) {
  const auto plain = market::plain_address(text);
  if (market::plain_address(plain) != plain) return "a plain address is not plain";
  const auto subscriber = market::subscriber_of(text);
  if (market::subscriber_of(plain) != subscriber) return "an address has two subscribers";
  if (market::is_network(text) && !text.contains('/') && !market::is_network(subscriber))
    return "the subscriber of an address is no network";
  const auto seen = market::forwarded_address(text);
  if (seen && (!market::is_network(*seen) || seen->contains('/') || market::plain_address(*seen) != *seen))
    return "a forwarded address is none";
  return {};
}

inline std::string fields_broken_by(std::string_view text) {
  using namespace market;
  if (const auto count = read_count(text, "page", 1, limits::kPageNumberMax);
      count ? *count < 1 || *count > limits::kPageNumberMax : !refusal_broken_by(count.refusal()).empty())
    return "a count is past its limits";
  if (read_sequence(text).value_or(0) < 0) return "a sequence is negative";
  if (const auto state = read_job_state(text); !state && !refusal_broken_by(state.refusal()).empty())
    return "a state's refusal cannot be read";
  if (const auto time = timestamp_of(text); time && (*time != text || time->size() > 27))
    return "a time reads differently";
  if (const auto claim = read_attempt_claim(text); claim && (claim->number < 1 || claim->token_hash.empty()))
    return "an attempt is claimed that is none";
  if (check_idempotency_key(text) && (!is_utf8(text) || has_control_characters(text) || text.contains(' ')))
    return "an idempotency key is not printable";
  if (!std::string_view{text}.contains(bearer_token_of(text))) return "a token is not in its header";
  if (check_email(text) && (std::ranges::count(text, '@') != 1 || text.contains('\0') || text.contains(' ')))
    return "an e-mail address is none";
  return {};
}

inline std::string encodings_broken_by(std::string_view text) {
  if (const auto key = websocket::accept_key(text); key && (text.size() != 24 || key->size() != 28))
    return "a WebSocket key is none";
  if (const auto bytes = bytes_of_hex(text, text.size() / 2); bytes && hex_of(*bytes) != text)
    return "hexadecimal digits read differently";
  if (bytes_of_hex(hex_of(text), text.size()) != std::string{text})
    return "hexadecimal digits cannot be undone";
  if (const auto bytes = bytes_of_base64url(text, text.size() * 3 / 4); bytes && base64url_of(*bytes) != text)
    return "base64url reads differently";
  if (bytes_of_base64url(base64url_of(text), text.size()) != std::string{text})
    return "base64url cannot be undone";
  return {};
}

inline std::string refused_or(const auto& result, auto is_right, const char* broken) {
  if (!result) return refusal_broken_by(result.refusal());
  return is_right(*result) ? "" : broken;
}

// `body` makes a body of the same input each time.
inline std::string owned_bodies_broken_by(auto body) {
  using namespace market;
  auto broken = refused_or(
      read_new_job(body()), [](const NewJob& job) { return check_new_job(job).ok(); }, "a new job is none");
  if (!broken.empty()) return broken;
  broken = refused_or(
      read_new_machine(body()),
      [](const NewMachine& machine) {
        return check_new_machine(machine).ok() && per_cpu_hour(machine.price_per_cpu_second).micro() >= 0;
      },
      "a new machine is none");
  if (!broken.empty()) return broken;
  broken = refused_or(
      read_public_key(body()),
      [](const auto& key) { return !key || key->size() == SigningKey::kPublicBytes; },
      "a public key has another size");
  if (!broken.empty()) return broken;
  return refused_or(read_machine_pause(body()), [](const MachinePause&) { return true; }, "");
}

inline std::string account_bodies_broken_by(auto body) {
  using namespace market;
  const auto is_typed = [](const TypedCredentials& typed) {
    return check_email(typed.email).ok() && check_password(typed.password).ok();
  };
  auto broken = refused_or(read_credentials(body(), true), is_typed, "credentials are none");
  if (!broken.empty()) return broken;
  broken = refused_or(
      read_credentials(body(), false),
      [&](const TypedCredentials& typed) { return is_typed(typed) && !typed.invitation; },
      "an invitation comes with a login");
  if (!broken.empty()) return broken;
  return refused_or(
      read_password_change(body()),
      [](const PasswordChange& change) { return check_password(change.new_password).ok(); },
      "a new password is none");
}

inline std::string admin_bodies_broken_by(auto body) {
  using namespace market;
  auto broken = refused_or(
      read_grant(body()),
      [](Credits amount) { return amount.micro() > 0 && amount.micro() <= Credits::kCreditsMicroMax; },
      "a grant is past its limits");
  if (!broken.empty()) return broken;
  broken = refused_or(
      read_quota_mb(body()),
      [](std::int64_t megabytes) { return megabytes >= 0 && megabytes <= limits::kQuotaMbMax; },
      "a quota is past its limits");
  if (!broken.empty()) return broken;
  broken = refused_or(
      read_ban_reason(body()),
      [](const std::string& reason) {
        return is_utf8(reason) && reason.size() <= limits::kBanReasonBytesMax;
      },
      "a reason is no text");
  if (!broken.empty()) return broken;
  return refused_or(
      read_invitation_lifetime(body()), [](std::chrono::seconds lifetime) { return lifetime.count() > 0; },
      "an invitation has no lifetime");
}

inline std::string checkpoint_bodies_broken_by(auto body) {
  using namespace market;
  auto broken = refused_or(
      read_checkpoint_manifest(body()),
      [](const CheckpointManifest& manifest) {
        return !manifest.chunks.empty() && manifest.chunks.size() <= limits::kCheckpointChunksMax &&
               manifest.packages.size() <= limits::kPackagesMax && manifest.number > 0 &&
               manifest.attempt_cpu_ms >= 0 && manifest.pause_ms >= 0 && manifest.position.line >= 0;
      },
      "a manifest is past its limits");
  if (!broken.empty()) return broken;
  broken = refused_or(
      read_resume_report(body()),
      [](const ResumeReport& report) {
        return report.sequence >= 0 && report.skipped.size() <= limits::kCheckpointsSkippedMax;
      },
      "a report is past its limits");
  if (!broken.empty()) return broken;
  return refused_or(
      read_checkpoint_note(body()), [](const CheckpointNote& note) { return note.interval_ms >= 0; },
      "an interval is negative");
}

inline std::string any_body_broken_by(auto body) {
  if (auto broken = owned_bodies_broken_by(body); !broken.empty()) return broken;
  if (auto broken = checkpoint_bodies_broken_by(body); !broken.empty()) return broken;
  if (auto broken = account_bodies_broken_by(body); !broken.empty()) return broken;
  return admin_bodies_broken_by(body);
}

// What is wrong with any of them; empty when nothing is.
inline std::string requests_broken_by(std::string_view text, bool texts_too) {
  std::string broken = paths_in_broken_by(text);
  if (broken.empty()) broken = address_broken_by(text);
  if (broken.empty()) broken = fields_broken_by(text);
  if (broken.empty()) broken = encodings_broken_by(text);
  if (broken.empty() && texts_too) broken = any_body_broken_by([&] { return JsonBody{text}; });
  if (!broken.empty()) return broken;
  auto parsed = parse_untrusted(text);
  // All of them begin with the same JSON parser, so one is enough for a text that it refuses.
  if (!parsed.document) {
    const auto refused = market::read_ban_reason(JsonBody{std::move(parsed)});
    return refused ? "a text that is not JSON is a body" : refusal_broken_by(refused.refusal());
  }
  return any_body_broken_by([&] { return JsonBody::of(*parsed.document); });
}

inline std::string requests_broken_by(std::string_view text) {
  return requests_broken_by(text, is_one_in_16(text));
}

}  // namespace remotist::fuzz
