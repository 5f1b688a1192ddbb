//! The names that the driver gives to its objects. They are opaque pointers; this library never looks behind
//! them.

use std::fmt;

macro_rules! handles {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
            #[repr(transparent)]
            pub struct $name(pub usize);

            impl $name {
                /// None.
                pub const NULL: Self = Self(0);
            }

            impl fmt::Display for $name {
                fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(formatter, "{:#x}", self.0)
                }
            }
        )*
    };
}

handles! {
    /// `CUcontext`.
    ContextHandle
    /// `CUmodule`.
    ModuleHandle
    /// `CUfunction`.
    FunctionHandle
    /// `CUstream`.
    StreamHandle
    /// `CUevent`.
    EventHandle
}
