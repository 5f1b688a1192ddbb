//! Tables of a driver's functions, found by their names in the library that the process has opened.

/// Defines a table of functions: those that every driver has, then those that came later or that this library
/// can do without. Each has its name and its type. The table's `with` takes the functions from what finds an
/// address by its name; it returns the name of one that every driver has and this one has not.
///
/// The types are the caller's promise: an address is called as what is written here.
#[macro_export]
macro_rules! driver_functions {
    ($(#[$of_table:meta])* $visibility:vis struct $table:ident;
     needed { $($(#[$attribute:meta])* $field:ident = $symbol:literal: $kind:ty;)* }
     optional { $($(#[$of_optional:meta])* $optional:ident = $optional_symbol:literal: $optional_kind:ty;)* }) => {
        $(#[$of_table])*
        #[derive(Debug)]
        $visibility struct $table {
            $($(#[$attribute])* pub(crate) $field: $kind,)*
            $($(#[$of_optional])* pub(crate) $optional: Option<$optional_kind>,)*
        }

        impl $table {
            /// The functions that `find` knows; else the name of one that every driver has and this one has
            /// not.
            fn with(
                find: impl Fn(&std::ffi::CStr) -> *mut std::ffi::c_void,
            ) -> Result<Self, &'static std::ffi::CStr> {
                // SAFETY: the driver's functions of these names have these types.
                unsafe {
                    Ok(Self {
                        $($field: {
                            let address = find($symbol);
                            if address.is_null() {
                                return Err($symbol);
                            }
                            std::mem::transmute::<*mut std::ffi::c_void, $kind>(address)
                        },)*
                        $($optional: {
                            let address = find($optional_symbol);
                            (!address.is_null())
                                .then(|| std::mem::transmute::<*mut std::ffi::c_void, $optional_kind>(address))
                        },)*
                    })
                }
            }
        }
    };
}
