#include "volunteer/runner/watch/canonical_hash.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "volunteer/runner/watch/mixer.h"

namespace remotist::volunteer {

namespace {

// The types of R's values, and those that only a stream has.
enum Type : int {
  kSymbol = 1, kPairs = 2, kClosure = 3, kEnvironment = 4, kPromise = 5, kCall = 6, kSpecial = 7, kBuiltin = 8,
  kChars = 9, kLogical = 10, kInteger = 13, kReal = 14, kComplex = 15, kStrings = 16, kDots = 17, kList = 19,
  kExpressions = 20, kByteCode = 21, kPointer = 22, kWeak = 23, kRaw = 24, kS4 = 25,
  kAltrep = 238, kPairsWithAttributes = 239, kCallWithAttributes = 240, kBaseEnvironment = 241,
  kEmptyEnvironment = 242, kCodeAgain = 243, kCodeFirst = 244, kPersistent = 247, kPackage = 248,
  kNamespace = 249, kBaseNamespace = 250, kMissing = 251, kUnbound = 252, kGlobal = 253, kNull = 254,
  kReference = 255,
};

constexpr int kDepthMax = 1'000;
constexpr std::uint64_t kSequence = 0x5345;  // marks what has no type of its own in R

struct Malformed {};

std::uint64_t canonical_bits(double value) {
  constexpr std::uint64_t kNaMark = 1954;  // the low word of R's NA
  auto bits = std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) return (bits & 0xffffffffU) == kNaMark ? 0x7ff00000000007a2U : 0x7ff8000000000000U;
  return value == 0 ? 0 : bits;
}

std::string utf8_of_latin1(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | (byte >> 6));
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

// Walks a stream once. Everything is read; what does not count goes to a mixer that nobody asks.
class Walk {
 public:
  explicit Walk(const Pieces& stream) : stream_(stream) {}

  Hash all() {
    if (text(2) != "B\n") throw Malformed{};
    const int version = integer();
    integer();
    integer();
    if (version != 2 && version != 3) throw Malformed{};
    if (version == 3) text(size(integer()));
    item();
    return digest(mixer_);
  }

 private:
  struct Head {
    int type;
    int levels;
    bool attributes;
    bool tag;
    int flags;
  };
  struct Known {  // what a reference may lead back to
    std::string name;  // of a symbol
    std::uint64_t number;
  };
  using Named = std::pair<std::string, Hash>;

  static Hash digest(const Mixer& mixer) {
    const auto both = mixer.result();
    return {both[0], both[1]};
  }
  static std::size_t size(int count) {
    if (count < 0) throw Malformed{};
    return static_cast<std::size_t>(count);
  }

