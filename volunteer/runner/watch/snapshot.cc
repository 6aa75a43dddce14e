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

// --- plain values: numbers, strings and small lists of them, without attributes. They are written here, in
// R's format, at a twentieth of the cost of R_Serialize(), which makes a table of references for each value.

constexpr int kPlainDepthMax = 8;
constexpr std::size_t kPlainItemsMax = 1000;  // in all lists and string vectors of a value

bool has_no_attributes(SEXP value) {
  return ATTRIB(value) == R_NilValue && OBJECT(value) == 0 && ALTREP(value) == 0;
}

// Adds to bytes and items; false where R_Serialize() is needed.
bool is_plain(SEXP value, std::size_t& bytes, std::size_t& items, int depth = 0) {
  if (value == R_NilValue) return true;
  if (depth > kPlainDepthMax || !has_no_attributes(value)) return false;
  if (is_plain_numbers(value)) {
    bytes += bytes_of(value);
    return true;
  }
  const auto length = static_cast<std::size_t>(Rf_xlength(value));
  switch (TYPEOF(value)) {
    case STRSXP:
      items += length;
      if (items > kPlainItemsMax) return false;
      for (std::size_t i = 0; i < length; ++i)
        bytes += 8 + static_cast<std::size_t>(LENGTH(STRING_ELT(value, static_cast<R_xlen_t>(i))));
      return true;
    case VECSXP:
      items += length;
      if (items > kPlainItemsMax) return false;
      for (std::size_t i = 0; i < length; ++i) {
        if (!is_plain(VECTOR_ELT(value, static_cast<R_xlen_t>(i)), bytes, items, depth + 1)) return false;
      }
      return true;
    default:
      return false;
  }
}

// The first integer of an item: the type in the lowest bits, the encoding of a string from bit 12 on.
constexpr int kNullItem = 254;
constexpr int kBytes = 2 << 12;
constexpr int kLatin1 = 4 << 12;
constexpr int kUtf8 = 8 << 12;
constexpr int kAscii = 64 << 12;

void put_number(ByteChain& stream, int number) {
  stream.copy(reinterpret_cast<const char*>(&number), sizeof number);
}

