s <- "größe"; nchar(s); toupper(s); rev(strsplit(s, "")[[1]])
t <- iconv(s, "UTF-8", "latin1"); Encoding(t); t == s; identical(t, s)
p <- sprintf("%05.2f|%-6s|%+d", pi, "ab", 5L); p
words <- character(); for (w in strsplit("the quick brown fox", " ")[[1]]) words <- c(words, paste0(toupper(substr(w, 1, 1)), substring(w, 2))); words
gsub("(o)(.)", "\\2\\1", "the quick brown fox"); regmatches("a1b22", gregexpr("[0-9]+", "a1b22"))
cat(formatC(c(1, 10, 100), width = 8, format = "d", flag = "0"), sep = "\n")
s <- paste(rev(utf8ToInt("abc")), collapse = "-"); s
format(Sys.Date(), "%Y") > "2000"; month.name[1:2]
x <- c(b = 2, a = 1); x[order(names(x))]; names(x)[1] <- "Ä"; x
message("done: ", s); noquote(s); dQuote(s, FALSE); trimws("  z "); rawToChar(as.raw(c(72, 105)))
