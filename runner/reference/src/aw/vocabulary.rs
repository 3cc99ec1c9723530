//! The words of the protocol, and the shapes of its names.

/// Every event of the configuration; `describe` may declare any of them.
pub const EVENTS: [&str; 16] = [
    "session.start",
    "input.submit",
    "tool.before",
    "tool.after",
    "permission.request",
    "compact.before",
    "compact.after",
    "subagent.start",
    "subagent.stop",
    "turn.stop",
    "session.end",
    "model.before_request",
    "runtime.observed",
    "runtime.exited",
    "security.violation",
    "coverage.changed",
];

/// Every effect of the configuration.
pub const EFFECTS: [&str; 5] = ["observe", "block", "ask", "replace_input", "replace_result"];

/// The adapters whose events are known.
pub const ADAPTERS: [&str; 4] = ["qoder", "openclaw", "hermes", "qwenpaw"];

/// `request_id` and names of operations: 1 to 128 visible ASCII characters.
pub fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
}

/// `error_code` and `reason_code`: "1–128 个 ASCII 字母、数字、下划线、连字符或句点".
pub fn is_code(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// `config_revision`: "以 64 位小写十六进制表示".
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A text of so many characters; lengths count code points.
pub fn has_chars(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.chars().count())
}
