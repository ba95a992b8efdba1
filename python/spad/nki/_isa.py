# SPDX-License-Identifier: Apache-2.0
"""The instructions of nki.isa as one table.

A row says which parameters an instruction has, which tensors it reads, writes and updates (reads and
writes), the engines that may run it, the default first, and its cost. A parameter that holds a number
where a tensor may stand is not an access. `dst/16` is every 16th partition of dst. Names and defaults
are those of the public reference of nki.isa; the defaults of enumerations are None here. Last in the rows of
dma_copy and tensor_copy are parameters that their older forms have.

The cost is `sizes`: what the target's figures give for the sizes of the operands; `N x k`: k cycles for
each element in a lane; `N + k`: k cycles more than one for each element; `moved`: a DMA of the bytes that
the view has, however much it may touch; `nothing`: no time on an engine of the core.
"""

import inspect

_ROWS = """
activate2                | dst op data imm0 imm1 op0 op1 relu_param=0.0 reverse0=False reverse1=False reduce_op=None reduce_res=None reduce_cmd=None name=None | writes dst reduce_res | reads data imm0 imm1 relu_param | scalar | sizes
activation               | dst op data bias=None scale=1.0 reduce_op=None reduce_res=None reduce_cmd=None name=None | writes dst reduce_res | reads data bias scale | scalar | sizes
activation_reduce        | dst op data reduce_op reduce_res bias=None scale=1.0 name=None | writes dst reduce_res | reads data bias scale | scalar | N + 64
affine_select            | dst pattern channel_multiplier on_true_tile on_false_value cmp_op=None offset=0 name=None | writes dst | reads on_true_tile | gpsimd | N + 150
bn_aggr                  | dst data name=None | writes dst | reads data | vector | sizes
bn_stats                 | dst data name=None | writes dst | reads data | vector | sizes
core_barrier             | data cores engine=None name=None | | | gpsimd | nothing
dma_compute              | dst srcs reduce_op scales=None unique_indices=True oob_mode=None name=None | writes dst | reads srcs scales | dma | moved
dma_copy                 | dst src priority=None oob_mode=None dge_mode=None engine=None name=None dst_rmw_op=None unique_indices=True | writes dst | reads src | dma | moved
dma_transpose            | dst src axes=None priority=None dge_mode=None oob_mode=None name=None | writes dst | reads src | dma | moved
dropout                  | dst data prob name=None | writes dst | reads data prob | vector | sizes
exponential              | dst src max_value=0.0 reduce_res=None reduce_cmd=None reduce_init=0.0 name=None | writes dst reduce_res | reads src max_value reduce_init | vector | sizes
iota                     | dst pattern offset=0 channel_multiplier=0 name=None | writes dst | | gpsimd | N + 150
local_gather             | dst src_buffer index num_elem_per_idx=1 num_valid_indices=None name=None | writes dst | reads src_buffer index | gpsimd | sizes
max8                     | dst src name=None | writes dst | reads src | vector | sizes
memset                   | dst value engine=None name=None | writes dst | | vector gpsimd | sizes
nc_find_index8           | dst data vals name=None | writes dst | reads data vals | vector | sizes
nc_match_replace8        | dst data vals imm dst_idx=None name=None | writes dst dst_idx | reads data vals | vector | sizes
nc_matmul                | dst stationary moving is_stationary_onezero=False is_moving_onezero=False is_transpose=False accumulate=None tile_position=() tile_size=() perf_mode=None name=None | sums dst | reads stationary moving | tensor | sizes
nc_matmul_mx             | dst stationary moving stationary_scale moving_scale tile_position=None tile_size=None accumulate=None name=None | sums dst | reads stationary moving stationary_scale moving_scale | tensor | sizes
nc_n_gather              | dst data indices name=None | writes dst | reads data indices | gpsimd | sizes
nc_stream_shuffle        | dst src shuffle_mask name=None | writes dst | reads src | vector | sizes
nc_transpose             | dst data engine=None name=None | writes dst | reads data | tensor vector | sizes
nonzero_with_count       | dst src index_offset=0 padding_val=-1 name=None | writes dst/16 | reads src/16 | gpsimd | sizes
quantize_mx              | dst src dst_scale name=None | writes dst dst_scale | reads src | vector | sizes
rand2                    | dst min max name=None | writes dst | reads min max | vector | sizes
rand_get_state           | dst engine=None name=None | writes dst | | gpsimd vector | sizes
rand_set_state           | src_seeds engine=None name=None | | reads src_seeds | gpsimd vector | sizes
range_select             | dst on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd=None reduce_res=None reduce_op=None range_start=0 on_false_value=None name=None | writes dst reduce_res | reads on_true_tile bound0 bound1 | vector | sizes
reciprocal               | dst data name=None | writes dst | reads data | vector | N x 8
register_load            | dst src | | reads src | gpsimd | sizes
register_move            | dst src | | | gpsimd | nothing
register_store           | dst src | writes dst | | gpsimd | sizes
rng                      | dst engine=None name=None | writes dst | | vector gpsimd | sizes
scalar_tensor_tensor     | dst data op0 operand0 op1 operand1 reverse0=False reverse1=False name=None | writes dst | reads data operand0 operand1 | vector | sizes
select_reduce            | dst predicate on_true on_false reduce_res=None reduce_cmd=None reduce_op=None reverse_pred=False name=None | writes dst reduce_res | reads predicate on_true on_false | vector | sizes
sendrecv                 | src dst send_to_rank recv_from_rank pipe_id dma_engine=None name=None | writes dst | reads src | dma | moved
sequence_bounds          | dst segment_ids name=None | writes dst | reads segment_ids | gpsimd | sizes
set_rng_seed             | src_seeds name=None | | reads src_seeds | vector | sizes
tensor_copy              | dst src engine=None name=None dtype=None | writes dst | reads src | vector scalar gpsimd | sizes
tensor_copy_predicated   | dst src predicate reverse_pred=False name=None | updates dst | reads src predicate | vector | sizes
tensor_partition_reduce  | dst op data name=None | writes dst | reads data | gpsimd | sizes
tensor_reduce            | dst op data axis negate=False keepdims=False name=None | writes dst | reads data | vector | sizes
tensor_scalar            | dst data op0 operand0 reverse0=False op1=None operand1=None reverse1=False engine=None name=None | writes dst | reads data operand0 operand1 | vector scalar gpsimd | sizes
tensor_scalar_cumulative | dst src op0 op1 imm0 imm1=None reduce_cmd=None name=None | writes dst | reads src imm0 imm1 | vector | sizes
tensor_scalar_reduce     | dst data op0 operand0 reduce_op reduce_res=None reverse0=False reduce_cmd=None reduce_init=None reduce_res_negate=False name=None | writes dst reduce_res | reads data operand0 reduce_init | vector | sizes
tensor_tensor            | dst data1 data2 op engine=None name=None | writes dst | reads data1 data2 | vector gpsimd | sizes
tensor_tensor_scan       | dst data0 data1 initial op0 op1 reverse0=False reverse1=False name=None | writes dst | reads data0 data1 initial | vector | sizes
topk                     | val_dst idx_dst src n name=None | writes val_dst idx_dst | reads src | gpsimd | N x 64
"""


