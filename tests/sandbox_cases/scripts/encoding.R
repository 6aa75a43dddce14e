# Says and keeps text that is not UTF-8, and fails with such a message.
source("prelude.R")

trying("latin1 and bytes")
latin <- "Gr\xfc\xdfe"
Encoding(latin) <- "latin1"
bytes <- "\xff\xfe\x80"
cat(latin, "\n")
cat(bytes, "\n")
cat(enc2utf8(latin) == "Gr\u00fc\u00dfe", "\n")
stop("broken ", bytes)
