#include "core/json_body.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/utf8.h"

namespace remotist {
namespace {

using nlohmann::json;

// A client's own words come back to it, but not a megabyte of them.
constexpr std::size_t kFieldShownMax = 100;

const json& nothing() {
  static const json null;
  return null;
}

// A whole number that fits 64 bits with a sign.
bool is_integer(const json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX : value.is_number_integer();
}

// Where the text is wrong, and not the token there, which may be long and a secret.
std::string_view without_token(std::string_view mistake) {
  for (const std::string_view token : {"; last read", " parsing '"})
    mistake = mistake.substr(0, mistake.find(token));
  return mistake;
}

}  // namespace

JsonBody::JsonBody(std::string_view text, std::size_t bytes_max) : document_(&nothing()) {
  if (text.size() > bytes_max) {
    refusal_ = refuse(Code::too_large, "this JSON body may have " + std::to_string(bytes_max) +
                                           " bytes, this one has " + std::to_string(text.size()));
    return;
  }
  take(parse_untrusted(text));
}

JsonBody::JsonBody(UntrustedJson parsed) : document_(&nothing()) {
  take(std::move(parsed));
}

JsonBody::JsonBody(const json& document, std::string where) : document_(&document), where_(std::move(where)) {
  if (!document.is_object())
    refusal_ = refuse(Code::malformed_request, "the body must be a JSON object, {…}");
}

void JsonBody::take(UntrustedJson parsed) {
  if (parsed.document && parsed.document->is_object()) {
    owned_ = std::make_unique<const json>(*std::move(parsed.document));
    document_ = owned_.get();
  } else if (parsed.document) {
    refusal_ = refuse(Code::malformed_request, "the body must be a JSON object, {…}");
  } else if (parsed.too_deep) {
    refusal_ = refuse(Code::malformed_request,
                      "the JSON is nested deeper than " + std::to_string(limits::kJsonDepthMax) + " levels");
  } else {
    refusal_ = refuse(Code::malformed_request,
                      "the body is not JSON: " + std::string{without_token(parsed.mistake)});
  }
}

void JsonBody::wrong(std::string_view field, const std::string& detail) {
  if (refusal_) return;
  auto shown = where_ + utf8_within(field, kFieldShownMax);
  if (field.size() > kFieldShownMax) shown += "…";
  refusal_ = refuse(Code::invalid_field, shown + " " + detail, shown);
}

const json* JsonBody::find(const char* field, const char* type) {
  const auto known = std::ranges::find(asked_, field, &Asked::field);
  if (known == asked_.end()) {
    constexpr std::size_t kUsualFields = 16;
    if (asked_.empty()) asked_.reserve(kUsualFields);
    asked_.push_back({field, type});
  } else {
    known->type = type;
  }
  if (!document_->is_object()) return nullptr;
  const auto found = document_->find(field);
  return found == document_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonBody::is_asked(std::string_view field) const {
  return std::ranges::contains(asked_, field, &Asked::field);
}

std::string JsonBody::text(const char* field) {
  auto value = text_if(field);
  if (!value) wrong(field, "is missing: it must be a string");
  return value.value_or("");
}

std::optional<std::string> JsonBody::text_if(const char* field) {
  const auto* value = find(field, "a string");
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    wrong(field, "must be a string");
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::optional<std::int64_t> JsonBody::integer_if(const char* field) {
  const auto* value = find(field, "a whole number");
  if (value == nullptr) return std::nullopt;
  // R writes whole numbers as 1 or as 1.0; both mean the same.
  if (value->is_number_unsigned() && value->get<std::uint64_t>() <= INT64_MAX)
    return value->get<std::int64_t>();
  if (value->is_number_integer() && !value->is_number_unsigned()) return value->get<std::int64_t>();
  if (value->is_number_float()) {
    const auto number = value->get<double>();
    const auto whole = number > -9e15 && number < 9e15 ? static_cast<std::int64_t>(number) : 0;
    if (static_cast<double>(whole) == number) return whole;
  }
  wrong(field, "must be a whole number");
  return std::nullopt;
}

std::int64_t JsonBody::integer_or(const char* field, std::int64_t otherwise) {
  return integer_if(field).value_or(otherwise);
}

double JsonBody::number_or(const char* field, double otherwise) {
  const auto* value = find(field, "a number");
  if (value == nullptr) return otherwise;
  if (!value->is_number()) {
    wrong(field, "must be a number");
    return otherwise;
  }
  return value->get<double>();
}

bool JsonBody::flag_or(const char* field, bool otherwise) {
  const auto* value = find(field, "true or false");
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) {
    wrong(field, "must be true or false");
    return otherwise;
  }
  return value->get<bool>();
}

std::vector<std::string> JsonBody::texts(const char* field) {
  if (find(field, "a list of strings") == nullptr) wrong(field, "is missing: it must be a list of strings");
  return texts_or_none(field);
}

std::vector<std::string> JsonBody::texts_or_none(const char* field) {
  std::vector<std::string> texts;
  const auto* value = find(field, "a list of strings");
  if (value == nullptr) return texts;
  if (!value->is_array()) {
    wrong(field, "must be a list of strings");
    return texts;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_string()) {
      wrong(std::string{field} + "[" + std::to_string(i) + "]", "must be a string");
      return texts;
    }
    texts.push_back((*value)[i].get<std::string>());
  }
  return texts;
}

std::vector<std::int64_t> JsonBody::integers_or_none(const char* field, std::size_t most) {
  std::vector<std::int64_t> integers;
  const auto* value = find(field, "a list of whole numbers");
  if (value == nullptr) return integers;
  if (!value->is_array() || value->size() > most || !std::ranges::all_of(*value, is_integer)) {
    wrong(field, "must be a list of at most " + std::to_string(most) + " whole numbers");
    return integers;
  }
  for (const auto& each : *value) integers.push_back(each.get<std::int64_t>());
  return integers;
}

std::vector<JsonBody> JsonBody::objects_or_none(const char* field, std::size_t most) {
  std::vector<JsonBody> objects;
  const auto* value = find(field, "a list of objects");
  if (value == nullptr) return objects;
  if (!value->is_array()) {
    wrong(field, "must be a list of objects");
    return objects;
  }
  if (value->size() > most) {
    wrong(field, "may have " + std::to_string(most) + " objects");
    return objects;
  }
  objects.reserve(value->size());
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::string where = std::string{field} + "[" + std::to_string(i) + "]";
    if (!(*value)[i].is_object()) {
      wrong(where, "must be an object, {…}");
      return objects;
    }
    objects.push_back(JsonBody{(*value)[i], where_ + where + "."});
  }
  return objects;
}

