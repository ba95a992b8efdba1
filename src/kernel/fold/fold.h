/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding from the inside: see fold.c for families of tensors, fold_loops.c for loops, fold_ahead.c
 * for rounds as operations, fold_short.c for loops of one or two rounds, and fold_needs.c for what
 * a folded kernel needs. Kernels with agents: fold_agents.c, with fold_rings.c for rings of
 * objects, fold_statement.c for the numbers of a statement, fold_growth.c for a parameter,
 * fold_agents_build.c for the folded kernel, and fold_exact.c for the comparison with the straight
 * one.
 */
#ifndef SPAD_KERNEL_FOLD_FOLD_H
#define SPAD_KERNEL_FOLD_FOLD_H

#include "kernel/kernel.h"
#include "spad/layout.h"

enum { SPAD__FAMILY_RANK = 4 };

typedef struct spad__family_dim {
    int64_t count;
    int64_t stride;
    int64_t ring; /* places after which the first one comes again; count: never */
} spad__family_dim;

/* Tensors that differ in their address only: blocks of one tensor. */
typedef struct spad__family {
    int64_t first; /* tensor */
    int64_t count;
    int64_t of;      /* aliases: the family that owns the bytes; -1 */
    int64_t ordinal; /* of equal aliases of one tensor: each is a family of its own */
    int64_t byte;    /* of members that have an address: of the first one */
    /* Dimensions of the tile numbers, the outermost first: how many, and where each of them is. */
    size_t rank;
    spad__family_dim dims[SPAD__FAMILY_RANK];
    bool used;    /* an operation in a loop touches it: it is written as one tensor */
    int64_t made; /* its number in the new kernel */
} spad__family;

/* A statement, or a loop of them, without its numbers: those are `moving` (in the first round) and
 * `fixed`. Of an operation, the moving ones are its tiles, ranges, moved bytes and cost. Of a loop,
 * they are those of its body and its trip count, and the fixed ones those of its body and how far
 * each moving one of the body moves in a round. */
typedef struct spad__fold_shape {
    const int64_t *code;
    size_t code_count;
    size_t statement; /* of an operation; SIZE_MAX: a loop */
    size_t child_count;
    const uint32_t *children; /* shapes */
    size_t moving;
    size_t fixed;
    size_t height; /* loops inside one another; 0: an operation */
} spad__fold_shape;

typedef struct spad__fold_node {
    uint32_t shape;
    size_t statement; /* of an operation */
    size_t first;     /* of the operations that it stands for */
    int64_t *moving;
    int64_t *fixed;
    size_t same;     /* the nearest node below of the same shape, + 1; 0: none */
    size_t loop;     /* the nearest loop at or below, + 1; 0: none */
    uint64_t prefix; /* hash of the shapes up to this node */
} spad__fold_node;

/* A loop that was found: its shape and fixed numbers. */
typedef struct spad__fold_known {
    uint32_t shape;
    int64_t *fixed;
    size_t next; /* another one with the same last child, + 1; 0: none */
} spad__fold_known;

/* Objects at even distances that some agent visits in turn: tiles of one tensor, or the elements of
 * one array of mbarriers. */
typedef struct spad__fold_ring {
    bool sync;
    int64_t first; /* tensor or synchronisation object */
    int64_t count;
    int64_t stride; /* bytes */
    int64_t made;   /* its number in the new kernel */
} spad__fold_ring;

/* Where a tensor or a synchronisation object is in the new kernel. */
typedef struct spad__fold_place {
    int64_t ring; /* -1: it stays as it is */
    int64_t member;
    int64_t made;  /* of one that stays: its number in the new kernel */
    size_t cursor; /* the first of its own: one for each of its dims, and one for parities */
} spad__fold_place;

/* An index that wraps, as an agent counts it on: its newest value in the section `pass`. */
typedef struct spad__fold_cursor {
    int64_t value;
    size_t pass;
} spad__fold_cursor;

/* The statements of one agent, or of main before or after the agents. */
typedef struct spad__fold_section {
    int64_t agent;
    size_t first; /* statements */
    size_t end;
    size_t count;
    const spad__fold_node *nodes;
} spad__fold_section;

