# Items of a stream that are not plain data: they are skipped, to find where they end.

skip_not_plain <- function(s, flags, type, depth) {
  has_attributes <- has_bit(flags, 512L)
  environments <- c(item$global_env, item$base_env, item$empty_env, item$base_namespace)
  if (type == item$ref) {
    mark_not_plain(s, if (is.null(read_ref(s, flags))) "an environment" else "code")
  } else if (type == item$symbol) {
    read_symbol(s)
    mark_not_plain(s, "code")
  } else if (type %in% environments) {
    mark_not_plain(s, "an environment")
  } else if (type == item$missing || type == item$unbound) {
    mark_not_plain(s, "code")
  } else if (type == item$environment) {
    mark_not_plain(s, "an environment")
    skip(s, 4)
    add_ref(s, NULL)
    for (part in 1:4) read_item(s, depth + 1L)
  } else if (type %in% c(item$namespace, item$package, item$persistent)) {
    mark_not_plain(s, "an environment")
    skip(s, 4)
    read_strings(s, read_length(s, 8))
    add_ref(s, NULL)
  } else if (type == item$pointer || type == item$weak) {
    mark_not_plain(s, "a pointer")
    add_ref(s, NULL)
    if (type == item$pointer) for (part in 1:2) read_item(s, depth + 1L)
    if (has_attributes) read_attributes(s, depth + 1L)
  } else if (type == item$special || type == item$builtin) {
    mark_not_plain(s, "a function")
    skip(s, read_length(s, 1))
    if (has_attributes) read_attributes(s, depth + 1L)
  } else if (type == item$s4) {
    mark_not_plain(s, "an S4 object")
    if (has_attributes) read_attributes(s, depth + 1L)
  } else if (type == item$bytecode) {
    mark_not_plain(s, "a function")
    skip(s, 4)
    skip_bytecode(s, depth + 1L)
    if (has_attributes) read_attributes(s, depth + 1L)
  } else {
    abort_stream("it contains an item of an unknown type")
  }
}

skip_bytecode <- function(s, depth) {
  if (depth > depth_max) abort_stream("it is nested too deeply")
  read_item(s, depth + 1L)
  n <- read_length(s, 4)
  for (i in seq_len(n)) {
    type <- read_word(s)
    if (type == item$bytecode) {
      skip_bytecode(s, depth + 1L)
    } else if (type %in% c(item$call, item$pairs, item$bc_def, item$bc_ref, item$attr_call, item$attr_pairs)) {
      skip_bytecode_call(s, type, depth + 1L)
    } else {
      read_item(s, depth + 1L)
    }
  }
}

skip_bytecode_call <- function(s, type, depth) {
  if (depth > depth_max) abort_stream("it is nested too deeply")
  repeat {
    if (type == item$bc_ref) return(skip(s, 4))
    if (type == item$bc_def) {
      skip(s, 4)
      type <- read_word(s)
    }
    if (!type %in% c(item$call, item$pairs, item$attr_call, item$attr_pairs)) return(read_item(s, depth + 1L))
    if (type %in% c(item$attr_call, item$attr_pairs)) read_attributes(s, depth + 1L)
    read_item(s, depth + 1L)
    skip_bytecode_call(s, read_word(s), depth + 1L)
    type <- read_word(s)
  }
}

# A data.table has a pointer to itself as an attribute, to detect whether R has copied it. The pointer is invalid in another
# process, and data.table creates it again, so the table is read without it.
data_table_pointer <- ".internal.selfref"

skip_table_pointer <- function(s, depth) {
  found <- s$found
  mark_not_plain(s, "a pointer")
  read_item(s, depth + 1L)
  s$found <- found
  s$has_table <- TRUE
  NULL
}
