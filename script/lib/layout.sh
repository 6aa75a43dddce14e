# shellcheck shell=bash
# Rules of the tree that no compiler checks. Sourced after sources.sh; each prints what breaks it.

line_max=450
function_lines_max=80

# Layers that must compile without the libraries of the layer above or below them. In store/ only what its sources share
# among themselves (…_row.h, …_params.h) may show libpqxx.
layout_includes() {
  local file
  cpp_sources | grep -E '^[a-z]+/(service|matching)/|^[a-z]+/store/.*\.h$' | grep -vE '/store/.*_(row|params)\.h$' | while IFS= read -r file; do
    grep -HnE '^#include [<"](drogon|pqxx|amqp|rabbitmq)' "$file" | sed 's/$/   (this layer may not know that library)/' || true
  done || true
}

# Use cases are in market/service, queries in store/: only a use case begins a transaction, only store/ runs queries. (The worker has no
# service/: docs/architecture.md.)
layout_use_cases() {
  local file
  cpp_sources | grep -E '^market/(api/|store/|main\.cc$)' | while IFS= read -r file; do
    grep -HnE '\btransact\(' "$file" | sed 's/$/   (a use case begins a transaction: market\/service)/' || true
  done || true
  cpp_sources | grep -E '^(market/(api|service)/|market/main\.cc$|worker/consumer/)' | while IFS= read -r file; do
    grep -HnE '^#include "(sql_queries\.h|core/pg/(statement|arrays)\.h|.*/store/.*_(row|params)\.h)"' "$file" | sed 's/$/   (only store\/ runs queries)/' || true
  done || true
}

# A query that writes is in the file of a table that it writes: sql/queries/job.sql has what writes job. A file also has the tables whose
# names continue its own (job_file.sql: job_file_chunk). Files by purpose instead: docs/contributing.md.
layout_queries() {
  local files
  mapfile -t files < <(sources sql/queries | grep -vE '/(dispatch|lock|admin|health)\.sql$')
  awk '
    function finish() {
      if (query != "" && written != "" && !found) print place ": " query " writes" written ", and is in neither of their files"
      query = ""
    }
    # "FOR UPDATE OF" and "DO UPDATE SET" write on in capitals, a table is in lower case.
    FNR == 1 { finish(); table = FILENAME; sub(/.*\//, "", table); sub(/\.sql$/, "", table) }
    /^-- name: / { finish(); query = $3; place = FILENAME ":" FNR; written = ""; found = 0; next }
    /^ *--/ { next }
    {
      line = $0
      while (match(line, /(INSERT INTO|DELETE FROM|(^|[( ])UPDATE) [a-z_]+/)) {
        part = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
        sub(/.* /, "", part)
        written = written " " part
        if (index(part, table) == 1) found = 1
      }
    }
    END { finish() }' "${files[@]}"
}

layout_names() {
  sources "${code_folders[@]}" sql script docs |
    grep -iE '(^|[/_.-])(util|utils|common|helper|helpers|manager|misc)([/_.-]|$)' |
    sed 's/$/: name it after the thing it is/' || true
}

layout_binaries() {
  local binary file
  for binary in market worker volunteer; do
    cpp_sources | grep "^$binary/" | while IFS= read -r file; do
      grep -HnE '^#include "(market|worker|volunteer)/' "$file" | grep -vE "#include \"$binary/" | sed 's/$/   (binaries do not include each other)/' || true
    done || true
  done
}

layout_length() {
  local file lines
  sources "${code_folders[@]}" | grep -E '\.(cc|h|R)$' | while IFS= read -r file; do
    lines=$(wc -l <"$file")
    ((lines <= line_max)) || echo "$file: $lines lines, more than $line_max: cut it where the idea changes"
  done || true
}

# A named function of C++ or R outside of tests: from its line in the first column to the brace that closes it there.
layout_functions() {
  local files
  mapfile -t files < <(sources "${code_folders[@]}" | grep -E '\.(cc|h|R)$' | grep -v '^tests/')
  awk -v most="$function_lines_max" '
    FNR == 1 { start = 0 }
    /^[A-Za-z_~:<]/ {
      named = FILENAME ~ /\.R$/ ? / <- function\(/ : !/^(namespace|class|struct|enum|union|extern|inline constexpr|constexpr|const|TEST_CASE)[ (]/
      start = named ? FNR : 0
    }
    /^\}/ {
      if (start && FNR - start - 1 > most) print FILENAME ":" start ": a function of " FNR - start - 1 " lines, more than " most
      start = 0
    }' "${files[@]}"
}

# The R package's copy of the limits.
layout_limits() { script/limits --check || true; }

# Names that were replaced (docs/glossary.md has the present ones). A changelog may use them, and so must migrations, which never change.
layout_old_names() {
  sources . | grep -vE '^(script/lib/old_names|docs/changelog\.md|sql/migrations/.*)$' |
    LC_ALL=C xargs -d '\n' grep -InwF -f <(sed 's/#.*//; /^[[:space:]]*$/d' script/lib/old_names) -- |
    cut -c1-160 | sed 's/$/   (an old name: see script\/lib\/old_names)/' || true
}

# Sources that documents name in backticks: with a folder in front or alone, they are the end of a file's path.
layout_documents() {
  local documents
  mapfile -t documents < <(sources README.md client-r/NEWS.md docs | grep '\.md$' | grep -vx docs/changelog.md)
  awk '
    FNR == NR { path = $0; known[path] = 1; while (sub(/^[^\/]*\//, "", path)) known[path] = 1; next }
    {
      count = split($0, parts, "`")
      for (i = 2; i <= count; i += 2)
        if ((parts[i] ~ /^[A-Za-z0-9_.-]+\.(cc|h|sql|cmake)$/ || parts[i] ~ /^[A-Za-z0-9_.-]+\/[A-Za-z0-9_.\/-]+\.(cc|h|sql|cmake|sh|R|md|Rmd)$/) &&
            !(parts[i] in known))
          print FILENAME ":" FNR ": there is no " parts[i]
    }' <(sources .) "${documents[@]}"
}

layout_problems() {
  layout_includes
  layout_use_cases
  layout_queries
  layout_names
  layout_binaries
  layout_length
  layout_functions
  layout_limits
  layout_old_names
  layout_documents
}
