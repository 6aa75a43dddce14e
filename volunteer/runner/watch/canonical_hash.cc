#include "volunteer/runner/watch/canonical_hash.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "volunteer/runner/watch/elements.h"
#include "volunteer/runner/watch/stream_reader.h"

namespace remotist::volunteer {

namespace {

constexpr int kDepthMax = 1'000;

// Reads a stream once, item by item. Parts that the hash ignores are read as well, into a hash that is
// dropped.
class StreamHasher {
 public:
  explicit StreamHasher(const ByteChain& stream) : reader_(stream) {}

  Hash run() {
    reader_.begin();
    item();
    return hash_.result();
  }

 private:
  struct Referable {   // an earlier item that a reference may name, in the order of the stream
    std::string name;  // of a symbol
    std::uint64_t number;
    Hash hash{};  // of an item that is hashed in the same way wherever it occurs
  };
  using Named = std::pair<std::string, Hash>;

  // What `feed` hashes is not part of the present hash: its own hash is returned, to be sorted or dropped.
  template <class Feed>
  Hash hash_separately(Feed feed) {
    WordHash outer = std::exchange(hash_, WordHash{});
    feed();
    const Hash separate = hash_.result();
    hash_ = std::move(outer);
    return separate;
  }
  void feed(const Hash& hash) {
    hash_.word(hash.high);
    hash_.word(hash.low);
  }
  void feed(std::string_view text) {
    hash_.word(text.size());
    hash_.bytes(text.data(), text.size());
  }
  void feed_sorted(std::vector<Named>& all) {
    std::ranges::sort(all, {}, &Named::first);
    hash_.word(all.size());
    for (const auto& [name, hash] : all) {
      feed(name);
      feed(hash);
    }
  }

  // --- values
  void item() { item(reader_.head()); }

  void item(const ItemHead& head) {
    if (++depth_ > kDepthMax) throw Malformed{};
    body(head);
    --depth_;
  }

  void body(const ItemHead& head) {
    switch (head.type) {
      case kNull:
      case kGlobal:
      case kUnbound:
      case kMissing:
      case kBaseNamespace:
      case kBaseEnvironment:
      case kEmptyEnvironment:
        return hash_.word(static_cast<std::uint64_t>(head.type));
      case kReference:
        return reference(head);
      case kSymbol:
        return symbol();
      case kNamespace:
      case kPackage:
      case kPersistent:
        return named_environment(head.type);
      case kEnvironment:
        return environment();
      case kPairs:
      case kCall:
      case kClosure:
      case kPromise:
      case kDots:
        return pairs(head);
      case kPointer:
      case kWeak:
        return pointer(head);
      case kSpecial:
      case kBuiltin:
        hash_.word(static_cast<std::uint64_t>(head.type));
        return feed(reader_.text(reader_.count()));
      case kChars:
        return characters(head);
      case kByteCode:
        return byte_code(head);
      case kAltrep:
        return altrep();
      default:
        return vector(head);
    }
  }

  void reference(const ItemHead& head) {
    const auto index = reader_.reference(head);
    if (index >= referables_.size()) throw Malformed{};
    const auto& referable = referables_[index];
    if (!referable.name.empty()) {
      hash_.word(kSymbol);
      return feed(referable.name);
    }
    if (!(referable.hash == Hash{})) return feed(referable.hash);
    hash_.word(kReference);
    hash_.word(referable.number);
  }

  std::string symbol_name() {
    const ItemHead chars = reader_.head();
    if (chars.type != kChars) throw Malformed{};
    auto name = characters_of(chars).value_or("NA");
    referables_.push_back({name, 0});
    return name;
  }
  void symbol() {
    const auto name = symbol_name();
    hash_.word(kSymbol);
    feed(name);
  }

  void named_environment(int type) {
    reader_.integer();
    const auto count = reader_.count();
    const auto hash = hash_separately([&] {
      hash_.word(static_cast<std::uint64_t>(type));
      for (std::size_t i = 0; i < count; ++i) item();
    });
    referables_.push_back({{}, 0, hash});
    feed(hash);
  }

  void environment() {
    referables_.push_back({{}, environments_++});
    reader_.integer();  // locked
    hash_.word(kEnvironment);
    item();  // the environment around it
    std::vector<Named> variables;
    frame(reader_.head(), variables);
    const ItemHead table = reader_.head();
    if (table.type == kList) {
      const auto count = reader_.length();
      for (std::uint64_t i = 0; i < count; ++i) frame(reader_.head(), variables);
      if (table.attributes) hash_separately([this] { item(); });
    } else if (table.type != kNull) {
      throw Malformed{};
    }
    feed_sorted(variables);
    attributes(reader_.head());
  }

