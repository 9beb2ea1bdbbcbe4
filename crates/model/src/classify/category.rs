//! What a kernel does.

macro_rules! categories {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What a kernel does, whoever wrote it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Category { $($(#[$doc])* $name,)* }

        impl Category {
            /// All categories, in the order of the documentation.
            pub const ALL: &[Category] = &[$(Category::$name,)*];

            /// The word in reports.
            pub fn name(self) -> &'static str {
                match self { $(Category::$name => $text,)* }
            }
        }
    };
}

categories! {
    /// Collectives and other traffic between GPUs.
    Communication = "communication",
    /// Attention of any kind.
    Attention = "attention",
    /// Matrix products outside experts.
    Gemm = "gemm",
    /// Experts: routing, sorting and their products.
    Moe = "moe",
    /// Writing, gathering and moving the KV cache.
    KvCache = "kv_cache",
    /// Normalisation, fused with what surrounds it or not.
    Norm = "norm",
    /// Rotary position embedding.
    Rope = "rope",
    /// Activation functions.
    Activation = "activation",
    /// Conversion to and from narrow types with scales.
    Quantization = "quantization",
    /// Softmax outside attention.
    Softmax = "softmax",
    /// Choice of the next token.
    Sampling = "sampling",
    /// Sorting and top-k.
    TopkSort = "topk_sort",
    /// Prefix sums, partitions.
    Scan = "scan",
    /// Reductions.
    Reduce = "reduce",
    /// Look-up and scatter by index.
    Embedding = "embedding",
    /// Convolution.
    Conv = "conv",
    /// Transposes between layouts.
    Layout = "layout",
    /// Copies, fills, concatenation, casts without arithmetic.
    Memory = "memory",
    /// Pointwise arithmetic.
    Elementwise = "elementwise",
    /// Pooling and interpolation.
    Resample = "resample",
    /// Random numbers and dropout.
    DropoutRng = "dropout_rng",
    /// Weight updates over lists of tensors.
    Optimizer = "optimizer",
    /// Bookkeeping of a serving framework.
    SchedulerMeta = "scheduler_meta",
    /// No rule matches the name.
    Other = "other",
}

impl Category {
    /// The category with that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|category| category.name() == word)
    }
}
