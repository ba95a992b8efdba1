#include <spad/spad.h>

int main(void) {
    spad_error e;
    spad_rect w, x;
    const spad_target *chip;
    spad_stack *s;
    if (spad_target_find(&chip, "trn2", &e)) return 1;
    if (spad_stack_create(&s, chip, "sbuf", 0, 4096, NULL, &e)) return 1;
    spad_stack_open_scope(s, 1, "phase 1", &e);
    spad_stack_alloc_heap(&w, s, SPAD_SHAPE(128, 512), SPAD_BFLOAT16, "weights", NULL, &e);
    spad_stack_alloc_stack(&x, s, SPAD_SHAPE(128, 512), SPAD_FLOAT32, "x", NULL, &e);
    printf("weights at %lld, x at %lld\n", (long long)w.byte, (long long)x.byte);
    spad_stack_alloc_stack(&x, s, SPAD_SHAPE(128, 512), SPAD_FLOAT32, "y", NULL, &e);
    puts(e.message);
    spad_stack_destroy(s);
}
