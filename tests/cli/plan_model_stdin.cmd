printf 'BufferAssignment:\n' | spad plan -
