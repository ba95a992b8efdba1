for depth in 0 -1 two 1000000 900000; do
    spad check input/loop.spad --ring x=$depth --no-advice 2>&1 | grep -e spad: -e error
    spad fit input/loop.spad --ring x=$depth 2>&1 | grep -e spad: -e "too small"
done
