#include "volunteer/runner/watch/snapshot.h"

#include <algorithm>
#include <new>
#include <unordered_set>
#include <utility>

extern "C" {
// Exported by R and not in its headers any more.
SEXP PRVALUE(SEXP promise);
SEXP PRENV(SEXP promise);
SEXP R_PromiseExpr(SEXP promise);
}

namespace remotist::volunteer {

namespace {

constexpr std::size_t kNodesMax = 4'000'000;

std::size_t bytes_of(SEXP vector) {
  const auto count = static_cast<std::size_t>(Rf_xlength(vector));
  switch (TYPEOF(vector)) {
    case LGLSXP:
    case INTSXP:
      return count * sizeof(int);
    case REALSXP:
      return count * sizeof(double);
    case CPLXSXP:
      return count * sizeof(Rcomplex);
    case RAWSXP:
      return count;
    case STRSXP:
      return count * 16;
    default:
      return 0;
  }
}

bool is_plain_numbers(SEXP value) {
  const auto type = TYPEOF(value);
  return (type == LGLSXP || type == INTSXP || type == REALSXP || type == CPLXSXP || type == RAWSXP) &&
         ALTREP(value) == 0;
}

// --- what is so simple that we write it ourselves: as R would, at a twentieth of the cost, for R makes a
// table of references for each value. Numbers, texts and small lists of them, without attributes.

constexpr int kBareDepthMax = 8;
constexpr std::size_t kBareItemsMax = 1000;  // in all lists and texts of a value

bool is_unadorned(SEXP value) {
  return ATTRIB(value) == R_NilValue && OBJECT(value) == 0 && ALTREP(value) == 0;
}

// Adds up bytes and items; false where R has to write it.
bool is_bare(SEXP value, std::size_t& bytes, std::size_t& items, int depth = 0) {
  if (value == R_NilValue) return true;
  if (depth > kBareDepthMax || !is_unadorned(value)) return false;
  if (is_plain_numbers(value)) {
    bytes += bytes_of(value);
    return true;
  }
  const auto length = static_cast<std::size_t>(Rf_xlength(value));
  switch (TYPEOF(value)) {
    case STRSXP:
      items += length;
      if (items > kBareItemsMax) return false;
      for (std::size_t i = 0; i < length; ++i)
        bytes += 8 + static_cast<std::size_t>(LENGTH(STRING_ELT(value, static_cast<R_xlen_t>(i))));
      return true;
    case VECSXP:
      items += length;
      if (items > kBareItemsMax) return false;
      for (std::size_t i = 0; i < length; ++i) {
        if (!is_bare(VECTOR_ELT(value, static_cast<R_xlen_t>(i)), bytes, items, depth + 1)) return false;
      }
      return true;
    default:
      return false;
  }
}

// R's stream has the type in the lowest bits of an item's first number, and from the twelfth on what R knows
// of a text's encoding.
constexpr int kNullItem = 254;
constexpr int kBytes = 2 << 12;
constexpr int kLatin1 = 4 << 12;
constexpr int kUtf8 = 8 << 12;
constexpr int kAscii = 64 << 12;

void put_number(Pieces& stream, int number) {
  stream.copy(reinterpret_cast<const char*>(&number), sizeof number);
}

void write_text(Pieces& stream, SEXP text) {
  if (text == NA_STRING) {
    put_number(stream, CHARSXP);
    return put_number(stream, -1);
  }
  const std::string_view bytes{R_CHAR(text), static_cast<std::size_t>(LENGTH(text))};
  int encoding = 0;
  switch (Rf_getCharCE(text)) {
    case CE_UTF8:
      encoding = kUtf8;
      break;
    case CE_LATIN1:
      encoding = kLatin1;
      break;
    case CE_BYTES:
      encoding = kBytes;
      break;
    default:
      if (std::ranges::all_of(bytes, [](char one) { return static_cast<unsigned char>(one) < 128; }))
        encoding = kAscii;
  }
  put_number(stream, static_cast<int>(CHARSXP) | encoding);
  put_number(stream, static_cast<int>(bytes.size()));
  stream.copy(bytes.data(), bytes.size());
}

void write_bare(Pieces& stream, SEXP value, bool refer) {
  if (value == R_NilValue) return put_number(stream, kNullItem);
  put_number(stream, static_cast<int>(TYPEOF(value)));
  put_number(stream, static_cast<int>(Rf_xlength(value)));
  for (R_xlen_t i = 0; i < Rf_xlength(value); ++i) {
    if (TYPEOF(value) == STRSXP) {
      write_text(stream, STRING_ELT(value, i));
    } else if (TYPEOF(value) == VECSXP) {
      write_bare(stream, VECTOR_ELT(value, i), false);
    } else {
      const auto* const numbers = static_cast<const char*>(DATAPTR_RO(value));
      return refer ? stream.refer(numbers, bytes_of(value)) : stream.copy(numbers, bytes_of(value));
    }
  }
}

// Goes through a value with a list of what is still to be seen: values can be deeper than a stack.
class Surveyor {
 public:
  explicit Surveyor(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  Survey survey(SEXP value) {
    ahead_.push_back(value);
    std::size_t nodes = 0;
    while (!ahead_.empty()) {
      const SEXP next = ahead_.back();
      ahead_.pop_back();
      if (++nodes > kNodesMax || made_of_.bytes > bytes_max_) {
        made_of_.whole = false;
        break;
      }
      visit(next);
    }
    std::ranges::sort(made_of_.large);
    const auto again = std::ranges::unique(made_of_.large);
    made_of_.large.erase(again.begin(), again.end());
    return std::move(made_of_);
  }

 private:
  void visit(SEXP value) {
    if (value == R_NilValue) return;
    switch (TYPEOF(value)) {
      case LGLSXP:
      case INTSXP:
      case REALSXP:
      case CPLXSXP:
      case RAWSXP:
      case STRSXP:
        visit_vector(value);
        break;
      case VECSXP:
      case EXPRSXP:
        if (Rf_xlength(value) > static_cast<R_xlen_t>(kNodesMax)) {
          made_of_.whole = false;
          return;
        }
        if (ALTREP(value) != 0) made_of_.simple = false;
        for (R_xlen_t i = 0; i < Rf_xlength(value); ++i) ahead_.push_back(VECTOR_ELT(value, i));
        if (++lists_ > 1000) made_of_.simple = false;  // perhaps deep, and R's own walk is recursive
        break;
      case LISTSXP:
      case LANGSXP:
      case DOTSXP:
        ahead_.push_back(CAR(value));
        ahead_.push_back(CDR(value));
        break;
      case CLOSXP:
        made_of_.simple = false;
        ahead_.push_back(R_ClosureEnv(value));
        break;
      case ENVSXP:
        visit_environment(value);
        break;
      case PROMSXP:
        made_of_.simple = false;
        if (PRVALUE(value) != R_UnboundValue) ahead_.push_back(PRVALUE(value));
        if (PRENV(value) != R_NilValue) ahead_.push_back(PRENV(value));
        break;
      case SYMSXP:
      case CHARSXP:
        return;
      default:
        made_of_.simple = false;
    }
    if (ATTRIB(value) != R_NilValue) ahead_.push_back(ATTRIB(value));
  }

  void visit_vector(SEXP value) {
    if (ALTREP(value) != 0) {
      made_of_.simple = false;
      // A sequence takes no room in a stream; anything else may take all that it is worth.
      if (Rf_xlength(value) <= 1'000'000) made_of_.bytes += bytes_of(value);
      return;
    }
    const auto bytes = bytes_of(value);
    made_of_.bytes += bytes;
    if (bytes >= kHeldBytesMin && is_plain_numbers(value)) made_of_.large.push_back(value);
  }

  void visit_environment(SEXP value) {
    if (value == R_GlobalEnv || value == R_BaseEnv || value == R_EmptyEnv || value == R_BaseNamespace ||
        R_IsNamespaceEnv(value) != FALSE || R_IsPackageEnv(value) != FALSE || !seen_.insert(value).second) {
      return;
    }
    made_of_.environments = true;
    made_of_.simple = false;
    ahead_.push_back(R_ParentEnv(value));
    const Kept names(R_lsInternal3(value, TRUE, FALSE));
    for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
      const SEXP symbol = Rf_installChar(STRING_ELT(names, i));
      if (R_BindingIsActive(symbol, value) != FALSE) continue;
      const SEXP bound = Rf_findVarInFrame(value, symbol);
      if (bound == R_UnboundValue || bound == R_MissingArg) continue;
      // A number that R holds in the binding itself has just been made for us.
      if (is_plain_numbers(bound) && Rf_xlength(bound) == 1 && ATTRIB(bound) == R_NilValue) {
        made_of_.bytes += 8;
      } else {
        ahead_.push_back(bound);
      }
    }
  }

