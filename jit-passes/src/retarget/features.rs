//! `target-features`: names with `+` or `-`, the last word counts.

use std::fmt;

use super::{Request, RetargetError};

/// Features, each once, in the order they were first named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Features(Vec<(String, bool)>);

impl Features {
    /// Reads `+a,-b`. What has neither sign is left out, as LLVM does with empty parts.
    pub(super) fn parse(text: &str) -> Self {
        let mut features = Self::default();
        for part in text.split(',').map(str::trim) {
            if let Some(name) = part.strip_prefix('+') {
                features.set(name, true);
            } else if let Some(name) = part.strip_prefix('-') {
                features.set(name, false);
            }
        }
        features
    }

    /// Whether the feature is on or off; `None`: the processor decides.
    pub(super) fn get(&self, name: &str) -> Option<bool> {
        self.0.iter().find(|(known, _)| known == name).map(|&(_, on)| on)
    }

    /// Switches a feature on or off.
    pub(super) fn set(&mut self, name: &str, on: bool) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = on,
            None => self.0.push((name.to_owned(), on)),
        }
    }

    /// Takes over everything that `other` says, after what is said here: LLVM goes through features in order,
    /// and one that is switched on switches others on again.
    pub(super) fn override_by(&mut self, other: &Self) {
        self.0
            .retain(|(name, _)| other.0.iter().all(|(later, _)| later != name));
        self.0.extend_from_slice(&other.0);
    }

    /// Whether nothing is said of any feature.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every feature with its sign.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|(name, on)| (name.as_str(), *on))
    }

    /// Only the features for which `keep` holds.
    pub(super) fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(name, _)| keep(name)).cloned().collect())
    }
}

/// The rule of processors of hosts, whose features only grow: the device's features, with all that the image
/// has, less what the image switched off.
pub(super) fn grown(request: &Request<'_>, cpu: &str) -> Result<Features, RetargetError> {
    let mut all = request.features.clone();
    for (name, on) in request.image_features.iter() {
        if on && all.get(name) == Some(false) {
            return Err(RetargetError::MissingFeature {
                function: request.function.to_owned(),
                feature: name.to_owned(),
                cpu: cpu.to_owned(),
            });
        }
        all.set(name, on);
    }
    Ok(all)
}

impl fmt::Display for Features {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, on)) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(formatter, "{separator}{}{name}", if on { '+' } else { '-' })?;
        }
        Ok(())
    }
}