void write_text(ByteChain& stream, SEXP text) {
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

void write_plain(ByteChain& stream, SEXP value, bool refer) {
  if (value == R_NilValue) return put_number(stream, kNullItem);
  put_number(stream, static_cast<int>(TYPEOF(value)));
  put_number(stream, static_cast<int>(Rf_xlength(value)));
  for (R_xlen_t i = 0; i < Rf_xlength(value); ++i) {
    if (TYPEOF(value) == STRSXP) {
      write_text(stream, STRING_ELT(value, i));
    } else if (TYPEOF(value) == VECSXP) {
      write_plain(stream, VECTOR_ELT(value, i), false);
    } else {
      const auto* const numbers = static_cast<const char*>(DATAPTR_RO(value));
      return refer ? stream.refer(numbers, bytes_of(value)) : stream.copy(numbers, bytes_of(value));
    }
  }
}

// Walks a value with a list instead of recursion: values can be nested deeper than the C stack.
class ShapeInspector {
 public:
  explicit ShapeInspector(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  ValueShape inspect(SEXP value) {
    pending_.push_back(value);
    std::size_t nodes = 0;
    while (!pending_.empty()) {
      const SEXP next = pending_.back();
      pending_.pop_back();
      if (++nodes > kNodesMax || shape_.bytes > bytes_max_) {
        shape_.complete = false;
        break;
      }
      visit(next);
    }
    std::ranges::sort(shape_.large);
    const auto again = std::ranges::unique(shape_.large);
    shape_.large.erase(again.begin(), again.end());
    return std::move(shape_);
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
          shape_.complete = false;
          return;
        }
        if (ALTREP(value) != 0) shape_.cannot_fail = false;
        for (R_xlen_t i = 0; i < Rf_xlength(value); ++i) pending_.push_back(VECTOR_ELT(value, i));
        if (++lists_ > 1000) shape_.cannot_fail = false;  // perhaps deep, and R's serializer is recursive
        break;
      case LISTSXP:
      case LANGSXP:
      case DOTSXP:
        pending_.push_back(CAR(value));
        pending_.push_back(CDR(value));
        break;
      case CLOSXP:
        shape_.cannot_fail = false;
        pending_.push_back(R_ClosureEnv(value));
        break;
      case ENVSXP:
        visit_environment(value);
        break;
      case PROMSXP:
        shape_.cannot_fail = false;
        if (PRVALUE(value) != R_UnboundValue) pending_.push_back(PRVALUE(value));
        if (PRENV(value) != R_NilValue) pending_.push_back(PRENV(value));
        break;
      case SYMSXP:
      case CHARSXP:
        return;
      default:
        shape_.cannot_fail = false;
    }
    if (ATTRIB(value) != R_NilValue) pending_.push_back(ATTRIB(value));
  }

  void visit_vector(SEXP value) {
    if (ALTREP(value) != 0) {
      shape_.cannot_fail = false;
      // A compact sequence takes no space in a stream; other representations may take all of it.
      if (Rf_xlength(value) <= 1'000'000) shape_.bytes += bytes_of(value);
      return;
    }
    const auto bytes = bytes_of(value);
    shape_.bytes += bytes;
    if (bytes >= kPinnedBytesMin && is_plain_numbers(value)) shape_.large.push_back(value);
  }

  void visit_environment(SEXP value) {
    if (value == R_GlobalEnv || value == R_BaseEnv || value == R_EmptyEnv || value == R_BaseNamespace ||
        R_IsNamespaceEnv(value) != FALSE || R_IsPackageEnv(value) != FALSE || !seen_.insert(value).second) {
      return;
    }
    shape_.has_environments = true;
    shape_.cannot_fail = false;
    pending_.push_back(R_ParentEnv(value));
    const Protected names(R_lsInternal3(value, TRUE, FALSE));
    for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
      const SEXP symbol = Rf_installChar(STRING_ELT(names, i));
      if (R_BindingIsActive(symbol, value) != FALSE) continue;
      const SEXP bound = Rf_findVarInFrame(value, symbol);
      if (bound == R_UnboundValue || bound == R_MissingArg) continue;
      // R may have boxed this number for us, from the binding: it must not be kept.
      if (is_plain_numbers(bound) && Rf_xlength(bound) == 1 && ATTRIB(bound) == R_NilValue) {
        shape_.bytes += 8;
      } else {
        pending_.push_back(bound);
      }
    }
  }

  std::size_t bytes_max_;
  ValueShape shape_;
  std::vector<SEXP> pending_;
  std::unordered_set<SEXP> seen_;
  std::size_t lists_ = 0;
};

// Where R_Serialize() writes. R's errors may jump out of these functions, so nothing in them has a destructor
// that matters.
struct StreamTarget {
  ByteChain* stream;
  const std::vector<SEXP>* large;
  bool out_of_memory;
};

bool is_pinned(const StreamTarget& target, const char* bytes) {
  const auto after = std::ranges::upper_bound(
      *target.large, bytes, {}, [](SEXP vector) { return static_cast<const char*>(DATAPTR_RO(vector)); });
  if (after == target.large->begin()) return false;
  const SEXP vector = *std::prev(after);
  return bytes < static_cast<const char*>(DATAPTR_RO(vector)) + bytes_of(vector);
}

