#include "core/json.h"

#include <cstddef>
#include <utility>
#include <vector>

template class nlohmann::basic_json<>;

namespace remotist {
namespace {

using nlohmann::json;

// Receives the parser's events and builds the document that json::parse() would return.
class DocumentBuilder {
 public:
  explicit DocumentBuilder(int depth_max) : depth_max_(static_cast<std::size_t>(depth_max)) {
    open_.reserve(depth_max_);
  }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  // Of fields with the same name the last one counts.
  bool key(std::string& name) {
    field_ = &(*open_.back())[std::move(name)];
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& fault) {
    mistake_ = fault.what();
    return false;
  }

  UntrustedJson result(bool complete) && {
    if (complete) return {.document = std::move(document_)};
    return {.document = std::nullopt, .too_deep = too_deep_, .mistake = std::move(mistake_)};
  }

 private:
  bool add(json value) {
    put(std::move(value));
    return true;
  }

  json* put(json value) {
    if (open_.empty()) {
      document_ = std::move(value);
      return &document_;
    }
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    *field_ = std::move(value);
    return field_;
  }

  bool open(json container) {
    too_deep_ = open_.size() == depth_max_;
    if (!too_deep_) open_.push_back(put(std::move(container)));
    return !too_deep_;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t depth_max_;
  json document_;
  std::vector<json*> open_;  // objects and arrays around the position in the text
  json* field_ = nullptr;    // of the innermost object: the value that follows belongs to it
  bool too_deep_ = false;
  std::string mistake_;
};

}  // namespace

json json_in(std::string_view text) {
  return json::parse(text);
}

UntrustedJson parse_untrusted(std::string_view text, int depth_max) {
  DocumentBuilder builder{depth_max};
  const bool complete = json::sax_parse(text, &builder);
  return std::move(builder).result(complete);
}

std::optional<json> json_if_any(std::string_view text, int depth_max) {
  return parse_untrusted(text, depth_max).document;
}

}  // namespace remotist
