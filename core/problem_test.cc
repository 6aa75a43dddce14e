#include "core/problem.h"

#include <doctest/doctest.h>
#include <string>

#include "core/json.h"

using namespace remotist;

TEST_CASE("a problem document has what a refusal says, and what the table says about its code") {
  for (const CodeRow& row : code_table()) {
    const Refusal refusal{row.code, "because \"of\" this", "price"};
    const auto document = nlohmann::json::parse(problem_document(refusal, "the-request").dump());
    CHECK(document["type"] == "urn:remotist:problem:" + std::string{row.name});
    CHECK(document["title"] == row.title);
    CHECK(document["status"] == row.http_status);
    CHECK(document["detail"] == refusal.detail);
    CHECK(document["code"] == row.name);
    CHECK(document["retryable"] == row.retryable);
    CHECK(document["request_id"] == "the-request");
    CHECK(document["field"] == "price");
  }
  CHECK_FALSE(problem_document(refuse(Code::busy, "later"), "").contains("field"));
}
