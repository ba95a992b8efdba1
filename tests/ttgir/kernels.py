"""Kernels of the tests: what Triton prints for them is tests/ttgir."""
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    grid_n = tl.cdiv(N, BN)
    rows = (pid // grid_n) * BM + tl.arange(0, BM)
    cols = (pid % grid_n) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * stride_am + depth[None, :]
    b = b_ptr + depth[:, None] * stride_bk + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = tl.load(a, mask=depth[None, :] < K - k * BK, other=0.0)
        right = tl.load(b, mask=depth[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(left, right, acc)
        a += BK
        b += BK * stride_bk
    c = c_ptr + rows[:, None] * stride_cm + cols[None, :]
    tl.store(c, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def matmul_tma(a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
               BK: tl.constexpr, SPECIALISE: tl.constexpr):
    pid = tl.program_id(0)
    grid_n = tl.cdiv(N, BN)
    row = (pid // grid_n) * BM
    col = (pid % grid_n) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=SPECIALISE):
        left = a_desc.load([row, k * BK])
        right = b_desc.load([col, k * BK])
        acc = tl.dot(left, right.T, acc)
    c_desc.store([row, col], acc.to(tl.float16))


@triton.jit
def matmul_persistent(a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                      BK: tl.constexpr, SMS: tl.constexpr, SPECIALISE: tl.constexpr,
                      FLAT: tl.constexpr):
    start = tl.program_id(0)
    grid_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * grid_n
    steps = tl.cdiv(K, BK)
    for tile in tl.range(start, tiles, SMS, flatten=FLAT, warp_specialize=SPECIALISE):
        row = (tile // grid_n) * BM
        col = (tile % grid_n) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(steps):
            left = a_desc.load([row, k * BK])
            right = b_desc.load([col, k * BK])
            acc = tl.dot(left, right.T, acc)
        c_desc.store([row, col], acc.to(tl.float16))


@triton.jit
def attention(q_desc, k_desc, v_desc, o_desc, N, scale, BM: tl.constexpr, BN: tl.constexpr,
              D: tl.constexpr, SPECIALISE: tl.constexpr):
    row = tl.program_id(0) * BM
    q = q_desc.load([row, 0])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in tl.range(0, N, BN, warp_specialize=SPECIALISE):
        k = k_desc.load([n, 0])
        s = tl.dot(q, k.T) * scale
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - higher[:, None])
        shrink = tl.math.exp2(top - higher)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None]
        v = v_desc.load([n, 0])
        acc = tl.dot(p.to(tl.float16), v, acc)
        top = higher
    o_desc.store([row, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def softmax(out_ptr, in_ptr, stride, rows, cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    first = tl.program_id(0)
    step = tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        x = tl.load(in_ptr + row * stride + at, mask=at < cols, other=-float("inf"))
        y = tl.exp(x - tl.max(x, 0))
        tl.store(out_ptr + row * stride + at, y / tl.sum(y, 0), mask=at < cols)


@triton.jit
def matmul_grouped(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    grid_m = tl.cdiv(M, BM)
    grid_n = tl.cdiv(N, BN)
    width = GROUP * grid_n
    group = pid // width
    first = group * GROUP
    size = min(grid_m - first, GROUP)
    row = first + (pid % width) % size
    col = (pid % width) // size
    rows = (row * BM + tl.arange(0, BM)) % M
    cols = (col * BN + tl.arange(0, BN)) % N
    depth = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b = b_ptr + depth[:, None] * stride_bk + cols[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = tl.load(a, mask=depth[None, :] < K - k * BK, other=0.0)
        right = tl.load(b, mask=depth[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(left, right, acc)
        a += BK * stride_ak
        b += BK * stride_bk
    rows = row * BM + tl.arange(0, BM)
    cols = col * BN + tl.arange(0, BN)
    c = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, N, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0)
    mean = tl.sum(total, 0) / N
    spread = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, N, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0)
        x = tl.where(cols < N, x - mean, 0.0)
        spread += x * x
    scale = 1 / tl.sqrt(tl.sum(spread, 0) / N + eps)
    for at in range(0, N, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + cols, mask=cols < N)
        b = tl.load(b_ptr + cols, mask=cols < N)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0)
        tl.store(y_ptr + row * stride + cols, (x - mean) * scale * w + b, mask=cols < N)


@triton.jit
def scratch(x_ptr, y_ptr, i_ptr, lock_ptr, B: tl.constexpr):
    rows = tl.arange(0, B)
    x = tl.load(x_ptr + rows[:, None] * B + rows[None, :])
    sums = tl.cumsum(x, 0)
    tl.store(y_ptr + rows[:, None] + rows[None, :] * B, tl.trans(sums))
    bins = tl.histogram(tl.load(i_ptr + tl.arange(0, 1024)), 64)
    tl.store(i_ptr + tl.arange(0, 64), bins)
    old = tl.atomic_add(lock_ptr, 1)
    best = tl.argmax(x, 1)
    tl.store(lock_ptr + rows, best + old)


@triton.jit(noinline=True)
def total(p, N, BLOCK: tl.constexpr):
    kept = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, N, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        kept += tl.load(p + cols, mask=cols < N, other=0.0)
    return tl.sum(kept, 0)


@triton.jit
def calls(p, out, N, rows, BLOCK: tl.constexpr):
    first = total(p, N, BLOCK)
    for row in range(rows):
        tl.store(out + row, total(p + row * N, N, BLOCK) - first)


@triton.jit
def along(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, KIND: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    rest = tl.arange(0, N) if AXIS == 0 else tl.arange(0, M)
    if KIND == 0:
        tl.store(y_ptr + rest, tl.sum(x, AXIS))
    if KIND == 1:
        tl.store(y_ptr + at, tl.cumsum(x, AXIS))
    if KIND == 2:
        tl.store(y_ptr + rest, tl.argmax(x, AXIS))
    if KIND == 3:
        tl.store(y_ptr + at, tl.atomic_add(y_ptr + at, x) * 2)
    if KIND == 4:
        tl.store(y_ptr + rest, tl.atomic_add(y_ptr + rest, tl.sum(x.to(tl.float16), AXIS).to(tl.float32)))


@triton.jit
def matmul_described(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                     SMS: tl.constexpr, SPECIALISE: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    grid_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * grid_n, SMS, warp_specialize=SPECIALISE):
        row = (tile // grid_n) * BM
        col = (tile % grid_n) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a_desc.load([row, k * BK]), b_desc.load([col, k * BK]).T, acc)
        c_desc.store([row, col], acc.to(tl.float16))


@triton.jit
def experts(a_ptr, b_ptr, c_ptr, expert_ptr, count_ptr, M, N, K, stride_am, stride_be, stride_bk, stride_cm,
            BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Blocks of rows that have an expert each: those beyond the last row, and without an expert, return."""
    pid = tl.program_id(0)
    if pid * BM >= M:
        return
    expert = tl.load(expert_ptr + pid)
    rows = pid * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    c = c_ptr + rows[:, None] * stride_cm + cols[None, :]
    if expert == -1:
        tl.store(c, tl.zeros((BM, BN), dtype=tl.float16), mask=cols[None, :] < N)
        return
    depth = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * stride_am + depth[None, :]
    b = b_ptr + expert * stride_be + depth[:, None] * stride_bk + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += BK
        b += BK * stride_bk
    if tl.load(count_ptr) > 0:
        acc = acc / tl.sum(acc, 1)[:, None]
    tl.store(c, acc.to(tl.float16), mask=cols[None, :] < N)