  // The bindings of an environment, or of one chain of its table.
  void frame(ItemHead pair, std::vector<Named>& into) {
    while (pair.type == kPairs) {
      if (pair.attributes) hash_separately([this] { item(); });
      auto name = pair.tag ? tag() : std::string{};
      into.emplace_back(std::move(name), hash_separately([this] { item(); }));
      pair = reader_.head();
    }
    if (pair.type != kNull) throw Malformed{};
  }

  std::string tag() {
    const ItemHead what = reader_.head();
    if (what.type == kSymbol) return symbol_name();
    if (what.type == kReference) {
      const auto index = reader_.reference(what);
      if (index >= referables_.size()) throw Malformed{};
      return referables_[index].name;
    }
    if (what.type == kNull) return {};
    throw Malformed{};
  }

  void attributes(ItemHead pair) {
    std::vector<Named> all;
    while (pair.type == kPairs) {
      if (pair.attributes) hash_separately([this] { item(); });
      auto name = pair.tag ? tag() : std::string{};
      const auto value = hash_separately([&] { name == "row.names" ? row_names() : item(); });
      if (name != "srcref" && name != "srcfile" && name != "wholeSrcref")
        all.emplace_back(std::move(name), value);
      pair = reader_.head();
    }
    if (pair.type != kNull) throw Malformed{};
    feed_sorted(all);
  }

  // R holds 1..n as c(NA, -n) or c(NA, n).
  void row_names() {
    const ItemHead what = reader_.head();
    if (what.type != kInteger || what.attributes) return item(what);
    const auto count = reader_.length();
    std::vector<int> first;
    for (std::uint64_t i = 0; i < count && i < 2; ++i) first.push_back(reader_.integer());
    if (count == 2 && first[0] == std::numeric_limits<int>::min()) {
      const auto rows = std::abs(static_cast<std::int64_t>(first[1]));
      return feed_sequence(hash_, kInteger, static_cast<double>(rows), 1, 1);
    }
    begin_vector(hash_, kInteger, count);
    for (const int value : first) hash_.word(static_cast<std::uint32_t>(value));
    for (std::uint64_t i = first.size(); i < count; ++i)
      hash_.word(static_cast<std::uint32_t>(reader_.integer()));
    hash_.word(0);
  }

  void pairs(ItemHead head) {
    const bool is_list = head.type == kPairs || head.type == kCall || head.type == kDots;
    while (true) {
      hash_.word(static_cast<std::uint64_t>(head.type));
      Hash of_attributes{};
      if (head.attributes) of_attributes = hash_separately([this] { attributes(reader_.head()); });
      // An item whose attributes are all ignored is equal to one without attributes.
      if (head.attributes && !(of_attributes == hash_separately([this] { hash_.word(0); })))
        feed(of_attributes);
      if (head.tag) item();
      item();
      if (!is_list) return item();
      head = reader_.head();
      if (head.type != kPairs && head.type != kCall && head.type != kDots) {
        return item(head);
      }
    }
  }

  void pointer(const ItemHead& head) {
    referables_.push_back({{}, 0, Hash{kPointer, 0}});
    hash_.word(kPointer);
    if (head.type == kPointer) {
      hash_separately([this] { item(); });
      hash_separately([this] { item(); });
    }
    if (head.attributes) hash_separately([this] { item(); });
  }

  std::optional<std::string> characters_of(const ItemHead& head) {
    constexpr int kLatin1 = 1 << 2;
    const int count = reader_.integer();
    if (count == -1) return std::nullopt;
    if (count < 0) throw Malformed{};
    auto bytes = reader_.text(static_cast<std::size_t>(count));
    return (head.levels & kLatin1) != 0 ? utf8_of_latin1(bytes) : bytes;
  }
  void characters(const ItemHead& head) {
    constexpr int kBytes = 1 << 1;  // not text, and equal to no text
    if ((head.levels & kBytes) != 0) hash_.word(kBytes);
    const auto bytes = characters_of(head);
    if (bytes) return feed(*bytes);
    hash_.word(std::numeric_limits<std::uint64_t>::max());
  }

