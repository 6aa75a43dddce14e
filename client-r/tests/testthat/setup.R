# Tests speak to nobody: answers are made up, and no login or setting of the user's is used.
folders <- tempfile("remotist-test-")
Sys.setenv(
  R_USER_CONFIG_DIR = file.path(folders, "config"), R_USER_DATA_DIR = file.path(folders, "data"),
  REMOTIST_URL = "", REMOTIST_CA_FILE = "", REMOTIST_BIN = ""
)
options(remotist.url = NULL, remotist.agent = NULL)
