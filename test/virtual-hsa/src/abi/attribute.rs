//! Numbers of what can be asked.

/// Defines constants of one enumeration of C, a module for each.
macro_rules! attributes {
    ($($(#[$doc:meta])* mod $module:ident { $($name:ident = $value:literal;)* })*) => {
        $($(#[$doc])*
        pub(crate) mod $module {
            $(#[doc = concat!("Attribute ", stringify!($value), ".")]
            pub(crate) const $name: u32 = $value;)*
        })*
    };
}

attributes! {
    /// `hsa_system_info_t`.
    mod system {
        VERSION_MAJOR = 0;
        VERSION_MINOR = 1;
        TIMESTAMP = 2;
        TIMESTAMP_FREQUENCY = 3;
        SIGNAL_MAX_WAIT = 4;
        ENDIANNESS = 5;
        MACHINE_MODEL = 6;
        EXTENSIONS = 7;
    }
    /// `hsa_agent_info_t` and `hsa_amd_agent_info_t`.
    mod agent {
        NAME = 0;
        VENDOR_NAME = 1;
        FEATURE = 2;
        MACHINE_MODEL = 3;
        PROFILE = 4;
        DEFAULT_FLOAT_ROUNDING_MODE = 5;
        WAVEFRONT_SIZE = 6;
        WORKGROUP_MAX_DIM = 7;
        WORKGROUP_MAX_SIZE = 8;
        GRID_MAX_DIM = 9;
        GRID_MAX_SIZE = 10;
        FBARRIER_MAX_SIZE = 11;
        QUEUES_MAX = 12;
        QUEUE_MIN_SIZE = 13;
        QUEUE_MAX_SIZE = 14;
        QUEUE_TYPE = 15;
        NODE = 16;
        DEVICE = 17;
        CACHE_SIZE = 18;
        ISA = 19;
        EXTENSIONS = 20;
        VERSION_MAJOR = 21;
        VERSION_MINOR = 22;
        FAST_F16_OPERATION = 24;
        CHIP_ID = 0xA000;
        CACHELINE_SIZE = 0xA001;
        COMPUTE_UNIT_COUNT = 0xA002;
        MAX_CLOCK_FREQUENCY = 0xA003;
        DRIVER_NODE_ID = 0xA004;
        BDFID = 0xA006;
        PRODUCT_NAME = 0xA009;
        MAX_WAVES_PER_CU = 0xA00A;
        NUM_SIMDS_PER_CU = 0xA00B;
        NUM_SHADER_ENGINES = 0xA00C;
        COOPERATIVE_QUEUES = 0xA010;
        UUID = 0xA011;
        TIMESTAMP_FREQUENCY = 0xA016;
        MEMORY_PROPERTIES = 0xA114;
    }
    /// `hsa_isa_info_t`.
    mod isa {
        NAME_LENGTH = 0;
        NAME = 1;
        MACHINE_MODELS = 5;
        PROFILES = 6;
        WORKGROUP_MAX_DIM = 12;
        WORKGROUP_MAX_SIZE = 13;
        GRID_MAX_DIM = 14;
        GRID_MAX_SIZE = 16;
        FBARRIER_MAX_SIZE = 17;
    }
    /// `hsa_amd_memory_pool_info_t`.
    mod pool {
        SEGMENT = 0;
        GLOBAL_FLAGS = 1;
        SIZE = 2;
        RUNTIME_ALLOC_ALLOWED = 5;
        RUNTIME_ALLOC_GRANULE = 6;
        RUNTIME_ALLOC_ALIGNMENT = 7;
        ACCESSIBLE_BY_ALL = 15;
        ALLOC_MAX_SIZE = 16;
    }
    /// `hsa_amd_agent_memory_pool_info_t`.
    mod agent_pool {
        ACCESS = 0;
        NUM_LINK_HOPS = 1;
    }
    /// `hsa_executable_symbol_info_t`.
    mod symbol {
        TYPE = 0;
        NAME_LENGTH = 1;
        NAME = 2;
        LINKAGE = 5;
        VARIABLE_ALLOCATION = 6;
        VARIABLE_SEGMENT = 7;
        VARIABLE_SIZE = 9;
        VARIABLE_IS_CONST = 10;
        KERNEL_KERNARG_SEGMENT_SIZE = 11;
        KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12;
        KERNEL_GROUP_SEGMENT_SIZE = 13;
        KERNEL_PRIVATE_SEGMENT_SIZE = 14;
        KERNEL_DYNAMIC_CALLSTACK = 15;
        IS_DEFINITION = 17;
        AGENT = 20;
        VARIABLE_ADDRESS = 21;
        KERNEL_OBJECT = 22;
    }
}
