//! The adb server's own protocol. The main types are [`Server`] and [`Stream`].
//!
//! A request is its length in four hexadecimal digits and its text; the answer begins with `OKAY`, or with `FAIL` and a
//! sentence. After `host:transport:SERIAL` the connection belongs to that device, and the next request names a service
//! there (`shell,v2,raw:…`, `localabstract:NAME`); after its `OKAY` the connection is the stream. Nothing waits without a
//! limit, whatever the other side does.

use super::{AdbError, Trouble};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Where an adb server listens if nothing else is said.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:5037";

/// The first version whose devices tell their features, which say how a shell and an installation are to be asked for.
pub const OLDEST_VERSION: u32 = 36;

/// For requests that the server answers by itself. A busy machine may need a second; a stalled server is no better after ten.
pub const USUAL: Duration = Duration::from_secs(10);

/// The longest answer of the server: above any list of devices.
const MOST_BYTES: usize = 0xffff;

/// The adb server of this machine, or of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    address: SocketAddr,
}

impl Server {
    /// The server at `HOST:PORT`; where none is given, at the one that adb's own variables name (`ADB_SERVER_SOCKET`,
    /// `ANDROID_ADB_SERVER_ADDRESS`, `ANDROID_ADB_SERVER_PORT`), else at [`DEFAULT_ADDRESS`]. `variable` reads a variable.
    ///
    /// # Errors
    /// That is no address.
    pub fn at(given: Option<&str>, variable: &dyn Fn(&str) -> Option<String>) -> Result<Server, AdbError> {
        let text = match (given, variable("ADB_SERVER_SOCKET")) {
            (Some(given), _) => given.to_owned(),
            (None, Some(socket)) => match socket.strip_prefix("tcp:") {
                Some(rest) if rest.contains(':') => rest.to_owned(),
                Some(port) => format!("127.0.0.1:{port}"),
                None => {
                    let message = format!("ADB_SERVER_SOCKET is {socket:?}; only tcp:HOST:PORT can be used here");
                    return Err(AdbError::new(Trouble::Input, message));
                }
            },
            (None, None) => {
                let host = variable("ANDROID_ADB_SERVER_ADDRESS").unwrap_or_else(|| "127.0.0.1".into());
                let port = variable("ANDROID_ADB_SERVER_PORT").unwrap_or_else(|| "5037".into());
                format!("{host}:{port}")
            }
        };
        let address = text.to_socket_addrs().ok().and_then(|mut all| all.next());
        let wrong = || AdbError::new(Trouble::Input, format!("the adb server {text:?} is not given as HOST:PORT"));
        Ok(Server { address: address.ok_or_else(wrong)? })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn connect(&self, limit: Duration) -> Result<Stream, AdbError> {
        let until = Instant::now() + limit;
        let socket = TcpStream::connect_timeout(&self.address, limit).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => silent(&format!("the adb server at {}", self.address), limit),
            _ => AdbError::new(
                Trouble::NoServer,
                format!("no adb server answers at {} ({error}): start it with \"adb start-server\"", self.address),
            ),
        })?;
        let _ = socket.set_nodelay(true);
        Ok(Stream { socket, until, limit, who: format!("the adb server at {}", self.address) })
    }

    /// Asks the server something that it answers with a text.
    ///
    /// # Errors
    /// It cannot be reached, refuses, or does not speak the protocol.
    pub fn ask(&self, request: &str, limit: Duration) -> Result<String, AdbError> {
        let mut stream = self.connect(limit)?;
        stream.request(request)?;
        let body = stream.text()?;
        Ok(body)
    }

    /// The server's version, if it is one that can be used.
    ///
    /// # Errors
    /// As [`Server::ask`]; it is too old.
    pub fn version(&self) -> Result<u32, AdbError> {
        let text = self.ask("host:version", USUAL)?;
        let version = u32::from_str_radix(&text, 16).map_err(|_| {
            AdbError::new(Trouble::Protocol, format!("the adb server at {} has the version {text:?}", self.address))
        })?;
        if version < OLDEST_VERSION {
            let message = format!(
                "the adb server at {} has the protocol version {version}, and {OLDEST_VERSION} is the oldest that can be \
                 used: update Android's platform tools, then run \"adb kill-server\"",
                self.address
            );
            return Err(AdbError::new(Trouble::Protocol, message));
        }
        Ok(version)
    }

    /// Opens a stream to a service of a device.
    ///
    /// # Errors
    /// As [`Server::ask`]; the device is gone or refuses the service.
    pub fn open(&self, serial: &str, service: &str, limit: Duration) -> Result<Stream, AdbError> {
        let mut stream = self.connect(limit)?;
        stream.request(&format!("host:transport:{serial}"))?;
        stream.who = format!("the device {serial}");
        stream.request(service)?;
        Ok(stream)
    }
}

