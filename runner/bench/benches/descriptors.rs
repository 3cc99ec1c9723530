//! Reading descriptors of any size in process, against the bare digest of the same bytes.

use cetp_bench::{Target, catalogue};
use cetp_runner::adapter::Piece;
use cetp_runner::inprocess::{Host, InProcessAdapter, LocalError, LocalTarget};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Bytes of one reading.
const CHUNK: usize = 256 << 10;

/// A provider whose one descriptor holds zeros, which cost little to make.
struct Zeros {
    size: u64,
    left: Mutex<u64>,
}

impl LocalTarget for Zeros {
    fn handle(&self, _: u64, verb: &str, params: &Json, _: &dyn Host) -> Result<Json, LocalError> {
        let mut left = self.left.lock().unwrap();
        Ok(match verb {
            "target.describe" => json!({
                "protocol": 1, "name": "zeros", "version": "1", "roles": ["provider"], "versions": [2],
                "capabilities": ["large_results"], "controls": [], "callers": "any", "package": "p", "authority": "p.tools",
                "fixture": 1,
            }),
            "target.reset" => {
                *left = self.size;
                json!({ "now_ms": params["now_ms"] })
            }
            _ => json!({}),
        })
    }

    fn read(&self, _: u64, _: &Json) -> Option<Result<Piece, LocalError>> {
        let mut left = self.left.lock().unwrap();
        // Sizes are multiples of the chunk.
        *left -= CHUNK as u64;
        Some(Ok(Piece { bytes: vec![0; CHUNK], eof: *left == 0 }))
    }
}

fn main() -> ExitCode {
    cetp_bench::bench(|| {
        // Up to 10 GiB takes minutes: `cargo bench --bench descriptors -- full`.
        let full = std::env::args().any(|word| word == "full");
        let sizes: &[u64] =
            if full { &[1 << 20, 64 << 20, 1 << 30, 10 << 30] } else { &[1 << 20, 64 << 20, 512 << 20] };
        for size in sizes {
            compare(*size);
        }
    })
}

/// The two are measured in turn, several times, and the best of each is compared: a load of the machine makes both slower.
fn compare(size: u64) {
    let read = json!({
        "id": "cetp2/provider/0/bench", "title": "A descriptor", "role": "provider", "level": "large_results",
        "requirements": ["CETP2-4.5-06"],
        "steps": [{ "read": "fd-1", "chunk_bytes": CHUNK, "limit_bytes": size, "save": "content", "expect": [
            { "requirement": "CETP2-4.5-06", "that": "${content}", "is": { "bytes": size, "eof": true } }] }],
    });
    let catalogue = catalogue(&[read]);
    let make = move || -> Result<Box<dyn LocalTarget>, String> {
        Ok(Box::new(Zeros { size, left: Mutex::default() }))
    };
    let mut target = Target::new(Box::new(InProcessAdapter::new(Default::default(), make)));
    let zeros = vec![0; CHUNK];
    let (mut hash, mut suite) = (Duration::MAX, Duration::MAX);
    for _ in 0..if size > 1 << 29 { 1 } else { 5 } {
        let begun = Instant::now();
        let mut digest = Sha256::new();
        for _ in 0..size / CHUNK as u64 {
            digest.update(black_box(&zeros));
        }
        black_box(digest.finalize());
        hash = hash.min(begun.elapsed());
        let begun = Instant::now();
        black_box(target.pass(&catalogue.vectors[0]));
        suite = suite.min(begun.elapsed());
    }
    let rate = |time: Duration| size as f64 / time.as_secs_f64() / 1e6;
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned();
    println!(
        "RATIO descriptors: {} MiB: hash {:.0} MB/s, suite {:.0} MB/s, {:.2} of the hash; {peak}",
        size >> 20,
        rate(hash),
        rate(suite),
        rate(suite) / rate(hash)
    );
}