  std::size_t bytes_max_;
  Survey made_of_;
  std::vector<SEXP> ahead_;
  std::unordered_set<SEXP> seen_;
  std::size_t lists_ = 0;
};

// Where R's stream goes. Errors of R may jump over these functions, so that nothing here needs an end.
struct Target {
  Pieces* stream;
  const std::vector<SEXP>* large;
  bool out_of_memory;
};

bool is_held(const Target& target, const char* bytes) {
  const auto after = std::ranges::upper_bound(
      *target.large, bytes, {}, [](SEXP vector) { return static_cast<const char*>(DATAPTR_RO(vector)); });
  if (after == target.large->begin()) return false;
  const SEXP vector = *std::prev(after);
  return bytes < static_cast<const char*>(DATAPTR_RO(vector)) + bytes_of(vector);
}

// R also passes buffers of its own, which are gone afterwards: only what is held is referred to.
void put_bytes(R_outpstream_st* stream, void* bytes, int count) {
  auto& target = *static_cast<Target*>(stream->data);
  const auto* from = static_cast<const char*>(bytes);
  const auto size = static_cast<std::size_t>(count);
  try {
    if (size >= 4096 && is_held(target, from)) {
      target.stream->refer(from, size);
    } else {
      target.stream->copy(from, size);
    }
  } catch (const std::bad_alloc&) {
    target.out_of_memory = true;
  }
}

void put_char(R_outpstream_st* stream, int one) {
  char byte = static_cast<char>(one);
  put_bytes(stream, &byte, 1);
}

void serialize(Target& target, SEXP value) {
  R_outpstream_st stream{};
  R_InitOutPStream(&stream, reinterpret_cast<R_pstream_data_t>(&target), R_pstream_binary_format, 3, put_char,
                   put_bytes, nullptr, R_NilValue);
  R_Serialize(value, &stream);
}

struct Attempt {
  Target* target;
  SEXP value;
  std::string* words;
};

SEXP try_serialize(void* data) {
  const auto& attempt = *static_cast<Attempt*>(data);
  serialize(*attempt.target, attempt.value);
  return R_NilValue;
}

SEXP keep_words(SEXP condition, void* data) {
  const auto& attempt = *static_cast<Attempt*>(data);
  *attempt.words = "R cannot serialise it";
  if (TYPEOF(condition) == VECSXP && Rf_xlength(condition) > 0 && Rf_isString(VECTOR_ELT(condition, 0)) &&
      Rf_xlength(VECTOR_ELT(condition, 0)) > 0) {
    *attempt.words += std::string(": ") + Rf_translateCharUTF8(STRING_ELT(VECTOR_ELT(condition, 0), 0));
  }
  return R_NilValue;
}

// The head that R puts before every value.
const std::string& stream_head() {
  static const std::string head = [] {
    Pieces sample;
    Target target{&sample, nullptr, false};
    const Kept one(Rf_ScalarInteger(1));
    serialize(target, one);
    return sample.copied().substr(0, sample.size() - 3 * sizeof(int));
  }();
  return head;
}

}  // namespace

Survey survey(SEXP value, std::size_t bytes_max) {
  std::size_t bytes = 0;
  std::size_t items = 0;
  if (value != R_NilValue && is_bare(value, bytes, items)) {
    if (bytes < kHeldBytesMin) return {.bytes = bytes, .bare = true};
    if (items == 0 && bytes <= bytes_max) return {.large = {value}, .bytes = bytes, .bare = true};
  }
  return Surveyor{bytes_max}.survey(value);
}

Holder::Holder(std::size_t slots)
    : lists_(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(slots))), taken_(slots) {
  R_PreserveObject(lists_);
}

