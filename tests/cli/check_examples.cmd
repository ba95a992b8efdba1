for k in ../../examples/kernels/*.spad; do spad check --no-advice $k; done | grep -e ": error" -e ": [0-9]* error" -e ": unknown"
