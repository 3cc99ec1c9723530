//! How many bytes a Bundle takes in a Binder transaction. The main function is [`bundle_size`].
//!
//! A Parcel is little-endian and aligned to 4 bytes. A null Bundle is one int (-1), an empty one is one int (0); any
//! other is a length, a magic number, a count, and per entry a String16 key, a type tag and the value. Two things depend
//! on the Android version: since 13 some values carry their byte length, and 16 adds one int after a Bundle that is not
//! empty.

use crate::bundle::{Bundle, Text, Value};
use std::ops::AddAssign;

/// Buffer of one receiving process, in bytes, with 4 KiB pages: 1 MiB less two pages. Shared by all that is in flight.
pub const BINDER_BUFFER: usize = (1 << 20) - 2 * 4096;

/// Android API levels that differ in the size of a Bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// Up to Android 12L (API 32).
    UpTo32,
    /// Android 13 to 15 (API 33 to 35): some values are preceded by their length.
    From33,
    /// Android 16 (API 36) and later: one more int after a Bundle that is not empty.
    From36,
}

/// A number of bytes of which the caller knows whether it is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes in the Parcel.
    pub bytes: usize,
    /// False where the Bundle holds something whose size only the platform knows (a PendingIntent, a descriptor, a
    /// parcelable): the size is then at least `bytes`.
    pub exact: bool,
}

impl AddAssign<usize> for Size {
    fn add_assign(&mut self, bytes: usize) {
        self.bytes += bytes;
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.bytes += other.bytes;
        self.exact &= other.exact;
    }
}

/// The size of a Bundle as the value of a transaction; `None` is the null Bundle.
pub fn bundle_size(bundle: Option<&Bundle>, api: Api) -> Size {
    let mut size = Size { bytes: 4, exact: true };
    let Some(bundle) = bundle.filter(|b| !b.0.is_empty()) else {
        return size;
    };
    size += 4 + 4; // magic, count
    for (key, value) in &bundle.0 {
        size += string16(key.encode_utf16().count());
        size += value_size(value, api);
    }
    if api >= Api::From36 {
        size += 4;
    }
    size
}

fn value_size(value: &Value, api: Api) -> Size {
    let mut size = Size { bytes: 4, exact: true }; // tag
    if api >= Api::From33 && has_length(value) {
        size += 4;
    }
    match value {
        Value::String(text) => size += text_size(text),
        Value::Null => {}
        Value::Int(_) | Value::Bool(_) | Value::Float(_) | Value::Short(_) | Value::Byte(_) => size += 4,
        Value::Long(_) | Value::Double(_) => size += 8,
        // Character has no tag of its own: it is written as a Serializable, whose stream the platform decides.
        Value::Char(_) => size.exact = false,
        Value::IntArray(a) => size += 4 + 4 * a.len(),
        Value::BoolArray(a) => size += 4 + 4 * a.len(),
        Value::LongArray(a) => size += 4 + 8 * a.len(),
        Value::DoubleArray(a) => size += 4 + 8 * a.len(),
        Value::StringArray(a) => size += 4 + a.iter().map(optional_text).sum::<usize>(),
        // An ArrayList holds tagged values.
        Value::StringList(a) => size += 4 + a.iter().map(|t| 4 + t.as_ref().map_or(0, text_size)).sum::<usize>(),
        Value::IntList(a) => size += 4 + a.iter().map(|n| 4 + if n.is_some() { 4 } else { 0 }).sum::<usize>(),
        Value::Bytes(bytes) => size += 4 + bytes.len().next_multiple_of(4),
        Value::Bundle(bundle) => size += bundle_size(Some(bundle), api),
        Value::PendingIntent(_) | Value::Fd { .. } | Value::Parcelable { .. } => size.exact = false,
    }
    size
}

/// Parcelable (4) and List (11) are the tags of the protocol's types that carry a length since Android 13; Serializable
/// (21), which a Char becomes, does too.
fn has_length(value: &Value) -> bool {
    matches!(
        value,
        Value::PendingIntent(_)
            | Value::Fd { .. }
            | Value::Parcelable { .. }
            | Value::StringList(_)
            | Value::IntList(_)
            | Value::Char(_)
    )
}

fn optional_text(text: &Option<Text>) -> usize {
    text.as_ref().map_or(4, text_size)
}

fn text_size(text: &Text) -> usize {
    string16(text.utf16_len())
}

