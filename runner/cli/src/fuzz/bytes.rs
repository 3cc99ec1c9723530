//! Bytes as a source of choices. The main type is [`Bytes`].

/// Bytes that are taken one after the other; none where they end.
pub struct Bytes<'b>(std::slice::Iter<'b, u8>);

impl<'b> Bytes<'b> {
    /// From the first of them on.
    pub fn new(bytes: &'b [u8]) -> Bytes<'b> {
        Bytes(bytes.iter())
    }

    /// The next one.
    pub fn byte(&mut self) -> Option<u8> {
        self.0.next().copied()
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> Option<usize> {
        let high = if bound > 256 { usize::from(self.byte()?) } else { 0 };
        let n = high * 256 + usize::from(self.byte()?);
        (bound > 0).then(|| n % bound)
    }
}
