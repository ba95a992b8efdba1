// SPDX-License-Identifier: Apache-2.0
// What PTX instructions compute: each thread writes 64 numbers. The same file, compiled for the host with the
// instructions as C++ and the threads one after the other, prints what tests/unit/test_ptx_machine.c expects:
//   g++ -x c++ -O1 -ffp-contract=off tests/ptx/machine.cu -o machine && ./machine
//   nvcc -ptx -arch=sm_90a -fmad=false tests/ptx/machine.cu -o tests/ptx/machine.ptx
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint8_t u8;
typedef int8_t s8;
#ifdef __CUDACC__
#define KERNEL(name) extern "C" __global__ void name(u64 *out, const u64 *in, int n)
#define T (int)threadIdx.x
#define ALL 0xffffffffu
#define FN static __device__ __noinline__
#define FI static __device__ __forceinline__
#else
#define KERNEL(name) extern "C" void name(u64 *out, const u64 *in, int n, int T)
#define FN static __attribute__((noinline))
#define FI static inline
#endif
#define O(i) out[(T)*64 + (i)]
#define I(i) in[((T)*7 + (i)*13 + n * 29) & 1023]
KERNEL(ints) {
    u64 a = I(0), b = I(1), c = I(2);
    u32 x = (u32)I(3), y = (u32)I(4), z = (u32)I(5);
    s32 p = (s32)x, q = (s32)y;
    s64 sa = (s64)a, sb = (s64)b;
    O(0) = a + b;
    O(1) = a - b;
    O(2) = a * b + c;
    O(3) = x * y + z;
    O(4) = (u64)x * y;
    O(5) = (u64)((s64)p * q);
    O(6) = b ? a / b : 7;
    O(7) = b ? a % b : 7;
    O(8) = (sb != 0 && sb != -1) ? (u64)(sa / sb) : 9;
    O(9) = (sb != 0 && sb != -1) ? (u64)(sa % sb) : 9;
    O(10) = y ? x / y : 1;
    O(11) = y ? x % y : 1;
    O(12) = (q != 0 && q != -1) ? (u32)(p / q) : 3;
    O(13) = (q != 0 && q != -1) ? (u32)(p % q) : 3;
    O(14) = a << (b & 63);
    O(15) = a >> (b & 63);
    O(16) = (u64)(sa >> (b & 63));
    O(17) = x << (y & 31);
    O(18) = x >> (y & 31);
    O(19) = (u32)(p >> (y & 31));
    O(20) = (a & b) | (~a & c);
    O(21) = (x & y) ^ (y & z) ^ (x & z);
    O(22) = ~a;
    O(23) = a < b ? a : b;
    O(24) = (u64)(sa < sb ? sb : sa);
    O(25) = (u32)(p < q ? p : q);
    O(26) = (x > y ? x : y);
    O(27) = (u64)(p < 0 ? -(s64)p : p);
    O(28) = x / 7;
    O(29) = (u64)(s64)(p / -13);
    O(30) = a / 1000003;
    O(31) = (u64)(sa / 10);
    O(32) = (u64)(s64)(s8)a;
    O(33) = (u64)(s64)(s16)a;
    O(34) = (u8)a;
    O(35) = (u16)a;
    O(36) = (u64)(s64)(s32)a;
    O(37) = (u32)a;
    O(38) = (a == b) | ((a < b) << 1) | ((sa < sb) << 2) | ((x <= y) << 3) | ((p <= q) << 4) | ((u64)(sa >= sb) << 5) |
            ((a != c) << 6) | ((u64)(p > q && x < z) << 7) | ((u64)(p > q || x < z) << 8);
    u16 h = (u16)a, g = (u16)b;
    s16 sh = (s16)h, sg = (s16)g;
    O(39) = (u16)(h * g);
    O(40) = (u64)(s64)(s16)(sh + sg);
    O(41) = (u16)(h >> (g & 15));
    O(42) = (u64)(s64)(s16)(sh >> (g & 15));
    O(43) = sh < sg ? 1 : 2;
    O(44) = (u64)(s64)((s32)sh * (s32)sg);
    O(45) = (x >> 5) & 0x7f;
    O(46) = (u64)(s64)((s32)(x << 9) >> 17);
    O(47) = x * 9 + y * 4;
    O(48) = (a >> 33) * (b & 0xffffffff);
    O(49) = p * 3 + q;
    O(50) = (u64)((s64)p * q + sa);
    O(51) = (u64)x * y + b;
    O(52) = x * 2654435761u >> (z & 31);
    O(53) = ((a ^ b) >> 1) & 0x5555555555555555ull;
    O(54) = -sa;
    O(55) = (u32)-p;
    O(56) = (u64)!x | (u64)!a << 1;
}
#ifndef __CUDACC__
static u32 brev(u32 x) {
    u32 r = 0;
    for (int i = 0; i < 32; i++)
        r |= ((x >> i) & 1) << (31 - i);
    return r;
}
static u64 brevll(u64 x) {
    u64 r = 0;
    for (int i = 0; i < 64; i++)
        r |= ((x >> i) & 1) << (63 - i);
    return r;
}
static u32 perm(u32 a, u32 b, u32 s) {
    u64 v = (u64)b << 32 | a;
    u32 r = 0;
    for (int i = 0; i < 4; i++) {
        u32 k = (s >> 4 * i) & 15;
        u32 y = (v >> 8 * (k & 7)) & 0xff;
        if (k & 8)
            y = y & 0x80 ? 0xff : 0;
        r |= y << 8 * i;
    }
    return r;
}
static u32 fsl(u32 lo, u32 hi, u32 s) {
    s &= 31;
    return s ? hi << s | lo >> (32 - s) : hi;
}
static u32 fsr(u32 lo, u32 hi, u32 s) {
    s &= 31;
    return s ? hi << (32 - s) | lo >> s : lo;
}
static u32 fslc(u32 lo, u32 hi, u32 s) {
    s = s > 32 ? 32 : s;
    return (u32)((((u64)hi << 32 | lo) << s) >> 32);
}
static u32 fsrc(u32 lo, u32 hi, u32 s) {
    s = s > 32 ? 32 : s;
    return (u32)(((u64)hi << 32 | lo) >> s);
}
static u64 bfe(u64 a, int bits, bool sg, u32 pos, u32 len) {
    pos &= 255;
    len &= 255;
    int msb = bits - 1;
    auto bit = [&](int k) { return (a >> k) & 1; };
    u64 sbit = (!sg || len == 0) ? 0 : bit((int)(pos + len - 1) < msb ? (int)(pos + len - 1) : msb);
    u64 d = 0;
    for (int i = 0; i <= msb; i++) {
        u64 v = (i < (int)len && (int)pos + i <= msb) ? bit(pos + i) : sbit;
        d |= v << i;
    }
    return d;
}
static u64 bfi(u64 a, u64 b, int bits, u32 pos, u32 len) {
    pos &= 255;
    len &= 255;
    u64 f = b;
    for (u32 i = 0; i < len && pos + i <= (u32)bits - 1; i++) {
        f = (f & ~(1ull << (pos + i))) | (((a >> i) & 1) << (pos + i));
    }
    return f;
}
#define POPC(x) __builtin_popcount(x)
#define POPCLL(x) __builtin_popcountll(x)
#define CLZ(x) ((x) ? __builtin_clz(x) : 32)
#define CLZLL(x) ((x) ? __builtin_clzll(x) : 64)
#define FFS(x) __builtin_ffs(x)
#define MULHI(x, y) (u32)(((s64)(s32)(x) * (s32)(y)) >> 32)
#define UMULHI(x, y) (u32)(((u64)(x) * (y)) >> 32)
#define UMUL64HI(x, y) (u64)(((unsigned __int128)(x) * (y)) >> 64)
#define MUL64HI(x, y) (u64)(((__int128)(s64)(x) * (s64)(y)) >> 64)
#define SAD(a, b, c) ((u32)((c) + ((s64)(s32)(a) > (s64)(s32)(b) ? (u32)(a) - (u32)(b) : (u32)(b) - (u32)(a))))
#define USAD(a, b, c) ((u32)((c) + ((a) > (b) ? (a) - (b) : (b) - (a))))
static u32 dp4a(s32 a, s32 b, s32 c) {
    u32 s = c;
    for (int i = 0; i < 4; i++)
        s += (s32)(s8)(a >> 8 * i) * (s32)(s8)(b >> 8 * i);
    return s;
}
static u32 udp4a(u32 a, u32 b, u32 c) {
    for (int i = 0; i < 4; i++)
        c += (u32)(u8)(a >> 8 * i) * (u8)(b >> 8 * i);
    return c;
}
static u32 dp2l(s32 a, s32 b, s32 c) {
    u32 s = c;
    for (int i = 0; i < 2; i++)
        s += (s32)(s16)(a >> 16 * i) * (s32)(s8)(b >> 8 * i);
    return s;
}
static u32 dp2h(s32 a, s32 b, s32 c) {
    u32 s = c;
    for (int i = 0; i < 2; i++)
        s += (s32)(s16)(a >> 16 * i) * (s32)(s8)(b >> (16 + 8 * i));
    return s;
}
static u32 lop(u32 a, u32 b, u32 c, u32 lut) {
    u32 r = 0;
    for (int i = 0; i < 32; i++) {
        u32 k = ((a >> i) & 1) << 2 | ((b >> i) & 1) << 1 | ((c >> i) & 1);
        r |= ((lut >> k) & 1) << i;
    }
    return r;
}
static u32 bfind(u32 x) { return x ? 31 - __builtin_clz(x) : ~0u; }
static u32 sbfind(s32 v) {
    u32 x = v < 0 ? ~v : v;
    return x ? 31 - __builtin_clz(x) : ~0u;
}
static u32 m24(u32 a, u32 b) { return (u32)(((s64)((s32)(a << 8) >> 8)) * ((s32)(b << 8) >> 8)); }
static u32 um24h(u32 a, u32 b) { return (u32)(((u64)(a & 0xffffff) * (b & 0xffffff)) >> 16); }
static u32 addsat(s32 a, s32 b) {
    s64 s = (s64)a + b;
    return (u32)(s > 2147483647ll ? 2147483647 : s < -2147483648ll ? (s32)-2147483648ll : (s32)s);
}
static u32 bmskc(u32 a, u32 b) {
    u64 m = b >= 32 ? 0xffffffffull : ((1ull << b) - 1);
    return a >= 32 ? 0 : (u32)(m << a);
}
static u32 szx(s32 a, u32 b) {
    if (b >= 32)
        return a;
    if (!b)
        return 0;
    return (u32)((s32)((u32)a << (32 - b)) >> (32 - b));
}
static u32 fns(u32 m, u32 base, s32 off) {
    if (off == 0)
        return (m >> base & 1) ? base : ~0u;
    int st = off > 0 ? 1 : -1;
    s64 c = off > 0 ? off : -(s64)off;
    for (int b = base; b >= 0 && b < 32; b += st)
        if (m >> b & 1)
            if (--c == 0)
                return b;
    return ~0u;
}
#else
#define brev __brev
#define brevll __brevll
FI u32 perm(u32 a, u32 b, u32 s) {
    u32 r;
    asm volatile("prmt.b32 %0,%1,%2,%3;" : "=r"(r) : "r"(a), "r"(b), "r"(s));
    return r;
}
#define fsl __funnelshift_l
#define fsr __funnelshift_r
#define fslc __funnelshift_lc
#define fsrc __funnelshift_rc
FI u64 bfe(u64 a, int bits, bool sg, u32 pos, u32 len) {
    u64 r;
    u32 q;
    s32 w;
    s64 v;
    if (bits == 64) {
        if (sg) {
            asm volatile("bfe.s64 %0,%1,%2,%3;" : "=l"(v) : "l"(a), "r"(pos), "r"(len));
            return v;
        }
        asm volatile("bfe.u64 %0,%1,%2,%3;" : "=l"(r) : "l"(a), "r"(pos), "r"(len));
        return r;
    }
    if (sg) {
        asm volatile("bfe.s32 %0,%1,%2,%3;" : "=r"(w) : "r"((u32)a), "r"(pos), "r"(len));
        return (u32)w;
    }
    asm volatile("bfe.u32 %0,%1,%2,%3;" : "=r"(q) : "r"((u32)a), "r"(pos), "r"(len));
    return q;
}
FI u64 bfi(u64 a, u64 b, int bits, u32 pos, u32 len) {
    u64 r;
    u32 q;
    if (bits == 64) {
        asm volatile("bfi.b64 %0,%1,%2,%3,%4;" : "=l"(r) : "l"(a), "l"(b), "r"(pos), "r"(len));
        return r;
    }
    asm volatile("bfi.b32 %0,%1,%2,%3,%4;" : "=r"(q) : "r"((u32)a), "r"((u32)b), "r"(pos), "r"(len));
    return q;
}
#define POPC(x) __popc(x)
#define POPCLL(x) __popcll(x)
#define CLZ(x) __clz(x)
#define CLZLL(x) __clzll(x)
#define FFS(x) __ffs(x)
#define MULHI(x, y) (u32) __mulhi(x, y)
#define UMULHI(x, y) __umulhi(x, y)
#define UMUL64HI(x, y) __umul64hi(x, y)
#define MUL64HI(x, y) (u64) __mul64hi(x, y)
#define SAD(a, b, c) __sad(a, b, c)
#define USAD(a, b, c) __usad(a, b, c)
#define dp4a __dp4a
#define udp4a __dp4a
#define dp2l __dp2a_lo
#define dp2h __dp2a_hi
#define lop(a, b, c, L)                                                                                                \
    ({                                                                                                                 \
        u32 r;                                                                                                         \
        asm volatile("lop3.b32 %0,%1,%2,%3," #L ";" : "=r"(r) : "r"(a), "r"(b), "r"(c));                               \
        r;                                                                                                             \
    })
FI u32 bfind(u32 x) {
    u32 r;
    asm volatile("bfind.u32 %0,%1;" : "=r"(r) : "r"(x));
    return r;
}
FI u32 sbfind(s32 x) {
    u32 r;
    asm volatile("bfind.s32 %0,%1;" : "=r"(r) : "r"(x));
    return r;
}
FI u32 m24(u32 a, u32 b) {
    u32 r;
    asm volatile("mul24.lo.s32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
FI u32 um24h(u32 a, u32 b) {
    u32 r;
    asm volatile("mul24.hi.u32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
FI u32 addsat(s32 a, s32 b) {
    s32 r;
    asm volatile("add.sat.s32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
FI u32 bmskc(u32 a, u32 b) {
    u32 r;
    asm volatile("bmsk.clamp.b32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
FI u32 szx(s32 a, u32 b) {
    u32 r;
    asm volatile("szext.clamp.s32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
#define fns __fns
#endif
KERNEL(bits) {
    u64 a = I(0), b = I(1);
    u32 x = (u32)I(2), y = (u32)I(3), z = (u32)I(4);
    O(0) = brev(x);
    O(1) = brevll(a);
    O(2) = perm(x, y, z);
    O(3) = fsl(x, y, z);
    O(4) = fsr(x, y, z);
    O(5) = fslc(x, y, z & 63);
    O(6) = fsrc(x, y, z & 63);
    O(7) = bfe(x, 32, false, y & 63, z & 63);
    O(8) = bfe(x, 32, true, y & 63, z & 63);
    O(9) = bfe(a, 64, false, y & 127, z & 127);
    O(10) = bfe(a, 64, true, y & 127, z & 127);
    O(11) = bfi(x, (u32)b, 32, y & 63, z & 63);
    O(12) = bfi(a, b, 64, y & 127, z & 127);
    O(13) = POPC(x);
    O(14) = POPCLL(a);
    O(15) = CLZ(x);
    O(16) = CLZLL(a);
    O(17) = FFS(x);
    O(18) = MULHI((s32)x, (s32)y);
    O(19) = UMULHI(x, y);
    O(20) = UMUL64HI(a, b);
    O(21) = MUL64HI((s64)a, (s64)b);
    O(22) = SAD((s32)x, (s32)y, z);
    O(23) = USAD(x, y, z);
    O(24) = (u32)dp4a((s32)x, (s32)y, (s32)z);
    O(25) = udp4a(x, y, z);
    O(26) = (u32)dp2l((s32)x, (s32)y, (s32)z);
    O(27) = (u32)dp2h((s32)x, (s32)y, (s32)z);
    O(28) = lop(x, y, z, 0x96);
    O(29) = lop(x, y, z, 0xe8);
    O(30) = lop(x, y, z, 0x1b);
    O(31) = bfind(x);
    O(32) = sbfind((s32)x);
    O(33) = m24(x, y);
    O(34) = um24h(x, y);
    O(35) = addsat((s32)x, (s32)y);
    O(36) = bmskc(x & 63, y & 63);
    O(37) = szx((s32)x, y & 63);
    O(38) = fns(x, y & 31, (s32)(z % 9) - 4);
    O(39) = perm(x, y, 0x9a3f);
    /* 128-bit sums: add.cc */
#ifdef __CUDACC__
    u64 lo, hi, l2, h2;
    u32 w0, w1, w2, v0, v1;
    asm volatile("add.cc.u64 %0,%2,%3; addc.u64 %1,%4,%5;" : "=l"(lo), "=l"(hi) : "l"(a), "l"(b), "l"(b), "l"(a));
    asm volatile("sub.cc.u64 %0,%2,%3; subc.u64 %1,%4,%5;" : "=l"(l2), "=l"(h2) : "l"(a), "l"(b), "l"(b), "l"(a));
    asm volatile("mad.lo.cc.u32 %0,%3,%4,%5; madc.hi.cc.u32 %1,%3,%4,%6; addc.u32 %2,%7,0;"
                 : "=r"(w0), "=r"(w1), "=r"(w2)
                 : "r"(x), "r"(y), "r"(z), "r"((u32)a), "r"((u32)b));
    asm volatile("sub.cc.u32 %0,%2,%3; subc.u32 %1,%4,%5;" : "=r"(v0), "=r"(v1) : "r"(x), "r"(y), "r"(z), "r"((u32)a));
#else
    unsigned __int128 s = ((unsigned __int128)b << 64 | a) + ((unsigned __int128)a << 64 | b),
                      d = ((unsigned __int128)b << 64 | a) - ((unsigned __int128)a << 64 | b);
    u64 lo = (u64)s, hi = (u64)(s >> 64), l2 = (u64)d, h2 = (u64)(d >> 64);
    u64 p = (u64)x * y;
    u64 t0 = (u64)(u32)p + z;
    u32 w0 = (u32)t0;
    u64 t1 = (p >> 32) + (u32)a + (t0 >> 32);
    u32 w1 = (u32)t1;
    u32 w2 = (u32)b + (u32)(t1 >> 32);
    u64 e = ((u64)z << 32 | x) - ((u64)(u32)a << 32 | y);
    u32 v0 = (u32)e, v1 = (u32)(e >> 32);
#endif
    O(40) = lo;
    O(41) = hi;
    O(42) = l2;
    O(43) = h2;
    O(44) = w0;
    O(45) = w1;
    O(46) = w2;
    O(47) = v0;
    O(48) = v1;
    O(49) = (u32)((__int128)0 + ((s64)a % 1000));
}
FN u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
FN u64 collatz(u64 v) {
    u64 k = 0;
    while (v != 1 && k < 200) {
        v = v & 1 ? 3 * v + 1 : v >> 1;
        k++;
    }
    return k;
}
FN u32 gcd(u32 a, u32 b) {
    while (b) {
        u32 t = a % b;
        a = b;
        b = t;
    }
    return a;
}
FN u64 addf(u64 a, u64 b) { return a + b; }
FN u64 mulf(u64 a, u64 b) { return a * b; }
FN u64 xorf(u64 a, u64 b) { return a ^ b; }
typedef u64 (*fp)(u64, u64);
struct big {
    u64 v[5];
    u32 w;
    u8 c[7];
};
FN big mk(u64 s, u32 k) {
    big b;
    for (int i = 0; i < 5; i++)
        b.v[i] = s * (i + 1);
    b.w = k;
    for (int i = 0; i < 7; i++)
        b.c[i] = (u8)(s >> i * 8);
    return b;
}
FN u64 use(big b) {
    u64 r = b.w;
    for (int i = 0; i < 5; i++)
        r = r * 31 + b.v[i];
    for (int i = 0; i < 7; i++)
        r = r * 17 + b.c[i];
    return r;
}
KERNEL(flow) {
    u64 a = I(0);
    u32 x = (u32)I(1);
    O(0) = fib(T % 11);
    O(1) = collatz(1 + (a & 1023));
    O(2) = gcd(x, (u32)a);
    u64 r = 0;
    switch ((x + T) % 9) {
    case 0:
        r = a + 1;
        break;
    case 1:
        r = a * 3;
    case 2:
        r += 7;
        break;
    case 3:
        r = a ^ x;
        break;
    case 4:
        r = a >> 3;
        break;
    case 5:
        r = 1;
        break;
    case 6:
        r = x;
        break;
    case 7:
        r = a << 5;
        break;
    default:
        r = ~a;
    }
    O(3) = r;
    u32 arr[16];
    for (int i = 0; i < 16; i++)
        arr[i] = x * i + T;
    for (int i = 0; i < 40; i++) {
        u32 k = arr[(i * 7 + x) & 15];
        arr[k & 15] ^= k + i;
    }
    u32 s = 0;
    for (int i = 0; i < 16; i++)
        s = s * 31 + arr[i];
    O(4) = s;
    u64 acc = 0;
    for (u32 i = 0; i < (x & 31); i++) {
        if (i % 3 == 0)
            continue;
        if (i > 20 && (a >> i & 1))
            break;
        acc += i * a;
        for (u32 j = 0; j < (i & 3); j++)
            acc ^= acc << j;
    }
    O(5) = acc;
    O(6) = T & 1 ? (T & 2 ? collatz(T + 3) : gcd(T * 12, 18)) : (T & 4 ? fib(T % 7) : a);
    fp t[3] = {addf, mulf, xorf};
    O(7) = t[(x + T) % 3](a, x);
    O(8) = use(mk(a, x));
    s32 lo = 0, hi = 1023;
    u64 key = a;
    int steps = 0;
    while (lo < hi) {
        s32 mid = (lo + hi) / 2;
        if (in[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
        steps++;
    }
    O(9) = (u64)lo * 1000 + steps;
    u64 h = 14695981039346656037ull;
    for (int i = 0; i < 8; i++) {
        h ^= (a >> 8 * i) & 255;
        h *= 1099511628211ull;
    }
    O(10) = h;
    if (x & 1) {
        if (a & 1)
            O(11) = 1;
        else if (a & 2) {
            for (int i = 0; i < T % 5; i++)
                r += i;
            O(11) = r;
        } else
            O(11) = 3;
    } else
        O(11) = 4;
    u8 buf[24];
    for (int i = 0; i < 24; i++)
        buf[i] = (u8)(a >> (i & 7) * 8) + i;
    for (int i = 0; i < 24; i++)
        for (int j = i + 1; j < 24; j++)
            if (buf[j] < buf[i]) {
                u8 q = buf[i];
                buf[i] = buf[j];
                buf[j] = q;
            }
    u64 g = 0;
    for (int i = 0; i < 24; i++)
        g = g * 257 + buf[i];
    O(12) = g;
    if ((x >> 4 & 3) == 3)
        return;
    O(13) = 5;
}
#ifndef __CUDACC__
static u32 fb(float f) {
    u32 u;
    memcpy(&u, &f, 4);
    return u;
}
static float bf(u32 u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static u64 db(double f) {
    u64 u;
    memcpy(&u, &f, 8);
    return u;
}
static double bd(u64 u) {
    double f;
    memcpy(&f, &u, 8);
    return f;
}
#else
#define fb __float_as_uint
#define bf __uint_as_float
#define db(x) (u64) __double_as_longlong(x)
#define bd(x) __longlong_as_double((s64)(x))
#endif
FI u32 ff(float f) { return f != f ? 0x7fffffffu : fb(f); } /* Bits of a NaN that only changes its sign, and of a 64-bit one, are not specified. */
FI u32 nn(float f) { return f != f ? 0 : fb(f); }
FI u64 dd(double f) { return f != f ? 0 : db(f); }
KERNEL(floats) {
    u64 a = I(0), b = I(1), c = I(2);
    u32 x = (u32)I(3), y = (u32)I(4), z = (u32)I(5);
    if (T & 1) {
        x = (x & 0x807fffff) | ((120 + (x >> 23) % 16) << 23);
        y = (y & 0x807fffff) | ((120 + (y >> 23) % 16) << 23);
        z = (z & 0x807fffff) | ((110 + (z >> 23) % 40) << 23);
    }
    if (T & 2) {
        a = (a & 0x800fffffffffffffull) | ((1015 + (a >> 52) % 16) << 52);
        b = (b & 0x800fffffffffffffull) | ((1015 + (b >> 52) % 16) << 52);
        c = (c & 0x800fffffffffffffull) | ((1000 + (c >> 52) % 50) << 52);
    }
    float f = bf(x), g = bf(y), h = bf(z);
    double d = bd(a), e = bd(b), k = bd(c);
    O(0) = ff(f + g);
    O(1) = ff(f - g);
    O(2) = ff(f * g);
    O(3) = ff(f / g);
    O(4) = ff(sqrtf(f));
    O(5) = ff(fmaf(f, g, h));
    O(6) = dd(d + e);
    O(7) = dd(d - e);
    O(8) = dd(d * e);
    O(9) = dd(d / e);
    O(10) = dd(sqrt(d));
    O(11) = dd(fma(d, e, k));
    O(12) = f < g;
    O(13) = f <= g;
    O(14) = f == g;
    O(15) = f != g;
    O(16) = !(f < g);
    O(17) = f > g;
    O(18) = d < e;
    O(19) = d == e;
    O(20) = !(d >= e);
    O(21) = ff(fminf(f, g));
    O(22) = ff(fmaxf(f, h));
    O(23) = ff((float)(s32)x);
    O(24) = ff((float)x);
    O(25) = ff((float)(s64)a);
    O(26) = ff((float)a);
    O(27) = dd((double)(s32)x);
    O(28) = dd((double)a);
    O(29) = dd((double)(s64)b);
    O(30) = ff((float)d);
    O(31) = dd((double)f);
    if (f > -2e9f && f < 2e9f) {
        O(32) = (u32)(s32)f;
    }
    if (d > -9e18 && d < 9e18)
        O(33) = (u64)(s64)d;
    if (f >= 0 && f < 4e9f)
        O(34) = (u32)f;
    if (d >= 0 && d < 1.8e19)
        O(35) = (u64)d;
    O(36) = ff(floorf(f));
    O(37) = ff(ceilf(f));
    O(38) = ff(truncf(f));
    O(39) = ff(rintf(f));
    O(40) = dd(floor(d));
    O(41) = dd(rint(d));
    O(42) = nn(fabsf(f));
    O(43) = nn(-f);
    O(44) = dd(fmax(d, e));
    O(45) = ff(f * g + h * f - g);
    O(46) = ff(copysignf(f, g));
    O(47) = dd(d * e - k);
    O(48) = ff(1.0f / h);
    O(49) = (f == f) | (isinf(f) ? 2 : 0) | (isnan(g) ? 4 : 0);
    float s = 0;
    for (int i = 0; i < 10; i++) {
        s = s * 0.75f + (float)(i + T);
        if (s > 20.f)
            s -= f < g ? 1.f : 2.f;
    }
    O(50) = ff(s);
    O(51) = ff(f / 3.0f);
    O(52) = dd(e * 1e-3 + 1.0);
    O(53) = ff((float)((double)f * (double)g));
}
#define V(t, i) in[((t)*7 + (i)*13 + n * 29) & 1023]
#ifdef __CUDACC__
KERNEL(warp) {
    u32 x = (u32)V(T, 0);
    u32 b = (u32)V(T, 1);
    int l = T & 31;
    u32 y = x & 3;
    O(0) = __shfl_sync(ALL, x, b & 31);
    O(1) = __shfl_up_sync(ALL, x, b & 31);
    O(2) = __shfl_down_sync(ALL, x, b & 31);
    O(3) = __shfl_xor_sync(ALL, x, b & 31);
    O(4) = __shfl_sync(ALL, x, b & 31, 8);
    O(5) = __shfl_up_sync(ALL, x, b & 7, 8);
    O(6) = __shfl_down_sync(ALL, x, b & 7, 16);
    O(7) = __shfl_xor_sync(ALL, x, b & 31, 4);
    O(8) = __ballot_sync(ALL, x & 1);
    O(9) = __any_sync(ALL, (x & 255) == 7) | __all_sync(ALL, l < 32) << 1 | (__all_sync(ALL, x & 1) << 2);
    O(10) = __match_any_sync(ALL, y);
    int p;
    O(11) = __match_all_sync(ALL, y, &p);
    O(12) = p;
    O(13) = __match_all_sync(ALL, n, &p) | p;
    O(14) = __reduce_add_sync(ALL, x);
    O(15) = __reduce_min_sync(ALL, x);
    O(16) = (u32)__reduce_max_sync(ALL, (s32)x);
    O(17) = __reduce_and_sync(ALL, x) | __reduce_or_sync(ALL, x);
    O(18) = __reduce_xor_sync(ALL, x);
    if (l & 1) {
        u32 m = 0xaaaaaaaa;
        O(19) = __shfl_xor_sync(m, x, 2);
        O(20) = __ballot_sync(m, x & 2);
    } else {
        O(19) = __reduce_add_sync(0x55555555, x);
        O(20) = 5;
    }
    u32 s = x;
    for (int d = 1; d < 32; d *= 2) {
        u32 o = __shfl_up_sync(ALL, s, d);
        if (l >= d)
            s += o;
    }
    O(21) = s;
    u32 q = 0;
    if (l >= 4 && l < 12)
        asm volatile("{.reg .pred p; elect.sync _|p, 0xff0; selp.u32 %0,1,0,p;}" : "=r"(q));
    O(22) = q;
    u64 w = __shfl_xor_sync(ALL, V(T, 2), 5);
    O(23) = w;
    int pr;
    asm volatile("{.reg .pred p; shfl.sync.down.b32 %0|p, %2, 9, 31, -1; selp.s32 %1,1,0,p;}"
                 : "=r"(q), "=r"(pr)
                 : "r"(x));
    O(24) = q;
    O(25) = pr;
}
KERNEL(smem) {
    __shared__ u32 h[64];
    __shared__ u64 g;
    __shared__ struct { u8 a; } c[64];
    extern __shared__ u32 dyn[];
    h[T] = 0;
    if (T == 0)
        g = 0;
    c[T].a = (u8)V(T, 0);
    __syncthreads();
    atomicAdd(&h[V(T, 0) & 15], (u32)V(T, 1));
    atomicMax(&h[16 + (V(T, 0) & 3)], (u32)V(T, 2));
    atomicXor(&h[20], (u32)V(T, 3));
    atomicOr(&h[21], (u32)V(T, 3) & 0xff);
    atomicAnd(&h[22], 1u);
    atomicMin((int *)&h[23], (int)V(T, 4));
    atomicInc(&h[24], 10u);
    atomicAdd((unsigned long long *)&g, V(T, 5));
    __syncthreads();
    for (int i = 0; i < 32; i++)
        O(i) = h[i];
    O(32) = g;
    O(33) = c[63 - T].a;
    O(34) = ((uint4 *)&h[4 * (T & 3)])->z;
    u32 m = 0;
    for (int i = 0; i < 64; i++)
        m = m * 3 + c[i].a;
    O(35) = m;
    u64 before = V(T, 6);
    out[T * 64 + 36] = before;
    atomicAdd((unsigned long long *)&O(36), 5ull);
    O(37) = atomicCAS((unsigned long long *)&O(36), before + 5, 1ull);
    O(38) = atomicExch((unsigned *)&O(39), 7u) & 0;
    O(39) = 1;
}
#else
KERNEL(warp) {
    int w = T & ~31, l = T & 31;
    auto X = [&](int k) { return (u32)V(w + k, 0); };
    auto B = [&](int k) { return (u32)V(w + k, 1); };
    u32 x = X(l), b = B(l);
    O(0) = X(b & 31);
    {
        int j = l - (int)(b & 31);
        O(1) = X(j < 0 ? l : j);
        j = l + (b & 31);
        O(2) = X(j > 31 ? l : j);
        O(3) = X(l ^ (b & 31));
    }
    O(4) = X((l & ~7) | (b & 7));
    {
        int j = l - (int)(b & 7);
        O(5) = X(j < (l & ~7) ? l : j);
        j = l + (b & 7);
        O(6) = X(j > (l | 15) ? l : j);
        j = l ^ (b & 31);
        O(7) = X(j <= (l | 3) ? j : l);
    }
    u32 bal = 0, any = 0, all1 = 1;
    for (int k = 0; k < 32; k++) {
        bal |= (X(k) & 1) << k;
        any |= (X(k) & 255) == 7;
        all1 &= X(k) & 1;
    }
    O(8) = bal;
    O(9) = any | 2 | all1 << 2;
    u32 m = 0, m0 = 1;
    for (int k = 0; k < 32; k++) {
        if ((X(k) & 3) == (x & 3))
            m |= 1u << k;
    }
    O(10) = m;
    O(11) = m == ~0u ? m : 0;
    O(12) = m == ~0u;
    O(13) = 0xffffffffu;
    u32 s = 0, mn = ~0u, an = ~0u, orr = 0, xo = 0;
    s32 mx = -2147483647 - 1;
    for (int k = 0; k < 32; k++) {
        u32 v = X(k);
        s += v;
        if (v < mn)
            mn = v;
        if ((s32)v > mx)
            mx = v;
        an &= v;
        orr |= v;
        xo ^= v;
    }
    O(14) = s;
    O(15) = mn;
    O(16) = (u32)mx;
    O(17) = an | orr;
    O(18) = xo;
    if (l & 1) {
        O(19) = X(l ^ 2);
        u32 q = 0;
        for (int k = 1; k < 32; k += 2)
            if (X(k) & 2)
                q |= 1u << k;
        O(20) = q;
    } else {
        u32 q = 0;
        for (int k = 0; k < 32; k += 2)
            q += X(k);
        O(19) = q;
        O(20) = 5;
    }
    s = 0;
    for (int k = 0; k <= l; k++)
        s += X(k);
    O(21) = s;
    O(22) = l == 4;
    O(23) = V(w + (l ^ 5), 2);
    O(24) = X(l + 9 > 31 ? l : l + 9);
    O(25) = l + 9 <= 31;
}
KERNEL(smem) {
    u32 h[64] = {0};
    u64 g = 0;
    u8 c[64];
    for (int t = 0; t < 64; t++) {
        h[V(t, 0) & 15] += (u32)V(t, 1);
        u32 *q = &h[16 + (V(t, 0) & 3)];
        if ((u32)V(t, 2) > *q)
            *q = (u32)V(t, 2);
        h[20] ^= (u32)V(t, 3);
        h[21] |= (u32)V(t, 3) & 0xff;
        h[22] &= 1;
        if ((int)V(t, 4) < (int)h[23])
            h[23] = (u32)V(t, 4);
        h[24] = h[24] >= 10 ? 0 : h[24] + 1;
        g += V(t, 5);
        c[t] = (u8)V(t, 0);
    }
    for (int i = 0; i < 32; i++)
        O(i) = h[i];
    O(32) = g;
    O(33) = c[63 - T];
    O(34) = h[4 * (T & 3) + 2];
    u32 m = 0;
    for (int i = 0; i < 64; i++)
        m = m * 3 + c[i];
    O(35) = m;
    u64 before = V(T, 6);
    O(36) = 1;
    O(37) = before + 5;
    O(38) = 0;
    O(39) = 1;
}
#endif

#ifndef __CUDACC__
static u64 state = 88172645463325252ull;
static u64 next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 0x9E3779B97F4A7C15ull;
}
int main() {
    static u64 in[1024], out[64 * 64];
    struct {
        const char *name;
        void (*run)(u64 *, const u64 *, int, int);
    } kernels[] = {{"ints", ints}, {"bits", bits}, {"flow", flow}, {"floats", floats}, {"warp", warp}, {"smem", smem}};
    for (auto &v : in) {
        v = next();
        switch (next() % 10) {
        case 0:
            v = 0;
            break;
        case 1:
            v = ~0ull;
            break;
        case 2:
            v >>= next() % 64;
            break;
        case 3:
            v = 1ull << next() % 64;
            break;
        case 4:
            v &= 0xff000000ffull;
            break;
        case 5:
            v = (u64)0 - next() % 50;
            break;
        default:
            break;
        }
    }
    for (auto &k : kernels) {
        u64 hash = 1;
        for (int n = 0; n < 3; n++) {
            memset(out, 0, sizeof out);
            for (int t = 0; t < 64; t++)
                k.run(out, in, n, t);
            for (u64 v : out)
                hash = (hash ^ v) * 0x100000001b3ull;
        }
        printf("{\"%s\", UINT64_C(0x%016llx)},\n", k.name, (unsigned long long)hash);
    }
}
#endif
