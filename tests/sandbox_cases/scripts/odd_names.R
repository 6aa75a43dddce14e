# Makes files whose names are no names.
source("prelude.R")

trying("odd names")
names <- c("a\nb", "-rf", " ", "..hidden", "\\", "'quoted\"", "\xff\xfe", strrep("long", 60), "tab\there")
for (name in names) tryCatch(writeLines("x", name), error = function(e) contained(conditionMessage(e)))
