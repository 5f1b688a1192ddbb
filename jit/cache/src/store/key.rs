//! What an image on disk depends on.

use std::fmt;
use std::str::FromStr;

use offloom_abi::jit_bundle::BundleId;

use offloom_descriptor::Descriptor;
use offloom_descriptor::text::{EscapedName, unescaped_name};

/// Everything that an image depends on. Two images with equal keys are interchangeable; keys that differ in
/// any field are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageKey {
    /// Version of Offloom that makes the image.
    pub offloom_version: String,
    /// Version of LLVM that makes the image, with its patch level.
    pub llvm_version: String,
    /// The bundle that the image is made from.
    pub bundle: BundleId,
    /// Target triple of the device.
    pub target_triple: String,
    /// Features of the device beyond the descriptor's architecture, as LLVM writes them.
    pub target_features: String,
    /// Settings that change the code, in any fixed form.
    pub options: String,
    /// What the kernel's source says of it, in the text form of
    /// [`KernelSource`](offloom_abi::kernel_source::KernelSource): of use to people alone.
    pub source: String,
    /// What the image is specialised to; names the kernel and the architecture.
    pub descriptor: Descriptor,
}

impl fmt::Display for ImageKey {
    /// The form that is stored: one line for each field, `name=value`. Distinct for distinct keys.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bundle = self.bundle.0.map(|byte| format!("{byte:02x}")).concat();
        for (name, value) in [
            ("offloom", self.offloom_version.as_str()),
            ("llvm", &self.llvm_version),
            ("bundle", &bundle),
            ("triple", &self.target_triple),
            ("features", &self.target_features),
            ("options", &self.options),
            ("source", &self.source),
        ] {
            writeln!(formatter, "{name}={}", EscapedName(value))?;
        }
        writeln!(formatter, "descriptor={}", self.descriptor)
    }
}

impl ImageKey {
    /// The hash that names the image.
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.to_string())
    }
}

/// The BLAKE3 hash of a key in the form that is stored: the name of its file, and of its entry in a remote
/// store. As text, 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// The hash of this key.
    pub fn of(key: &str) -> Self {
        Self(*blake3::hash(key.as_bytes()).as_bytes())
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

/// The text is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not 64 hexadecimal digits")]
pub struct NotAHash;

impl FromStr for KeyHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| NotAHash)?;
        Ok(Self(*hash.as_bytes()))
    }
}

/// The value of a field of a key in the form that is stored; empty where there is no such field.
pub fn stored_field(key: &str, name: &str) -> String {
    let mut values = key
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let value = values.next().unwrap_or_default();
    match name {
        // Its form is its own.
        "descriptor" => value.to_owned(),
        _ => unescaped_name(value).unwrap_or_else(|_| value.to_owned()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A key whose descriptor has this value.
    pub(crate) fn key(value: u64) -> ImageKey {
        ImageKey {
            offloom_version: "0.1.0".to_owned(),
            llvm_version: "19.1.7".to_owned(),
            bundle: BundleId([7; 16]),
            target_triple: "x86_64-pc-linux-gnu".to_owned(),
            target_features: "+avx2,+fma".to_owned(),
            options: "fp=match".to_owned(),
            source: "a.c\n1\tn".to_owned(),
            descriptor: format!("kernel=k;arch=x86-64;0=i64:{value}").parse().unwrap(),
        }
    }

    #[test]
    fn keys_differ_when_any_field_does() {
        let change: [fn(&mut ImageKey); 9] = [
            |_| {},
            |key| key.offloom_version.push('1'),
            |key| key.llvm_version = "22.1.8".to_owned(),
            |key| key.bundle.0[15] = 0,
            |key| key.target_triple.push_str("x32"),
            |key| key.target_features.clear(),
            // A value must not be able to pass for another field.
            |key| key.options = "fp=match\ndescriptor=kernel".to_owned(),
            |key| key.source.clear(),
            |key| key.descriptor.kernel.push('2'),
        ];
        let texts: HashSet<_> = change
            .map(|change| {
                let mut key = key(1);
                change(&mut key);
                key.to_string()
            })
            .into();
        assert_eq!(texts.len(), change.len());
        assert!(texts.iter().all(|text| text.lines().count() == 8));
    }

    #[test]
    fn a_stored_field_is_what_it_was() {
        let key = ImageKey {
            options: "fp=match\n".to_owned(),
            target_features: String::new(),
            ..key(1)
        };
        let stored = key.to_string();
        assert_eq!(stored_field(&stored, "options"), key.options);
        assert_eq!(stored_field(&stored, "features"), "");
        assert_eq!(stored_field(&stored, "source"), key.source);
        assert_eq!(stored_field(&stored, "descriptor"), key.descriptor.to_string());
        assert_eq!(stored_field(&stored, "absent"), "");
    }
}
