//! The `#[plugin]` attribute of `llvm-plugin`.

use proc_macro::TokenStream;
use quote::quote;
use std::ffi::CString;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, ItemFn, LitCStr, LitStr, Token, parse_macro_input};

/// Makes a function the registrar of a plugin: `#[plugin(name = "…", version = "…")]`.
///
/// The function takes `&mut llvm_plugin::PassBuilder` and registers the plugin's passes on it. The attribute
/// also exports `llvmGetPassPluginInfo`, the symbol LLVM looks for, so it can stand once in a crate, which
/// must be a `cdylib`, and not in a crate that another plugin links.
#[proc_macro_attribute]
pub fn plugin(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Arguments { name, version } = parse_macro_input!(arguments as Arguments);
    let registrar = parse_macro_input!(item as ItemFn);
    let function = &registrar.sig.ident;
    quote! {
        #registrar

        const _: () = {
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the name LLVM looks for")]
            extern "C" fn llvmGetPassPluginInfo() -> ::llvm_plugin::PassPluginLibraryInfo {
                unsafe extern "C" fn register(builder: *mut ::core::ffi::c_void) {
                    // SAFETY: LLVM calls this with the pass builder it lends to the plugin.
                    unsafe { ::llvm_plugin::generated::register(builder, #function) }
                }
                ::llvm_plugin::generated::plugin_info(#name, #version, register)
            }
        };
    }
    .into()
}

struct Arguments {
    name: LitCStr,
    version: LitCStr,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut name, mut version) = (None, None);
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: LitStr = input.parse()?;
            let slot = match key.to_string().as_str() {
                "name" => &mut name,
                "version" => &mut version,
                _ => return Err(Error::new(key.span(), "expected `name` or `version`")),
            };
            let text = CString::new(value.value())
                .map_err(|_| Error::new(value.span(), "a NUL byte cannot stand in a C string"))?;
            if slot.replace(LitCStr::new(&text, value.span())).is_some() {
                return Err(Error::new(key.span(), format!("`{key}` is given twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let missing = |what: &str| input.error(format!("`{what} = \"…\"` is missing"));
        Ok(Self {
            name: name.ok_or_else(|| missing("name"))?,
            version: version.ok_or_else(|| missing("version"))?,
        })
    }
}
