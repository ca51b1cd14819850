//! Answers as facts, and what a case wants of them; tests/conformance/README.md has the vocabulary.
use std::collections::HashMap;

use crate::cases::{check::Condition, Check};

#[derive(Default)]
pub struct Facts(HashMap<String, Vec<String>>);

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf29ce484222325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100000001b3))
}

/// A real number as millionths, cut to an integer.
pub fn millionths(value: f64) -> i64 {
    (value * 1e6) as i64
}

impl Facts {
    pub fn add(&mut self, name: impl Into<String>, value: impl ToString) {
        self.0.entry(name.into()).or_default().push(value.to_string());
    }

    pub fn add_each<T: ToString>(&mut self, name: &str, values: impl IntoIterator<Item = T>) {
        values.into_iter().for_each(|value| self.add(name, value));
    }

    pub fn of(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn fingerprint(&self) -> u64 {
        let mut sum = 0u64;
        for (name, values) in self.0.iter().filter(|(name, _)| !name.contains('~')) {
            for (index, value) in values.iter().enumerate() {
                sum = sum.wrapping_add(fnv1a(format!("{name}\0{index}\0{value}").as_bytes()));
            }
        }
        sum
    }
}

pub fn holds(check: &Check, values: &[String]) -> bool {
    let integer = || match values {
        [one] => one.parse::<i64>().ok(),
        _ => None,
    };
    match &check.condition {
        Some(Condition::Is(want)) => matches!(values, [one] if one == want),
        Some(Condition::Has(want)) => values.contains(want),
        Some(Condition::Lacks(want)) => !values.contains(want),
        Some(Condition::Contains(want)) => values.iter().any(|value| value.contains(want.as_str())),
        Some(Condition::Run(run)) => {
            !run.values.is_empty() && values.windows(run.values.len()).any(|window| window == run.values)
        }
        Some(Condition::AtLeast(least)) => integer().map_or(false, |value| value >= *least),
        Some(Condition::AtMost(most)) => integer().map_or(false, |value| value <= *most),
        Some(Condition::Count(count)) => i32::try_from(values.len()) == Ok(*count),
        None => false,
    }
}
