#include "market/api/openapi.h"

#include <cstdlib>

#include "core/digest.h"
#include "openapi_html.h"
#include "openapi_json.h"

namespace remotist::market {
namespace {

// The only element of that name, as a source of a policy.
std::string hash_of_element(std::string_view page, const std::string& name) {
  const std::string open = "<" + name + ">";
  const auto from = page.find(open);
  const auto to = page.find("</" + name + ">");
  if (from == std::string_view::npos || to == std::string_view::npos || page.rfind(open) != from)
    std::abort();
  const auto text = page.substr(from + open.size(), to - from - open.size());
  return "'sha256-" + base64_of(sha256(text)) + "'";
}

}  // namespace

std::string_view openapi_document() {
  return kOpenapiJson;
}

std::string_view openapi_page() {
  return kOpenapiHtml;
}

// Trusted types make the browser refuse innerHTML and its like, should they ever get into the script. The
// only image is the page's icon.
const std::string& openapi_page_policy() {
  static const std::string policy =
      "default-src 'none'; connect-src 'self'; img-src data:; script-src " +
      hash_of_element(kOpenapiHtml, "script") + "; style-src " + hash_of_element(kOpenapiHtml, "style") +
      "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
      "trusted-types 'none'";
  return policy;
}

}  // namespace remotist::market
