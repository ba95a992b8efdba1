spad emit ../../examples/buffers.csv --target sm_90 --space shared | head -30