typedef struct spad__folder {
    spad_host host;
    spad__arena arena;
    const spad_kernel *kernel;
    int64_t *family; /* per tensor; -1: it stays as it is */
    int64_t *member; /* per tensor: its number in the family */
    bool *alone;     /* per tensor: it is in no family, whatever it is equal to */
    bool *shows; /* per tensor: it is read and never written under its own name, so it shows what
                    other names of its bytes write */
    int64_t *singles; /* per tensor: its number in the new kernel; -1 */
    SPAD_ARRAY(spad__family) families;
    SPAD_ARRAY(spad__fold_shape) shapes;
    spad__index shape_index;
    SPAD_ARRAY(size_t) newest; /* per shape: the top node of it, + 1; 0: none */
    SPAD_ARRAY(spad__fold_node) nodes;
    SPAD_ARRAY(spad__fold_node) operations; /* all of them, in order */
    SPAD_ARRAY(spad__fold_known) known;
    SPAD_ARRAY(size_t) known_by_last; /* per shape: the first of known with this last child, + 1 */
    const spad__fold_node *list;      /* what is gone through: the operations in other nodes */
    size_t list_count;
    size_t list_at;              /* the next of it */
    size_t height_most;          /* of loops that are made */
    SPAD_ARRAY(int64_t) room;    /* for the numbers of a round; count stays 0 */
    SPAD_ARRAY(uint64_t) powers; /* of the base of the hash */
    SPAD_ARRAY(int64_t) code;    /* of the statement that is looked at */
    SPAD_ARRAY(int64_t) numbers;
    bool out_of_memory; /* while a shape was put together; the call ends */
    /* With agents: the statements from `first` to `end` are gone through. */
    bool by_agent;
    size_t first;
    size_t end;
    size_t pass; /* counts sections */
    SPAD_ARRAY(spad__fold_ring) rings;
    SPAD_ARRAY(spad__fold_cursor) cursors; /* of rings, then those of places */
    spad__fold_place *tensors;             /* per row */
    spad__fold_place *syncs;
} spad__folder;

/* The same operations as few nodes. False: no memory. */
bool spad__fold_loops(spad__folder *f);

/* The stack of nodes: empty, to go through a list; with one more, not yet looked at; without the
 * top ones. */
void spad__fold_start(spad__folder *f, const spad__fold_node *list, size_t count);
bool spad__fold_push(spad__folder *f, spad__fold_node node);
void spad__fold_pop(spad__folder *f, size_t count);

/* The shape of a loop; UINT32_MAX: no memory. The list of its children must stay. */
uint32_t spad__fold_loop_shape(spad__folder *f, const uint32_t *children, size_t count);

/* Makes what loops there are at the top of the stack, and may go on in the list. False: no memory.
 */
bool spad__fold_reduce(spad__folder *f);

/* Gives the loop at the top of the stack one round more, if that is what follows in the list. */
bool spad__fold_run_ahead(spad__folder *f);

/* Of two rounds at the top of the stack, `count` nodes each: is what follows in the list the third
 * one? Then the list goes on after it. Or is what is before them on the stack, from the node *first
 * on, the one before? */
bool spad__fold_is_after(spad__folder *f, size_t count);
bool spad__fold_is_before(spad__folder *f, size_t count, size_t *first);

/* The nodes with loops of one and two rounds where that makes them fewer. False: no memory. */
bool spad__fold_short_loops(spad__folder *f);

/* The layout of a kernel in which the planner places something; NULL: none exists. */
spad_status spad__fold_measure(spad_layout **out, const spad_kernel *kernel, const spad_host *host,
                               spad_error *error);

/* Does the folded kernel need more bytes than the straight layout has, whatever its own layout is?
 */
spad_status spad__fold_overloads(bool *out, const spad_layout *straight, const spad_kernel *folded,
                                 const spad_host *host, spad_error *error);

/* Does the folded kernel need more? */
bool spad__fold_loses(const spad_layout *straight, const spad_layout *folded);

/* Leaves the tensors of planned families alone. False: there are none. */
bool spad__fold_retreat(spad__folder *f);

/* Numbers that are put after an allocation has failed are lost: callers of a shape look at
 * `out_of_memory`. */
void spad__fold_put_code(spad__folder *f, int64_t value);
void spad__fold_put_number(spad__folder *f, int64_t value);
void spad__fold_put_text(spad__folder *f, const char *text);

/* With agents: finds rings. False: no memory. */
bool spad__fold_find_rings(spad__folder *f);

/* With agents: the code and the numbers of a statement. */
void spad__fold_put_statement(spad__folder *f, const spad_statement *s);

void spad__folder_free(spad__folder *f);

/* Builds the kernel that the nodes are. */
spad_status spad__fold_build(spad__folder *f, spad__kernel_builder *b, spad_error *error);

#endif
