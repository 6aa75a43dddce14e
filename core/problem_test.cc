#include "core/problem.h"

#include <doctest/doctest.h>

#include "core/json.h"

using namespace remotist;

TEST_CASE("a refusal survives the way over the wire") {
  for (const CodeRow& row : code_table()) {
    const Refusal sent{row.code, "because \"of\" this", "price"};
    const auto document = nlohmann::json::parse(problem_document(sent, "the-request").dump());
    CHECK(document["status"] == row.http_status);
    CHECK(document["request_id"] == "the-request");
    const Refusal got = refusal_from(document, row.http_status);
    CHECK(got.code == sent.code);
    CHECK(got.detail == sent.detail);
    CHECK(got.field == sent.field);
  }
}

TEST_CASE("an answer that is no problem document still says something") {
  CHECK(refusal_from(nlohmann::json::array(), 502).detail == "the server answered HTTP 502 without a reason");
  CHECK(refusal_from({{"code", 7}, {"detail", "bad gateway"}}, 502).detail == "bad gateway");
  CHECK(refusal_from({{"code", "unheard_of"}}, 418).code == Code::internal);
}