/// An int of UTF-16 units, the units, a NUL of two bytes, padding to 4.
fn string16(units: usize) -> usize {
    4 + (2 * units + 2).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An independent writer of the real bytes, to check the arithmetic against.
    fn write(bundle: Option<&Bundle>, api: Api) -> Vec<u8> {
        fn string(out: &mut Vec<u8>, text: &str) {
            let units: Vec<u16> = text.encode_utf16().collect();
            out.extend((units.len() as i32).to_le_bytes());
            units.iter().for_each(|u| out.extend(u.to_le_bytes()));
            out.extend([0, 0]);
            while !out.len().is_multiple_of(4) {
                out.push(0);
            }
        }
        fn int(out: &mut Vec<u8>, n: i32) {
            out.extend(n.to_le_bytes());
        }
        fn lengthy(out: &mut Vec<u8>, api: Api, body: Vec<u8>) {
            if api >= Api::From33 {
                int(out, body.len() as i32);
            }
            out.extend(body);
        }
        let mut out = Vec::new();
        let Some(bundle) = bundle else {
            int(&mut out, -1);
            return out;
        };
        if bundle.0.is_empty() {
            int(&mut out, 0);
            return out;
        }
        let mut body = Vec::new();
        int(&mut body, bundle.0.len() as i32);
        for (key, value) in &bundle.0 {
            string(&mut body, key);
            match value {
                Value::String(t) => {
                    int(&mut body, 0);
                    string(&mut body, t.as_str().unwrap());
                }
                Value::Int(n) => [1, *n].into_iter().for_each(|n| int(&mut body, n)),
                Value::Bundle(inner) => {
                    int(&mut body, 3);
                    body.extend(write(Some(inner), api));
                }
                Value::Long(n) => {
                    int(&mut body, 6);
                    body.extend(n.to_le_bytes());
                }
                Value::Bool(b) => [9, i32::from(*b)].into_iter().for_each(|n| int(&mut body, n)),
                Value::Null => int(&mut body, -1),
                Value::Bytes(b) => {
                    int(&mut body, 13);
                    int(&mut body, b.len() as i32);
                    body.extend(b);
                    while !body.len().is_multiple_of(4) {
                        body.push(0);
                    }
                }
                Value::StringList(list) => {
                    int(&mut body, 11);
                    let mut inner = Vec::new();
                    int(&mut inner, list.len() as i32);
                    for text in list {
                        int(&mut inner, 0);
                        string(&mut inner, text.as_ref().unwrap().as_str().unwrap());
                    }
                    lengthy(&mut body, api, inner);
                }
                other => panic!("this writer has no {other:?}"),
            }
        }
        int(&mut out, body.len() as i32);
        int(&mut out, 0x4c44_4e42);
        out.extend(body);
        if api >= Api::From36 {
            int(&mut out, 0);
        }
        out
    }

    const ALL: [Api; 3] = [Api::UpTo32, Api::From33, Api::From36];

    #[test]
    fn the_worked_example_is_36_bytes() {
        let bundle = Bundle::new().with("code", Value::Int(42));
        let bytes = "1c000000424e444c010000000400000063006f0064006500000000000100000 02a000000".replace(' ', "");
        let written: String = write(Some(&bundle), Api::From33).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(written, bytes);
        assert_eq!(bundle_size(Some(&bundle), Api::UpTo32), Size { bytes: 36, exact: true });
        assert_eq!(bundle_size(Some(&bundle), Api::From33).bytes, 36);
        assert_eq!(bundle_size(Some(&bundle), Api::From36).bytes, 40);
    }

    #[test]
    fn null_and_empty_are_one_int() {
        for api in ALL {
            assert_eq!(bundle_size(None, api).bytes, 4);
            assert_eq!(bundle_size(Some(&Bundle::new()), api).bytes, 4);
        }
    }

    #[test]
    fn the_arithmetic_agrees_with_a_writer() {
        let inner = Bundle::new().with("k", Value::Null).with("测试", Value::string("😀"));
        let mut bundle = Bundle::new();
        for n in 0..9 {
            bundle = bundle
                .with(&"k".repeat(n), Value::string("x".repeat(n)))
                .with(&format!("b{n}"), Value::Bytes(vec![7; n]))
                .with(&format!("l{n}"), Value::StringList(vec![Some("é".repeat(n).into()); n]))
                .with("long", Value::Long(-1))
                .with("bool", Value::Bool(true))
                .with("bundle", Value::Bundle(inner.clone()))
                .with("empty", Value::Bundle(Bundle::new()));
            for api in ALL {
                let size = bundle_size(Some(&bundle), api);
                assert_eq!(size, Size { bytes: write(Some(&bundle), api).len(), exact: true }, "{n} {api:?}");
            }
        }
    }

    #[test]
    fn arrays_take_what_the_platform_facts_say() {
        let size = |value| bundle_size(Some(&Bundle::new().with("", value)), Api::UpTo32).bytes - 12 - 8 - 4;
        assert_eq!(size(Value::IntArray(vec![1, 2])), 12);
        assert_eq!(size(Value::LongArray(vec![1, 2])), 20);
        assert_eq!(size(Value::DoubleArray(vec![1.0])), 12);
        assert_eq!(size(Value::BoolArray(vec![true; 3])), 16);
        assert_eq!(size(Value::StringArray(vec![Some("a".into()), None])), 4 + 8 + 4);
        assert_eq!(size(Value::Short(1)), 4);
        assert_eq!(size(Value::Byte(1)), 4);
        assert_eq!(size(Value::Float(1.0)), 4);
        assert_eq!(size(Value::Double(1.0)), 8);
    }

    #[test]
    fn what_only_the_platform_knows_is_at_least() {
        let fd = Value::Fd { id: "fd-1".into(), access: None };
        let size = bundle_size(Some(&Bundle::new().with("result_fd", fd)), Api::From33);
        assert!(!size.exact);
        assert!(size.bytes >= 12 + 24 + 8);
    }
}