// R also passes temporary buffers of its own: only pinned memory is referred to.
void put_bytes(R_outpstream_st* stream, void* bytes, int count) {
  auto& target = *static_cast<StreamTarget*>(stream->data);
  const auto* from = static_cast<const char*>(bytes);
  const auto size = static_cast<std::size_t>(count);
  try {
    if (size >= 4096 && is_pinned(target, from)) {
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

void serialize(StreamTarget& target, SEXP value) {
  R_outpstream_st stream{};
  R_InitOutPStream(&stream, reinterpret_cast<R_pstream_data_t>(&target), R_pstream_binary_format, 3, put_char,
                   put_bytes, nullptr, R_NilValue);
  R_Serialize(value, &stream);
}

struct SerializeCall {
  StreamTarget* target;
  SEXP value;
  std::string* problem;
};

SEXP try_serialize(void* data) {
  const auto& call = *static_cast<SerializeCall*>(data);
  serialize(*call.target, call.value);
  return R_NilValue;
}

SEXP keep_message(SEXP condition, void* data) {
  const auto& call = *static_cast<SerializeCall*>(data);
  *call.problem = "R cannot serialise it";
  if (TYPEOF(condition) == VECSXP && Rf_xlength(condition) > 0 && Rf_isString(VECTOR_ELT(condition, 0)) &&
      Rf_xlength(VECTOR_ELT(condition, 0)) > 0) {
    *call.problem += std::string(": ") + Rf_translateCharUTF8(STRING_ELT(VECTOR_ELT(condition, 0), 0));
  }
  return R_NilValue;
}

// The header that R writes before every value.
const std::string& stream_header() {
  static const std::string header = [] {
    ByteChain sample;
    StreamTarget target{&sample, nullptr, false};
    const Protected one(Rf_ScalarInteger(1));
    serialize(target, one);
    return sample.copied().substr(0, sample.size() - 3 * sizeof(int));
  }();
  return header;
}

}  // namespace

ValueShape inspect(SEXP value, std::size_t bytes_max) {
  std::size_t bytes = 0;
  std::size_t items = 0;
  if (value != R_NilValue && is_plain(value, bytes, items)) {
    if (bytes < kPinnedBytesMin) return {.bytes = bytes, .plain = true};
    if (items == 0 && bytes <= bytes_max) return {.large = {value}, .bytes = bytes, .plain = true};
  }
  return ShapeInspector{bytes_max}.inspect(value);
}

PinnedVectors::PinnedVectors(std::size_t slots)
    : lists_(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(slots))), used_(slots) {
  R_PreserveObject(lists_);
}

int PinnedVectors::pin(const std::vector<SEXP>& vectors) {
  const auto free = std::ranges::find(used_, false);
  if (free == used_.end()) return -1;
  const auto slot = static_cast<int>(free - used_.begin());
  const Protected list(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(vectors.size())));
  SET_VECTOR_ELT(lists_, slot, list);
  for (std::size_t i = 0; i < vectors.size(); ++i) SET_VECTOR_ELT(list, static_cast<R_xlen_t>(i), vectors[i]);
  *free = true;
  return slot;
}

void PinnedVectors::unpin(int slot) {
  const SEXP list = VECTOR_ELT(lists_, slot);
  // One by one: dropping the list alone would not decrement the reference counts of its elements.
  for (R_xlen_t i = 0; i < Rf_xlength(list); ++i) SET_VECTOR_ELT(list, i, R_NilValue);
  SET_VECTOR_ELT(lists_, slot, R_NilValue);
  used_[static_cast<std::size_t>(slot)] = false;
}

bool serialize_into(ByteChain& stream, SEXP value, const ValueShape& shape, std::string& problem) {
  if (shape.plain) {
    const auto& header = stream_header();
    stream.reserve(header.size() + (shape.large.empty() ? 2 * sizeof(int) + shape.bytes : sizeof(int)));
    stream.copy(header.data(), header.size());
    write_plain(stream, value, !shape.large.empty());
    return true;
  }
  // Sorted by address.
  StreamTarget target{&stream, &shape.large, false};
  if (shape.cannot_fail) {
    serialize(target, value);
  } else {
    SerializeCall call{&target, value, &problem};
    R_tryCatchError(try_serialize, &call, keep_message, &call);
  }
  if (target.out_of_memory) problem = "there is no memory to copy it";
  return problem.empty();
}

}  // namespace remotist::volunteer
