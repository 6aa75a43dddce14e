// Reads a JSON object field by field and reports the first mistake as a refusal.
//
//   JsonBody body{text};
//   auto name = body.text("name");
//   auto cpu = body.integer_or("cpu", 1);
//   if (auto refusal = body.refusal()) co_return *refusal;
//
// Getters never fail: refusal() returns the first mistake. A field that no getter has read is a mistake, so
// that a misspelt option is never ignored; its refusal lists the fields that were asked for, with their types
// (tests/integration/rights_test.cc compares them with openapi.json). Names of fields are string literals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/limits.h"
#include "core/result.h"

namespace remotist {

class JsonBody {
 public:
  explicit JsonBody(std::string_view text, std::size_t bytes_max = limits::kJsonBytesMax);
  explicit JsonBody(UntrustedJson parsed);
  // Reads a document that must outlive the body.
  static JsonBody of(const nlohmann::json& document) { return JsonBody{document, {}}; }

  std::string text(const char* field);
  std::optional<std::string> text_if(const char* field);
  std::int64_t integer_or(const char* field, std::int64_t otherwise);
  std::optional<std::int64_t> integer_if(const char* field);
  double number_or(const char* field, double otherwise);
  bool flag_or(const char* field, bool otherwise);
  std::vector<std::string> texts(const char* field);
  std::vector<std::int64_t> integers_or_none(const char* field, std::size_t most);
  std::vector<std::string> texts_or_none(const char* field);

  // A list of at most so many objects, each to be read in its own right while this body lives; their mistakes
  // are told as "files[2].path".
  std::vector<JsonBody> objects_or_none(const char* field, std::size_t most);
  // An object, likewise; its mistakes are told as "position.line".
  std::optional<JsonBody> object_if(const char* field);
  // An object of whole numbers: at most so many, by whatever names.
  std::map<std::string, std::int64_t> integers_by_name_or_none(const char* field, std::size_t most);
  bool has(const char* field) const { return document_->is_object() && document_->contains(field); }

  // Call after the last getter.
  std::optional<Refusal> refusal();

 private:
  struct Asked {
    std::string_view field;
    std::string_view type;  // in words
  };

  JsonBody(const nlohmann::json& document, std::string where);
  void take(UntrustedJson parsed);
  // Null when the field is absent or JSON null.
  const nlohmann::json* find(const char* field, const char* type);
  bool is_asked(std::string_view field) const;
  // "cpu (a whole number), name (a string)"
  std::string fields() const;
  void wrong(std::string_view field, const std::string& detail);

  std::unique_ptr<const nlohmann::json> owned_;  // none: the document is another's
  const nlohmann::json* document_;               // never null
  std::string where_;                            // "files[2]." in an object of a list
  std::vector<Asked> asked_;
  std::optional<Refusal> refusal_;
};

}  // namespace remotist
