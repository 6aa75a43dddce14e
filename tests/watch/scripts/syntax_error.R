x <- 1
print(x)
x <- 5 5
print("never")
