spad emit - --lang csv <../../examples/buffers.csv
