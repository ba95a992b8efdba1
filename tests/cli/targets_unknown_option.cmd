spad targets --jsn
