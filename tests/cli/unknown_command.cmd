spad tragets