class Instruction:
    """A row of the table."""

    __slots__ = ("name", "signature", "reads", "writes", "updates", "sums", "engines", "cost", "steps",
                 "_defaults", "order")

    def __init__(self, row):
        name, parameters, written, read, engines, cost = (part.strip() for part in row.split("|"))
        self.name, self.cost = name, cost
        self.signature = inspect.Signature([_parameter(word) for word in parameters.split()])
        self._defaults = {word: parameter.default for word, parameter in self.signature.parameters.items()
                          if parameter.default is not inspect.Parameter.empty}
        self.order = tuple(self.signature.parameters)
        self.steps = {}  # parameter: partitions from one that is accessed to the next
        self.reads = self._names(read.split()[1:])
        how, *names = written.split() or ["writes"]
        names = self._names(names)
        self.writes = tuple(names) if how == "writes" else ()
        self.updates = tuple(names) if how == "updates" else ()
        self.sums = tuple(names) if how == "sums" else ()
        self.engines = tuple(engines.split())
        for name in (*self.reads, *names):
            if name not in self.signature.parameters:
                raise AssertionError(f"{self.name} has no parameter '{name}'")

    def bind(self, args, kwargs):
        """The arguments of a call by name, with the defaults."""
        given = self._defaults | dict(zip(self.order, args)) | kwargs
        if given.keys() != self.signature.parameters.keys() or len(args) > len(self.order):
            try:
                self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"nki.isa.{self.name}: {error}") from None
        if args and not kwargs.keys().isdisjoint(self.order[:len(args)]):
            raise TypeError(f"nki.isa.{self.name}: an argument is given twice")
        return given

    def _names(self, words):
        for word in words:
            name, slash, step = word.partition("/")
            if slash:
                self.steps[name] = int(step)
        return tuple(word.partition("/")[0] for word in words)


_DEFAULTS = {"None": None, "False": False, "True": True, "()": ()}


def _parameter(word):
    name, equals, default = word.partition("=")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if not equals:
        return inspect.Parameter(name, kind)
    value = _DEFAULTS[default] if default in _DEFAULTS else float(default)
    return inspect.Parameter(name, kind, default=value)


INSTRUCTIONS = {made.name: made
                for made in (Instruction(row) for row in _ROWS.strip().split("\n"))}
