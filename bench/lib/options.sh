# shellcheck shell=bash
# The options of a benchmark that are whole numbers. Sourced; `help` prints the benchmark's help.

refuse() { printf '%s: %s (try --help)\n' "$0" "$*" >&2; exit 2; }

# read_numbers NAME=LEAST:MOST … -- ARGUMENT …: sets the variable NAME of each option --NAME among the arguments.
read_numbers() {
  local -A least=() most=()
  local name range
  while [[ $1 != -- ]]; do
    name=${1%%=*} range=${1#*=}
    least[$name]=${range%:*} most[$name]=${range#*:}
    shift
  done
  shift
  while [[ $# -gt 0 ]]; do
    name=${1#--}
    case $1 in
      -h | --help) help; exit 0 ;;
      --?*) [[ -n ${most[$name]:-} ]] || refuse "unknown argument '$1'" ;;
      *) refuse "unknown argument '$1'" ;;
    esac
    if [[ ! ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] || (($2 < least[$name] || $2 > most[$name])); then
      refuse "$1 needs a number from ${least[$name]} to ${most[$name]}"
    fi
    printf -v "$name" '%s' "$2"
    shift 2
  done
}