  // --- reading
  void read(char* into, std::size_t count) {
    while (count > 0) {
      if (piece_ == stream_.count()) throw Malformed{};
      const auto view = stream_.at(piece_);
      const auto part = std::min(count, view.size() - at_);
      std::memcpy(into, view.data() + at_, part);
      into += part;
      count -= part;
      if ((at_ += part) == view.size()) {
        ++piece_;
        at_ = 0;
      }
    }
  }
  int integer() {
    int value = 0;
    read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  std::string text(std::size_t count) {
    if (count > stream_.size()) throw Malformed{};
    std::string out(count, '\0');
    read(out.data(), count);
    return out;
  }
  std::uint64_t length() {
    const int first = integer();
    if (first >= 0) return static_cast<std::uint64_t>(first);
    if (first != -1) throw Malformed{};
    const auto high = static_cast<std::uint64_t>(size(integer()));
    return high << 32 | static_cast<std::uint32_t>(integer());
  }
  Head head() {
    const int flags = integer();
    return {flags & 0xff, flags >> 12, (flags & 1 << 9) != 0, (flags & 1 << 10) != 0, flags};
  }

  // --- what is fed by itself, to be put in order afterwards
  template <class Feed>
  Hash apart(Feed feed) {
    const Mixer outer = std::exchange(mixer_, Mixer{});
    feed();
    return digest(std::exchange(mixer_, outer));
  }
  void feed(const Hash& hash) {
    mixer_.word(hash.high);
    mixer_.word(hash.low);
  }
  void feed(std::string_view text) {
    mixer_.word(text.size());
    mixer_.bytes(text.data(), text.size());
  }
  void feed_sorted(std::vector<Named>& all) {
    std::ranges::sort(all, {}, &Named::first);
    mixer_.word(all.size());
    for (const auto& [name, hash] : all) {
      feed(name);
      feed(hash);
    }
  }

  // --- values
  void item() { item(head()); }

  void item(const Head& head) {
    if (++depth_ > kDepthMax) throw Malformed{};
    body(head);
    --depth_;
  }

  void body(const Head& head) {
    switch (head.type) {
      case kNull: case kGlobal: case kUnbound: case kMissing: case kBaseNamespace: case kBaseEnvironment:
      case kEmptyEnvironment:
        return mixer_.word(static_cast<std::uint64_t>(head.type));
      case kReference:
        return reference(head);
      case kSymbol:
        return symbol();
      case kNamespace: case kPackage: case kPersistent:
        return named_environment(head.type);
      case kEnvironment:
        return environment();
      case kPairs: case kCall: case kClosure: case kPromise: case kDots:
        return pairs(head);
      case kPointer: case kWeak:
        return pointer(head);
      case kSpecial: case kBuiltin:
        mixer_.word(static_cast<std::uint64_t>(head.type));
        return feed(text(size(integer())));
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

  void reference(const Head& head) {
    const int packed = head.flags >> 8;
    const auto index = static_cast<std::size_t>(packed != 0 ? packed : integer());
    if (index == 0 || index > known_.size()) throw Malformed{};
    auto& known = known_[index - 1];
    if (!known.name.empty()) {
      mixer_.word(kSymbol);
      return feed(known.name);
    }
    mixer_.word(kReference);
    mixer_.word(known.number);
  }

  std::string symbol_name() {
    const Head chars = head();
    if (chars.type != kChars) throw Malformed{};
    auto name = characters_of(chars).value_or("NA");
    known_.push_back({name, 0});
    return name;
  }
  void symbol() {
    const auto name = symbol_name();
    mixer_.word(kSymbol);
    feed(name);
  }

  void named_environment(int type) {
    integer();
    const auto count = size(integer());
    mixer_.word(static_cast<std::uint64_t>(type));
    for (std::size_t i = 0; i < count; ++i) item();
    known_.push_back({{}, known_.size()});
  }

  void environment() {
    known_.push_back({{}, environments_++});
    integer();  // locked
    mixer_.word(kEnvironment);
    item();  // the environment around it
    std::vector<Named> variables;
    frame(head(), variables);
    const Head table = head();
    if (table.type == kList) {
      const auto count = length();
      for (std::uint64_t i = 0; i < count; ++i) frame(head(), variables);
      if (table.attributes) apart([this] { item(); });
    } else if (table.type != kNull) {
      throw Malformed{};
    }
    feed_sorted(variables);
    attributes(head());
  }

  // The bindings of an environment, or of one chain of its table.
  void frame(Head pair, std::vector<Named>& into) {
    while (pair.type == kPairs) {
      if (pair.attributes) apart([this] { item(); });
      auto name = pair.tag ? tag() : std::string{};
      into.emplace_back(std::move(name), apart([this] { item(); }));
      pair = head();
    }
    if (pair.type != kNull) throw Malformed{};
  }

  std::string tag() {
    const Head what = head();
    if (what.type == kSymbol) return symbol_name();
    if (what.type == kReference) {
      const int packed = what.flags >> 8;
      const auto index = static_cast<std::size_t>(packed != 0 ? packed : integer());
      if (index == 0 || index > known_.size()) throw Malformed{};
      return known_[index - 1].name;
    }
    if (what.type == kNull) return {};
    throw Malformed{};
  }

  void attributes(Head pair) {
    std::vector<Named> all;
    while (pair.type == kPairs) {
      if (pair.attributes) apart([this] { item(); });
      auto name = pair.tag ? tag() : std::string{};
      const auto value = apart([&] { name == "row.names" ? row_names() : item(); });
      if (name != "srcref" && name != "srcfile" && name != "wholeSrcref") all.emplace_back(std::move(name), value);
      pair = head();
    }
    if (pair.type != kNull) throw Malformed{};
    feed_sorted(all);
  }

  // R holds 1..n as c(NA, -n) or c(NA, n).
  void row_names() {
    const Head what = head();
    if (what.type != kInteger || what.attributes) return item(what);
    const auto count = length();
    std::vector<int> first;
    for (std::uint64_t i = 0; i < count && i < 2; ++i) first.push_back(integer());
    if (count == 2 && first[0] == std::numeric_limits<int>::min()) {
      const auto rows = std::abs(static_cast<std::int64_t>(first[1]));
      return sequence(kInteger, static_cast<double>(rows), 1, 1);
    }
    begin_vector(kInteger, count);
    for (const int value : first) mixer_.word(static_cast<std::uint32_t>(value));
    for (std::uint64_t i = first.size(); i < count; ++i) mixer_.word(static_cast<std::uint32_t>(integer()));
    mixer_.word(0);
  }

  void pairs(Head head) {
    const bool is_list = head.type == kPairs || head.type == kCall || head.type == kDots;
    while (true) {
      mixer_.word(static_cast<std::uint64_t>(head.type));
      Hash around{};
      if (head.attributes) around = apart([this] { attributes(this->head()); });
      // Without attributes, and with none that count, are the same.
      if (head.attributes && !(around == apart([this] { mixer_.word(0); }))) feed(around);
      if (head.tag) item();
      item();
      if (!is_list) return item();
      head = this->head();
      if (head.type != kPairs && head.type != kCall && head.type != kDots) {
        return item(head);
      }
    }
  }

  void pointer(const Head& head) {
    known_.push_back({{}, known_.size()});
    mixer_.word(kPointer);
    if (head.type == kPointer) {
      apart([this] { item(); });
      apart([this] { item(); });
    }
    if (head.attributes) apart([this] { item(); });
  }

  std::optional<std::string> characters_of(const Head& head) {
    constexpr int kLatin1 = 1 << 2;
    const int count = integer();
    if (count == -1) return std::nullopt;
    auto bytes = text(size(count));
    return (head.levels & kLatin1) != 0 ? utf8_of_latin1(bytes) : bytes;
  }
  void characters(const Head& head) {
    const auto bytes = characters_of(head);
    if (bytes) return feed(*bytes);
    mixer_.word(std::numeric_limits<std::uint64_t>::max());
  }

  void begin_vector(int type, std::uint64_t count) {
    mixer_.word(static_cast<std::uint64_t>(type));
    mixer_.word(count);
  }
  template <class Element, class Bits>
  void numbers(std::uint64_t count, Bits bits) {
    Element some[1024];
    while (count > 0) {
      const auto part = std::min<std::uint64_t>(count, std::size(some));
      read(reinterpret_cast<char*>(some), part * sizeof(Element));
      for (std::uint64_t i = 0; i < part; ++i) mixer_.word(bits(some[i]));
      count -= part;
    }
  }
  void raw(std::uint64_t count) {
    char some[8192];
    while (count > 0) {
      const auto part = std::min<std::uint64_t>(count, sizeof some);
      read(some, part);
      mixer_.bytes(some, part);
      count -= part;
    }
  }
  void sequence(int type, double count, double first, double step) {
    if (!(count >= 0 && count < 1e10)) throw Malformed{};
    begin_vector(type, static_cast<std::uint64_t>(count));
    if (count > 1e6) {  // the same as at length only while it is short
      mixer_.word(kSequence);
      mixer_.word(canonical_bits(first));
      mixer_.word(canonical_bits(step));
    } else {
      for (double i = 0; i < count; ++i) {
        const double value = first + i * step;
        mixer_.word(type == kReal ? canonical_bits(value) : static_cast<std::uint32_t>(static_cast<int>(value)));
      }
    }
    mixer_.word(0);
  }

  void vector(const Head& head) {
    const auto integers = [](int value) { return std::uint64_t{static_cast<std::uint32_t>(value)}; };
    if (head.type == kS4) {
      mixer_.word(kS4);
    } else {
      const auto count = length();
      begin_vector(head.type, count);
      switch (head.type) {
        case kLogical: case kInteger:
          numbers<int>(count, integers);
          break;
        case kReal:
          numbers<double>(count, canonical_bits);
          break;
        case kComplex:
          numbers<double>(count * 2, canonical_bits);
          break;
        case kRaw:
          raw(count);
          break;
        case kStrings: case kList: case kExpressions:
          for (std::uint64_t i = 0; i < count; ++i) item();
          break;
        default:
          throw Malformed{};
      }
    }
    if (head.attributes) {
      attributes(this->head());
    } else {
      mixer_.word(0);
    }
  }

  // R's own other ways to hold a vector: a name, what it is made from, attributes.
  void altrep() {
    std::string name;
    apart([&] { name = altrep_class(); });
    if (name == "compact_intseq" || name == "compact_realseq") {
      const Head state = head();
      if (state.type != kReal || length() != 3) throw Malformed{};
      double three[3];
      read(reinterpret_cast<char*>(three), sizeof three);
      sequence(name == "compact_intseq" ? kInteger : kReal, three[0], three[1], three[2]);
      apart([this] { item(); });  // attributes: such a vector has none
    } else if (name.starts_with("wrap_")) {
      const Head state = head();
      if (state.type != kList || length() != 2) throw Malformed{};
      item();
      apart([this] { item(); });
      if (state.attributes) apart([this] { item(); });
      apart([this] { item(); });
    } else {
      mixer_.word(kAltrep);
      feed(name);
      item();
      item();
    }
  }
  std::string altrep_class() {
    Head pair = head();
    std::string name;
    for (bool first = true; pair.type == kPairs; first = false, pair = head()) {
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

  // Code counts as the expression that it was made from: the first of its constants.
  void byte_code(const Head& head) {
    size(integer());
    code(true);
    if (head.attributes) apart([this] { item(); });
  }
  void code(bool counts) {
    if (++depth_ > kDepthMax) throw Malformed{};
    apart([this] { item(); });
    const auto count = size(integer());
    for (std::size_t i = 0; i < count; ++i) {
      const auto constant = [this] {
        const int type = integer();
        if (type == kByteCode) return code(false);
        const bool is_call = type == kCall || type == kPairs || type == kCodeFirst || type == kCodeAgain ||
                             type == kCallWithAttributes || type == kPairsWithAttributes;
        is_call ? code_call(type) : item();
      };
      if (i == 0 && counts) {
        constant();
      } else {
        apart(constant);
      }
    }
    --depth_;
  }
  void code_call(int type) {
    if (++depth_ > kDepthMax) throw Malformed{};
    if (type == kCodeAgain) {
      integer();
      mixer_.word(kCodeAgain);
    } else if (type == kCall || type == kPairs || type == kCodeFirst || type == kCallWithAttributes ||
               type == kPairsWithAttributes) {
      if (type == kCodeFirst) {
        integer();
        type = integer();
      }
      const bool has_attributes = type == kCallWithAttributes || type == kPairsWithAttributes;
      if (has_attributes) apart([this] { item(); });
      mixer_.word(type == kCall || type == kCallWithAttributes ? kCall : kPairs);
      const Head tagged = head();
      if (tagged.type != kNull) item(tagged);
      code_call(integer());
      code_call(integer());
    } else {
      item();
    }
    --depth_;
  }

  const Pieces& stream_;
  std::size_t piece_ = 0;
  std::size_t at_ = 0;
  int depth_ = 0;
  Mixer mixer_;
  std::vector<Known> known_;
  std::uint64_t environments_ = 0;
};

}  // namespace

Hash canonical_hash(const Pieces& stream) {
  try {
    return Walk{stream}.all();
  } catch (const Malformed&) {
    Mixer mixer;
    stream.each([&](std::string_view bytes) { mixer.bytes(bytes.data(), bytes.size()); });
    const auto both = mixer.result();
    return {both[0], ~both[1]};
  }
}

}  // namespace remotist::volunteer
