# Compiled code in a stream: only walked over, to find where it ends.

walk_bytecode <- function(s, depth) {
  if (depth > depth_most) damaged("it is nested too deeply")
  walk_item(s, depth + 1L)
  n <- take_word(s)
  need(s, 4 * n)
  done <- 0
  while (done < n) {
    type <- take_word(s)
    if (type == item$bytecode) {
      walk_bytecode(s, depth + 1L)
    } else if (type %in% c(item$call, item$pairs, item$bc_def, item$bc_ref, item$attr_call, item$attr_pairs)) {
      walk_bytecode_call(s, type, depth + 1L)
    } else {
      walk_item(s, depth + 1L)
    }
    done <- done + 1
  }
}

walk_bytecode_call <- function(s, type, depth) {
  if (depth > depth_most) damaged("it is nested too deeply")
  repeat {
    if (type == item$bc_ref) return(skip(s, 4))
    if (type == item$bc_def) {
      skip(s, 4)
      type <- take_word(s)
    }
    if (!type %in% c(item$call, item$pairs, item$attr_call, item$attr_pairs)) return(walk_item(s, depth + 1L))
    if (type %in% c(item$attr_call, item$attr_pairs)) walk_attributes(s, depth + 1L)
    walk_item(s, depth + 1L)
    walk_bytecode_call(s, take_word(s), depth + 1L)
    type <- take_word(s)
  }
}