/// A connection with a point in time at which whatever is awaited has to be there.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    until: Instant,
    limit: Duration,
    who: String,
}

impl Stream {
    /// From now on there is so much time.
    pub fn limit(&mut self, limit: Duration) {
        self.limit = limit;
        self.until = Instant::now() + limit;
    }

    /// The socket, for who wants to wait for it in another way.
    pub fn into_socket(self) -> TcpStream {
        self.socket
    }

    fn left(&self) -> Result<Duration, AdbError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(silent(&self.who, self.limit)) } else { Ok(left) }
    }

    fn failed(&self, error: &std::io::Error) -> AdbError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => silent(&self.who, self.limit),
            _ => AdbError::new(Trouble::Cut, format!("the connection to {} broke: {error}", self.who)),
        }
    }

    /// Reads what comes next; nothing at the end.
    ///
    /// # Errors
    /// Nothing came in time, or the connection broke.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, AdbError> {
        loop {
            let left = self.left()?;
            let _ = self.socket.set_read_timeout(Some(left));
            match self.socket.read(buffer) {
                Ok(n) => return Ok(n),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    /// Reads exactly so much.
    ///
    /// # Errors
    /// As [`Stream::read`]; the end came before.
    pub fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), AdbError> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read(&mut buffer[done..])? {
                0 => {
                    let message = format!("{} closed the connection in the middle of a message", self.who);
                    return Err(AdbError::new(Trouble::Cut, message));
                }
                n => done += n,
            }
        }
        Ok(())
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// It was not taken in time, or the connection broke.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), AdbError> {
        while !bytes.is_empty() {
            let left = self.left()?;
            let _ = self.socket.set_write_timeout(Some(left));
            match self.socket.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(&error)),
            }
        }
        Ok(())
    }

    /// Sends a request and waits for its `OKAY`.
    ///
    /// # Errors
    /// The request was refused, or the answer is none of the protocol.
    pub fn request(&mut self, request: &str) -> Result<(), AdbError> {
        if request.len() > MOST_BYTES {
            return Err(AdbError::new(Trouble::Input, "a request to adb would be longer than 65535 bytes"));
        }
        self.write_all(format!("{:04x}{request}", request.len()).as_bytes())?;
        let mut status = [0; 4];
        self.read_exact(&mut status)?;
        match &status {
            b"OKAY" => Ok(()),
            b"FAIL" => {
                let why = self.text()?;
                Err(AdbError::new(Trouble::Refused, format!("{} refuses {}: {why}", self.who, shown(request))))
            }
            other => {
                let message = format!(
                    "{} answered {} with {}: it is no adb server, or one that speaks another protocol",
                    self.who,
                    shown(request),
                    crate::jsonrpc::excerpt(other)
                );
                Err(AdbError::new(Trouble::Protocol, message))
            }
        }
    }

    /// A text with its length before it.
    fn text(&mut self) -> Result<String, AdbError> {
        let mut digits = [0; 4];
        self.read_exact(&mut digits)?;
        let length = std::str::from_utf8(&digits).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(length) = length else {
            let message = format!("{} sent {} where a length has to be", self.who, crate::jsonrpc::excerpt(&digits));
            return Err(AdbError::new(Trouble::Protocol, message));
        };
        let mut body = vec![0; length];
        self.read_exact(&mut body)?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

fn silent(who: &str, limit: Duration) -> AdbError {
    AdbError::new(Trouble::Silent, format!("{who} did not answer within {} s", limit.as_secs_f64()))
}

/// The beginning of a request, for a sentence.
fn shown(request: &str) -> String {
    crate::jsonrpc::excerpt(request.as_bytes())
}
