//! Names whose text suggests something else: each fooled a tool that looks for substrings.

use rocm_perf_model::classify::{Category, Classifier, RowKind};

#[test]
fn words_inside_words_do_not_decide() {
    let traps = [
        // `bias`
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x64x64_MI16x16x1_ISA942", Category::Gemm),
        // `div_`
        ("batched_transpose_32x64_pack_2x4_ediv_1x2_half", Category::Layout),
        // `combine`
        ("_combined_routing_compute", Category::Moe),
        // `memset`
        ("_combined_routing_memset", Category::Moe),
        // `dispatch`
        (
            "void (anonymous namespace)::groupnorm_kernel_dispatch_down<__hip_bfloat16, 1024u>(unsigned int)",
            Category::Norm,
        ),
        // `fp8`
        (
            "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)",
            Category::KvCache,
        ),
        // `kv_cache`, `fp8`
        (
            "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 1>(int)",
            Category::Attention,
        ),
        // `reduce`
        (
            "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 128, 128, 256, 3, false>(__hip_bfloat16*)",
            Category::Attention,
        ),
        // `attention`, `fmha`, `moe` in kernels that Inductor's kernels prepare
        ("triton_poi_fused_cat_scaled_dot_product_flash_attention_view_3", Category::Memory),
        (
            "triton_poi_fused__to_copy_add_cat_fmha_v3_fwd_mul_neg_stack_unbind_unsqueeze_view_14",
            Category::Elementwise,
        ),
        ("triton_poi_fused_constant_pad_nd_moe_forward_0", Category::Memory),
        // `_to_copy` in a norm
        ("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", Category::Norm),
        // `mma`, `ssd`, `mla` inside longer words
        ("gamma_correction", Category::Other),
        ("classdump_step", Category::Other),
        ("himlaya_step", Category::Other),
        // `gemm` in a convolution
        (
            "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_34GridwiseGemmMultiD_xdl_cshuffle_v3IiEEEEvv",
            Category::Conv,
        ),
        // `norm` of gradients
        ("lpnorm_cleanup", Category::Optimizer),
    ];
    let classifier = Classifier::builtin();
    for (name, expected) in traps {
        let class = classifier.classify(name, RowKind::Kernel);
        assert_eq!(class.category, expected, "{name} by {}", class.rule);
    }
}

#[test]
fn names_that_are_no_names_are_other() {
    let classifier = Classifier::builtin();
    for name in ["", " ", ".kd", "_Z", "((((", "<<<<>>", "日本語", "\u{fffd}", "triton_", "::"] {
        assert_eq!(classifier.classify(name, RowKind::Kernel).category, Category::Other, "{name}");
        assert_eq!(classifier.classify(name, RowKind::Copy).category, Category::Memory, "{name}");
    }
}

#[test]
fn kernels_of_newer_stacks_were_other_or_wrong() {
    let cases = [
        ("mfma_moe1_silu_mul_afp4_wfp4_bf16_t32x128x256_pm1_async_v32", Category::Moe, "flydsl"),
        ("mfma_moe2_afp4_wfp4_bf16_cshuffle_t32x128x256_vscale_fix3_fp4opt_v1", Category::Moe, "flydsl"),
        ("_gluon_deepgemm_fp8_paged_mqa_logits_preshuffle_varctx", Category::Attention, "triton"),
        (
            "std::enable_if<(((8) > (0)) && vllm::_typeConvert<c10::BFloat16>::exists), void>::type \
             vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
            Category::Norm,
            "vllm",
        ),
        (
            "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalVarSeqQ128Kv128",
            Category::Attention,
            "flashinfer",
        ),
        (
            "_Z57batched_matrix_multiplication_matrix_core_128x128x16_IGLPILj128ELj128ELj16EEvjjj",
            Category::Gemm,
            "unknown",
        ),
        ("rejection_random_sample_kernel", Category::Sampling, "vllm"),
        ("eagle_prepare_next_token_padded_kernel", Category::SchedulerMeta, "vllm"),
        ("void VerifyTreeGreedy<long, long>(long*)", Category::Sampling, "sglang"),
        ("void build_tree_efficient<long>(long*)", Category::SchedulerMeta, "sglang"),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", Category::Gemm, "cublas"),
        (
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x64x128",
            Category::Attention,
            "cudnn",
        ),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_kernel",
            Category::Gemm,
            "cublas",
        ),
        ("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8", Category::Gemm, "cutlass"),
    ];
    let classifier = Classifier::builtin();
    for (name, category, backend) in cases {
        let class = classifier.classify(name, RowKind::Kernel);
        assert_eq!((class.category, &*class.backend), (category, backend), "{name} by {}", class.rule);
    }
}

#[test]
fn a_return_type_with_a_comparison_was_shown_as_the_kernel() {
    let name = "std::enable_if<(((8) > (0)) && vllm::_typeConvert<c10::BFloat16>::exists), void>::type \
                vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)";
    assert_eq!(rocm_perf_model::names::display_name(name), "vllm fused_add_rms_norm");
}
