# Registers of wgmma: right, without wgmma.fence, and accessed before wgmma.wait_group.
for kernel in right never_fenced fenced_once read_early changed_early; do
    spad cuda check ../ptx/products.ptx --no-advice --block 128 --arg out='f32[512]' --kernel $kernel || echo "exit $?"
done
