//! One line of the Python provider broken on purpose: the run exits 1 and names the requirement that the line kept.
//!
//! The provider was written without a thought of these breaks, so this shows that the vectors find faults in programs that
//! they were not made for. Each run takes only the vectors about the requirement, which keeps it short.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A line of a file, what stands in its place, and the requirement that is broken then.
struct Break {
    file: &'static str,
    line: &'static str,
    becomes: &'static str,
    requirement: &'static str,
}

const fn broken(file: &'static str, line: &'static str, becomes: &'static str, requirement: &'static str) -> Break {
    Break { file, line, becomes, requirement }
}

const BREAKS: &[Break] = &[
    broken("sessions.py", "version = max(common)", "version = min(common)", "CETP2-2.2-05"),
    broken(
        "sessions.py",
        "session = self._by_uid.get(uid, {}).get(token)",
        "session = next((of[token] for of in self._by_uid.values() if token in of), None)",
        "CETP2-2.2-08",
    ),
    broken(
        "sessions.py",
        "if session is not None and session.version == 2 and self._clock.now_ms() < session.expires_at_ms:",
        "if session is not None and session.version == 2:",
        "CETP2-2.2-10",
    ),
    broken(
        "content_provider.py",
        "if capability is not None and capability not in session.capabilities:",
        "if capability is not None and capability not in self.catalogue.capabilities:",
        "CETP2-2.3-02",
    ),
    broken(
        "catalogue.py",
        "if tool.visible and tool.is_read  # v1 is read-only (section 2.1)",
        "if tool.visible",
        "CETP2-2.1-04",
    ),
    broken(
        "execution.py",
        "missing = self._authorization.missing(request.identity, tool.scopes)",
        "missing = []",
        "CETP2-3.4-08",
    ),
    broken("envelope.py", "raise invalid_request(\"request_id is not a UUID.\")", "pass", "CETP2-4.1-02"),
    broken(
        "envelope.py",
        "raise ProtocolError(\"DEADLINE_EXCEEDED\", \"The deadline of this request has passed.\")",
        "pass",
        "CETP2-4.1-10",
    ),
    broken("confirmations.py", "\"immutable\": True,", "\"immutable\": False,", "CETP2-4.3-02"),
    broken(
        "operations.py",
        "if row is None or (row[\"uid\"], row[\"request_id\"]) != (identity.uid, request_id):",
        "if row is None or row[\"request_id\"] != request_id:",
        "CETP2-4.4-08",
    ),
    broken("results.py", "if len(data.encode(\"utf-8\")) <= limit:", "if len(data) <= limit:", "CETP2-4.5-01"),
    broken(
        "results.py",
        "\"sha256\": hashlib.sha256(content).hexdigest(),",
        "\"sha256\": hashlib.sha256(content).hexdigest().upper(),",
        "CETP2-4.5-04",
    ),
    broken("results.py", "\"size_bytes\": len(content),", "\"size_bytes\": len(value),", "CETP2-4.5-06"),
    broken("errors.py", "\"NEGOTIATION_REQUIRED\": True,", "\"NEGOTIATION_REQUIRED\": False,", "CETP2-5-04"),
    broken(
        "deduplication.py",
        "if (row[\"tool\"], row[\"args_sha256\"]) != (request.tool_name, request.args_sha256):",
        "if row[\"tool\"] != request.tool_name:",
        "CETP2-6-03",
    ),
    broken(
        "deduplication.py",
        "RETENTION_MS = LIMITS[\"idempotency_window_seconds\"] * 1000 + 3_600_000",
        "RETENTION_MS = LIMITS[\"idempotency_window_seconds\"] * 1000 - 2_000",
        "CETP2-6-05",
    ),
];

fn provider() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("examples/python-provider")
}

/// A copy of the provider with one line changed.
fn copy(to: &Path, change: Option<&Break>) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(provider()).unwrap().map(Result::unwrap).filter(|f| f.path().is_file()) {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    if let Some(Break { file, line, becomes, .. }) = change {
        let path = to.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let hits = text.lines().filter(|l| l.trim_start() == *line).count();
        assert_eq!(hits, 1, "{file} has the line {hits} times: {line}");
        let changed: Vec<String> = text
            .lines()
            .map(|l| if l.trim_start() == *line { l.replace(line, becomes) } else { l.to_owned() })
            .collect();
        std::fs::write(&path, changed.join("\n") + "\n").unwrap();
    }
}

fn run(target: &Path, report: &Path, requirements: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cetp-conformance"));
    command.arg("run").arg("--target").arg(target.join("target.toml")).arg("--report").arg(report);
    for id in requirements {
        command.args(["--requirement", id]);
    }
    command.output().unwrap()
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn each_broken_line_fails_the_run_and_its_requirement_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut ids: Vec<&str> = BREAKS.iter().map(|one| one.requirement).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), BREAKS.len(), "each line is about a requirement of its own");

    // As it is, the provider passes the same vectors.
    let whole = folder.path().join("whole");
    copy(&whole, None);
    let output = run(&whole, &folder.path().join("whole-report"), &ids);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));

    for (n, one) in BREAKS.iter().enumerate() {
        let place = folder.path().join(format!("broken-{n}"));
        copy(&place, Some(one));
        let report = folder.path().join(format!("report-{n}"));
        let output = run(&place, &report, &[one.requirement]);
        let said = words(&output);
        let what = format!("{}: {}\n{said}", one.file, one.becomes);
        assert_eq!(output.status.code(), Some(1), "{what}");
        assert!(said.contains(&format!("{} (§", one.requirement)), "its text is not shown: {what}");
        let json: Json = serde_json::from_slice(&std::fs::read(report.join("report.json")).unwrap()).unwrap();
        let rows = json["results"].as_array().unwrap();
        let failed: Vec<&Json> = rows.iter().filter(|row| row["outcome"] == "fail").collect();
        assert!(!failed.is_empty(), "{what}");
        assert!(rows.iter().all(|row| row["outcome"] != "error"), "the break is no crash: {what}");
        for row in failed {
            let named = row["failed_requirements"].as_array().is_some_and(|ids| ids.contains(&one.requirement.into()));
            assert!(named, "{} blames {}: {what}", row["vector"], row["failed_requirements"]);
        }
    }
}
