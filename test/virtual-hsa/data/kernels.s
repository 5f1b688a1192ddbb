// Two kernels and three variables, of which one holds the address of another. `kernels.hsaco` is what
// LLVM 19 makes of it; `lit/assembled.test` has the commands.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
	.amdhsa_code_object_version 5

	.text
	.globl add
	.protected add
	.p2align 8
	.type add,@function
add:
	s_endpgm
.Ladd_end:
	.size add, .Ladd_end-add

	.globl fixed
	.protected fixed
	.p2align 8
	.type fixed,@function
fixed:
	s_endpgm
.Lfixed_end:
	.size fixed, .Lfixed_end-fixed

	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel add
		.amdhsa_group_segment_fixed_size 128
		.amdhsa_private_segment_fixed_size 16
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 1
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.amdhsa_kernel fixed
		.amdhsa_next_free_vgpr 1
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel

	.data
	.globl answer
	.protected answer
	.type answer,@object
	.p2align 2
answer:
	.long 42
	.size answer, 4

	.globl where
	.protected where
	.type where,@object
	.p2align 3
where:
	.quad answer+1
	.size where, 8

	.weak other
	.type other,@object
	.p2align 3
other:
	.quad other
	.size other, 8

	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .value_kind:     by_value
      - .offset:         16
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         28
        .size:           2
        .value_kind:     hidden_group_size_x
    .group_segment_fixed_size: 128
    .kernarg_segment_align: 8
    .kernarg_segment_size: 32
    .max_flat_workgroup_size: 256
    .name:           add
    .private_segment_fixed_size: 16
    .sgpr_count:     8
    .symbol:         add.kd
    .vgpr_count:     1
    .wavefront_size: 64
  - .group_segment_fixed_size: 0
    .kernarg_segment_align: 4
    .kernarg_segment_size: 0
    .max_flat_workgroup_size: 64
    .name:           fixed
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 32
      - 2
      - 1
    .sgpr_count:     8
    .symbol:         fixed.kd
    .vgpr_count:     1
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx90a
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
