//! `hsa_status_t`.

use std::ffi::CStr;

/// What a function ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u32);

/// Defines the statuses and their texts.
macro_rules! statuses {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        impl Status {
            $(#[doc = concat!("`HSA_STATUS_", stringify!($name), "`.")]
            pub(crate) const $name: Self = Self($value);)*

            /// What `hsa_status_string` says.
            pub(crate) fn text(self) -> Option<&'static CStr> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0x0, c"HSA_STATUS_SUCCESS";
    ERROR_INVALID_MEMORY_POOL = 40, c"HSA_STATUS_ERROR_INVALID_MEMORY_POOL: no such memory pool";
    ERROR_MEMORY_FAULT = 43, c"HSA_STATUS_ERROR_MEMORY_FAULT: a device accessed memory that it may not";
    ERROR = 0x1000, c"HSA_STATUS_ERROR: an error without a name of its own";
    ERROR_INVALID_ARGUMENT = 0x1001, c"HSA_STATUS_ERROR_INVALID_ARGUMENT: an argument is wrong";
    ERROR_INVALID_QUEUE_CREATION = 0x1002, c"HSA_STATUS_ERROR_INVALID_QUEUE_CREATION: no such queue can be";
    ERROR_INVALID_ALLOCATION = 0x1003, c"HSA_STATUS_ERROR_INVALID_ALLOCATION: no such allocation can be";
    ERROR_INVALID_AGENT = 0x1004, c"HSA_STATUS_ERROR_INVALID_AGENT: no such agent";
    ERROR_INVALID_SIGNAL = 0x1006, c"HSA_STATUS_ERROR_INVALID_SIGNAL: no such signal";
    ERROR_INVALID_QUEUE = 0x1007, c"HSA_STATUS_ERROR_INVALID_QUEUE: no such queue";
    ERROR_OUT_OF_RESOURCES = 0x1008, c"HSA_STATUS_ERROR_OUT_OF_RESOURCES: the runtime has not enough left";
    ERROR_INVALID_PACKET_FORMAT = 0x1009, c"HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: a packet is wrong";
    ERROR_NOT_INITIALIZED = 0x100B, c"HSA_STATUS_ERROR_NOT_INITIALIZED: `hsa_init` was not called";
    ERROR_INCOMPATIBLE_ARGUMENTS = 0x100D, c"HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS: arguments do not fit together";
    ERROR_INVALID_ISA = 0x100F, c"HSA_STATUS_ERROR_INVALID_ISA: no such instruction set";
    ERROR_INVALID_CODE_OBJECT = 0x1010, c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT: a code object is wrong";
    ERROR_INVALID_EXECUTABLE = 0x1011, c"HSA_STATUS_ERROR_INVALID_EXECUTABLE: no such executable";
    ERROR_FROZEN_EXECUTABLE = 0x1012, c"HSA_STATUS_ERROR_FROZEN_EXECUTABLE: the executable is frozen";
    ERROR_INVALID_SYMBOL_NAME = 0x1013, c"HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: no symbol of that name";
    ERROR_VARIABLE_UNDEFINED = 0x1015, c"HSA_STATUS_ERROR_VARIABLE_UNDEFINED: a variable has no definition";
    ERROR_INVALID_EXECUTABLE_SYMBOL = 0x1019, c"HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL: no such symbol";
    ERROR_INVALID_CODE_OBJECT_READER = 0x1021, c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER: no such reader";
}
