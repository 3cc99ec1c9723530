//! A runner that has met many broken targets holds no more descriptors than before.

use crate::program::ARGUMENT;
use cetp_runner::adapter::Adapter;
use cetp_runner::engine::describe;
use cetp_runner::guard::Program;
use cetp_runner::limits::Limits;
use cetp_runner::stdio::StdioAdapter;
use libtest_mimic::Failed;
use std::collections::BTreeSet;

/// Sockets and pipes that a session could leave open, by what they are.
fn open() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/proc/thread-self/fd").into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.map(|link| link.display().to_string()).filter(|l| l.starts_with("pipe") || l.starts_with("socket")).collect()
}

/// Starts many sessions that break down in different ways, and compares.
pub fn none_is_left_open() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let exe = std::env::current_exe()?;
    let before = open();
    for switch in ["never-starts", "never-describes-itself", "leaves-an-orphan", "closes-stdout"] {
        for _ in 0..5 {
            let place = tempfile::tempdir_in(folder.path())?;
            let words = [exe.display().to_string(), ARGUMENT.into(), switch.into(), place.path().display().to_string()];
            let program = Program { command: words.into(), directory: folder.path().into(), environment: Vec::new() };
            let adapter = StdioAdapter { program, limits: Limits::default(), guard: exe.clone(), checker: None };
            if let Ok((session, _, _)) = describe(&adapter as &dyn Adapter) {
                session.end();
            }
        }
    }
    // Other trials run at the same time and hold their own: each of these must be gone after a while.
    let new: Vec<String> = open().difference(&before).cloned().collect();
    for _ in 0..600 {
        let now = open();
        if new.iter().all(|descriptor| !now.contains(descriptor)) {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Err(format!("{new:?} were never closed").into())
}
