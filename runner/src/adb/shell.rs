//! Commands on a device, in version 2 of adb's shell protocol: what a command writes comes in packets that say what they
//! are, and the last one is its exit code. The main types are [`Output`] and [`Packets`].

use super::server::{Server, Stream};
use super::{AdbError, Trouble};
use std::time::Duration;

/// What a command left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: u8,
}

impl Output {
    /// Both texts, for a sentence.
    pub fn said(&self) -> String {
        let both = format!("{}\n{}", self.stdout.trim(), self.stderr.trim());
        both.trim().to_owned()
    }
}

/// The most that a command may write, in bytes: far above what any of ours writes, but for a log that is cut anyway.
const MOST_BYTES: usize = 16 << 20;

/// Runs a command to its end. Words that are not the program's own are to be quoted with [`quoted`].
///
/// # Errors
/// The device is gone, the command does not end in time, or writes without end. A command that fails is no error here.
pub fn run(server: &Server, serial: &str, command: &str, limit: Duration) -> Result<Output, AdbError> {
    let mut stream = start(server, serial, command, limit)?;
    let mut packets = Packets::default();
    let mut buffer = vec![0; 64 << 10];
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            let message = format!("the device {serial} closed the connection before {command:?} came to its end");
            return Err(AdbError::new(Trouble::Cut, message));
        }
        packets.push(&buffer[..n]);
        while let Some(packet) = packets.next()? {
            match packet {
                Packet::Out(bytes) => stdout.extend(bytes),
                Packet::Err(bytes) => stderr.extend(bytes),
                Packet::Exit(code) => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    return Ok(Output { stdout: text(&stdout), stderr: text(&stderr), code });
                }
            }
            if stdout.len() + stderr.len() > MOST_BYTES {
                let message = format!("the command {command:?} on the device {serial} writes without end");
                return Err(AdbError::new(Trouble::Protocol, message));
            }
        }
    }
}

/// Starts a command whose packets the caller reads.
///
/// # Errors
/// The device is gone or has no such shell.
pub fn start(server: &Server, serial: &str, command: &str, limit: Duration) -> Result<Stream, AdbError> {
    server.open(serial, &format!("shell,v2,raw:{command}"), limit)
}

/// A word for the device's shell.
pub fn quoted(word: &str) -> String {
    shell_words::quote(word).into_owned()
}

/// A packet of the shell protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A piece of the standard output.
    Out(Vec<u8>),
    /// A piece of the standard error.
    Err(Vec<u8>),
    /// The end.
    Exit(u8),
}

/// Makes packets of bytes as they come.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
}

/// One byte that says what it is, four for the length.
const HEAD: usize = 5;

impl Packets {
    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next packet that is whole.
    ///
    /// # Errors
    /// It is none of the shell protocol.
    #[expect(clippy::should_implement_trait, reason = "that nothing is there yet is no end")]
    pub fn next(&mut self) -> Result<Option<Packet>, AdbError> {
        loop {
            let Some(head) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
            let [kind, length @ ..] = *head;
            let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
            if length > MOST_BYTES {
                return Err(AdbError::new(Trouble::Protocol, "the device sent a packet of the shell that is too long"));
            }
            if self.bytes.len() < HEAD + length {
                return Ok(None);
            }
            let rest = self.bytes.split_off(HEAD + length);
            let payload = std::mem::replace(&mut self.bytes, rest).split_off(HEAD);
            match (kind, payload.first()) {
                (1, _) => return Ok(Some(Packet::Out(payload))),
                (2, _) => return Ok(Some(Packet::Err(payload))),
                (3, Some(code)) => return Ok(Some(Packet::Exit(*code))),
                // Others are for a terminal.
                (0 | 4 | 5, _) => {}
                _ => return Err(AdbError::new(Trouble::Protocol, "the device sent what is no packet of the shell")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_in_any_pieces() {
        let bytes = [&[1, 2, 0, 0, 0, b'h', b'i'][..], &[2, 1, 0, 0, 0, b'!'], &[3, 1, 0, 0, 0, 7]].concat();
        for size in 1..=bytes.len() {
            let mut packets = Packets::default();
            let mut found = Vec::new();
            for piece in bytes.chunks(size) {
                packets.push(piece);
                while let Some(packet) = packets.next().unwrap() {
                    found.push(packet);
                }
            }
            let wanted = [Packet::Out(b"hi".into()), Packet::Err(b"!".into()), Packet::Exit(7)];
            assert_eq!(found, wanted, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_packet_is_an_error() {
        let mut packets = Packets::default();
        packets.push(b"HTTP/1.1 400");
        assert!(packets.next().is_err());
    }
}
