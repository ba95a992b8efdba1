spad devices all