  void vector(const ItemHead& head) {
    const auto integers = [](int value) { return std::uint64_t{static_cast<std::uint32_t>(value)}; };
    const auto reals = [](double value) { return canonical_bits(value); };
    if (head.type == kS4) {
      hash_.word(kS4);
    } else {
      const auto count = reader_.length();
      begin_vector(hash_, head.type, count);
      switch (head.type) {
        case kLogical:
        case kInteger:
          feed_numbers<int>(hash_, reader_, count, integers);
          break;
        case kReal:
          feed_numbers<double>(hash_, reader_, count, reals);
          break;
        case kComplex:
          feed_numbers<double>(hash_, reader_, count * 2, reals);
          break;
        case kRaw:
          feed_raw(hash_, reader_, count);
          break;
        case kStrings:
        case kList:
        case kExpressions:
          for (std::uint64_t i = 0; i < count; ++i) item();
          break;
        default:
          throw Malformed{};
      }
    }
    if (head.attributes) {
      attributes(reader_.head());
    } else {
      hash_.word(0);
    }
  }

  // R's alternative representations of a vector: class, state, attributes.
  void altrep() {
    std::string name;
    hash_separately([&] { name = altrep_class(); });
    if (name == "compact_intseq" || name == "compact_realseq") {
      const ItemHead state = reader_.head();
      if (state.type != kReal || reader_.length() != 3) throw Malformed{};
      double three[3];
      reader_.numbers(three, 3);
      feed_sequence(hash_, name == "compact_intseq" ? kInteger : kReal, three[0], three[1], three[2]);
      hash_separately([this] { item(); });  // attributes: such a vector has none
    } else if (name.starts_with("wrap_")) {
      // A pair: the vector itself, and whether it is sorted.
      const ItemHead state = reader_.head();
      if (state.type != kPairs || state.attributes || state.tag) throw Malformed{};
      item();
      hash_separately([this] { item(); });
      hash_separately([this] { item(); });
    } else {
      hash_.word(kAltrep);
      feed(name);
      item();
      item();
    }
  }
  std::string altrep_class() {
    ItemHead pair = reader_.head();
    std::string name;
    for (bool first = true; pair.type == kPairs; first = false, pair = reader_.head()) {
      if (pair.attributes) item();
      if (pair.tag) item();
      if (first) {
        name = tag();
      } else {
        item();
      }
    }
    return name;
  }

  // Byte code is hashed as the expression that it was compiled from: the first of its constants.
  void byte_code(const ItemHead& head) {
    reader_.count();
    code(true);
    if (head.attributes) hash_separately([this] { item(); });
  }
  void code(bool is_outermost) {
    if (++depth_ > kDepthMax) throw Malformed{};
    hash_separately([this] { item(); });
    const auto count = reader_.count();
    for (std::size_t i = 0; i < count; ++i) {
      const auto constant = [this] {
        const int type = reader_.integer();
        if (type == kByteCode) return code(false);
        const bool is_call = type == kCall || type == kPairs || type == kCodeFirst || type == kCodeAgain ||
                             type == kCallWithAttributes || type == kPairsWithAttributes;
        is_call ? code_call(type) : item();
      };
      if (i == 0 && is_outermost) {
        constant();
      } else {
        hash_separately(constant);
      }
    }
    --depth_;
  }
  void code_call(int type) {
    if (++depth_ > kDepthMax) throw Malformed{};
    if (type == kCodeAgain) {
      reader_.integer();
      hash_.word(kCodeAgain);
    } else if (type == kCall || type == kPairs || type == kCodeFirst || type == kCallWithAttributes ||
               type == kPairsWithAttributes) {
      if (type == kCodeFirst) {
        reader_.integer();
        type = reader_.integer();
      }
      const bool has_attributes = type == kCallWithAttributes || type == kPairsWithAttributes;
      if (has_attributes) hash_separately([this] { item(); });
      hash_.word(type == kCall || type == kCallWithAttributes ? kCall : kPairs);
      const ItemHead tagged = reader_.head();
      if (tagged.type != kNull) item(tagged);
      code_call(reader_.integer());
      code_call(reader_.integer());
    } else {
      item();
    }
    --depth_;
  }

  StreamReader reader_;
  int depth_ = 0;
  WordHash hash_;
  std::vector<Referable> referables_;
  std::uint64_t environments_ = 0;
};

}  // namespace

Hash canonical_hash(const ByteChain& stream) {
  try {
    return StreamHasher{stream}.run();
  } catch (const Malformed&) {
    WordHash hash;
    stream.each_segment([&](std::string_view bytes) { hash.bytes(bytes.data(), bytes.size()); });
    const auto [high, low] = hash.result();
    return {high, ~low};
  }
}

}  // namespace remotist::volunteer
