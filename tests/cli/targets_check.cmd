spad targets check input/good.chip ../../examples/chips/npu7.chip