int Holder::hold(const std::vector<SEXP>& vectors) {
  const auto free = std::ranges::find(taken_, false);
  if (free == taken_.end()) return -1;
  const auto slot = static_cast<int>(free - taken_.begin());
  const Kept list(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(vectors.size())));
  SET_VECTOR_ELT(lists_, slot, list);
  for (std::size_t i = 0; i < vectors.size(); ++i) SET_VECTOR_ELT(list, static_cast<R_xlen_t>(i), vectors[i]);
  *free = true;
  return slot;
}

void Holder::release(int slot) {
  const SEXP list = VECTOR_ELT(lists_, slot);
  // One by one: a list that is merely let go leaves its elements' counts as they are.
  for (R_xlen_t i = 0; i < Rf_xlength(list); ++i) SET_VECTOR_ELT(list, i, R_NilValue);
  SET_VECTOR_ELT(lists_, slot, R_NilValue);
  taken_[static_cast<std::size_t>(slot)] = false;
}

bool serialize_into(Pieces& stream, SEXP value, const Survey& made_of, std::string& words) {
  if (made_of.bare) {
    const auto& head = stream_head();
    stream.reserve(head.size() + (made_of.large.empty() ? 2 * sizeof(int) + made_of.bytes : sizeof(int)));
    stream.copy(head.data(), head.size());
    write_bare(stream, value, !made_of.large.empty());
    return true;
  }
  // By address, as the vectors lie in memory.
  Target target{&stream, &made_of.large, false};
  if (made_of.simple) {
    serialize(target, value);
  } else {
    Attempt attempt{&target, value, &words};
    R_tryCatchError(try_serialize, &attempt, keep_words, &attempt);
  }
  if (target.out_of_memory) words = "there is no memory to copy it";
  return words.empty();
}

}  // namespace remotist::volunteer
