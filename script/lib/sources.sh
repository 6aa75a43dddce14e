# shellcheck shell=bash
# Lists the sources that the checks look at. Sourced with the repository's root as the working folder.

code_folders=(core market worker volunteer client-r tests bench)

# Every file below the given paths that git tracks or would track and that still exists.
sources() {
  local file
  git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || printf '%s\n' "$file"
  done
}

cpp_sources() { sources "${code_folders[@]}" | grep -E '\.(cc|h)$' || true; }

shell_scripts() {
  local file line
  sources script .ci tests bench | while IFS= read -r file; do
    IFS= read -r line <"$file" || true
    [[ $line != '#!/usr/bin/env bash' ]] || printf '%s\n' "$file"
  done 2>/dev/null
}