std::optional<JsonBody> JsonBody::object_if(const char* field) {
  const auto* value = find(field, "an object");
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    wrong(field, "must be an object, {…}");
    return std::nullopt;
  }
  return JsonBody{*value, where_ + field + "."};
}

std::map<std::string, std::int64_t> JsonBody::integers_by_name_or_none(const char* field, std::size_t most) {
  std::map<std::string, std::int64_t> integers;
  const auto* value = find(field, "an object");
  if (value == nullptr) return integers;
  if (!value->is_object() || value->size() > most || !std::ranges::all_of(*value, is_integer)) {
    wrong(field, "must be an object of at most " + std::to_string(most) + " whole numbers");
    return integers;
  }
  for (const auto& [name, each] : value->items()) integers.emplace(name, each.get<std::int64_t>());
  return integers;
}

std::string JsonBody::fields() const {
  auto sorted = asked_;
  std::ranges::sort(sorted, {}, &Asked::field);
  std::string listed;
  for (const auto& [field, type] : sorted)
    listed.append(listed.empty() ? "" : ", ").append(field).append(" (").append(type).append(")");
  return listed;
}

// A body may have tens of thousands of fields that nobody asked for: the first is enough.
std::optional<Refusal> JsonBody::refusal() {
  if (refusal_ || !document_->is_object()) return refusal_;
  const auto& fields_there = document_->get_ref<const json::object_t&>();
  const auto unknown =
      std::ranges::find_if(fields_there, [&](const auto& field) { return !is_asked(field.first); });
  if (unknown != fields_there.end()) wrong(unknown->first, "is not a field here; those are: " + fields());
  return refusal_;
}

}  // namespace remotist
