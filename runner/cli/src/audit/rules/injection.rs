//! Texts that would steer a model (§8.1, §8.2): instructions, role markers, characters that nobody sees, markup, links.

use crate::audit::finding::{Desk, Severity, quoted};
use crate::audit::tool::Provider;
use crate::audit::words::Words;
use cetp_reports::text::acts;
use cetp_vectors::json::pointer_token;
use regex::Regex;
use serde_json::Value as Json;
use std::sync::LazyLock;

const DO: &str = "Take it out: a descriptor says what the tool does, and nothing to the model about anything else.";

/// A text of a value, or the name of a member.
pub struct Text<'t> {
    path: &'t [String],
    /// The text.
    pub text: &'t str,
    /// The member that holds it; empty for the name of one.
    pub member: &'t str,
}

impl Text<'_> {
    /// Its JSON Pointer. It is made where it is asked for: most texts are well.
    pub fn pointer(&self) -> String {
        self.path.iter().map(|name| format!("/{}", pointer_token(name))).collect()
    }
}

/// Calls `each` for every text of a value and every name of a member.
pub fn each_text(json: &Json, each: &mut dyn FnMut(Text<'_>)) {
    walk(json, &mut Vec::new(), each);
}

fn walk(json: &Json, path: &mut Vec<String>, each: &mut dyn FnMut(Text<'_>)) {
    match json {
        Json::String(text) => each(Text { path, text, member: path.last().map_or("", String::as_str) }),
        Json::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                path.push(n.to_string());
                walk(item, path, each);
                path.pop();
            }
        }
        Json::Object(members) => {
            for (name, member) in members {
                path.push(name.clone());
                each(Text { path, text: name, member: "" });
                walk(member, path, each);
                path.pop();
            }
        }
        _ => {}
    }
}

/// A form of text that does not belong into a descriptor.
struct Form {
    form: Regex,
    what: &'static str,
    severity: Severity,
}

/// Forms of texts, on texts without line ends and invisible characters.
static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    use Severity::{Finding, Hint};
    let forms: &[(&str, &'static str, Severity)] = &[
        // Imperatives to the model.
        (
            r"(?i)\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|my|every|of|these|those|other)\s+)*(?:previous|prior|above|earlier|preceding|former|existing|system|safety|other|security)\s+(?:\w+\s+)?(?:instruction|prompt|rule|message|context|direction|guideline|polic|restriction|tool)",
            "an instruction to ignore instructions",
            Finding,
        ),
        (
            r"(?i)\b(?:ignore|disregard|forget)\s+(?:all\s+)?(?:your|the|all)\s+(?:instructions|rules|prompts?|guidelines|training)\b",
            "an instruction to ignore instructions",
            Finding,
        ),
        (r"(?i)\bforget\s+everything\b", "an instruction to ignore instructions", Finding),
        (
            r"(?i)\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal|show|notify|alert|warn)\b[^.]{0,40}\b(?:user|human|anyone|owner)\b",
            "an instruction to keep something from the user",
            Finding,
        ),
        (
            r"(?i)\bwithout\s+(?:telling|informing|notifying|asking|alerting)\s+(?:the\s+)?(?:user|human|owner|anyone)\b",
            "an instruction to keep something from the user",
            Finding,
        ),
        (
            r"(?i)\b(?:do\s+not|don't|never)\s+(?:ask|wait)\s+(?:the\s+user\s+)?for\s+(?:\w+\s+)?(?:confirmation|approval|permission|consent)",
            "an instruction to do without the user",
            Finding,
        ),
        (
            r"(?i)\b(?:skip|bypass|omit)\s+(?:the\s+|any\s+|all\s+)?(?:\w+\s+)?(?:confirmation|approval|consent)\b",
            "an instruction to do without the user",
            Finding,
        ),
        (r"(?i)\byou\s+are\s+(?:now|no\s+longer)\b", "an instruction about what the model is", Finding),
        (
            r"(?i)\b(?:new|updated|hidden|secret)\s+(?:system\s+)?(?:instructions?|prompt)\s*:",
            "an instruction to the model",
            Finding,
        ),
        (
            r"(?i)\b(?:reveal|print|repeat|show|send|include|output|leak)\s+(?:me\s+)?(?:your|the)\s+system\s+prompt",
            "an instruction to give the system prompt away",
            Finding,
        ),
        (r"(?i)\bsystem\s+prompt\b", "words about the system prompt", Hint),
        (
            r"(?i)\bbefore\s+(?:using|calling|invoking)\s+any\s+(?:other\s+)?tools?\b",
            "an instruction about other tools",
            Finding,
        ),
        (
            r"(?i)\b(?:always|must|should)\s+(?:\w+\s+){0,2}(?:use|call|prefer|choose|invoke|select)\s+this\s+tool\b[^.]{0,40}\b(?:instead|first|over|before|always|any other|every)",
            "an instruction to prefer this tool",
            Finding,
        ),
        (
            r"(?i)\balways\s+(?:use|call|prefer|choose|invoke)\s+this\s+tool\b",
            "an instruction to prefer this tool",
            Hint,
        ),
        (r"(?i)\binstead\s+of\s+(?:any|all|every)\s+other\s+tools?\b", "an instruction to prefer this tool", Finding),
        (r"(?i)\b(?:exfiltrate|jailbreak|developer\s+mode)\b", "words of an attack", Finding),
        (r"(?i)(?:~|/home/\w+|/root)/\.(?:ssh|aws|gnupg|netrc|env)\b|\bid_rsa\b", "a place where secrets lie", Finding),
        (
            r"(?i)\b(?:as|dear)\s+an?\s+(?:ai|assistant|language\s+model)\b[^.]{0,20}\b(?:must|should|need)\b|\b(?:the\s+)?(?:ai|assistant|model|agent|llm)\s+(?:must|has\s+to|is\s+required\s+to)\s+(?:\w+\s+)?(?:send|call|read|include|upload|forward|use|obey|follow|execute|pass)\b",
            "an instruction to the model",
            Finding,
        ),
        (
            r"(?:忽略|无视|忘记|忘掉|不要理会|不必遵守|绕过)(?:之前|以上|上述|前面|先前|此前|所有|一切|其他|其它|全部|任何|系统|安全|你|您|的|过)*(?:指令|指示|规则|提示词|提示|约束|限制|要求|命令|政策)",
            "an instruction to ignore instructions",
            Finding,
        ),
        (
            r"(?:不要|不得|不必|不能|切勿|勿|别)(?:告诉|告知|通知|提醒|让)(?:\p{Han}{0,4})?(?:用户|人类|主人)",
            "an instruction to keep something from the user",
            Finding,
        ),
        (
            r"(?:不要|不得|切勿|勿|别)(?:向|对)(?:\p{Han}{0,4})?用户(?:透露|提及|显示|说明|提起|说)",
            "an instruction to keep something from the user",
            Finding,
        ),
        (
            r"(?:跳过|绕过|省略)(?:用户|所有|任何|的)*(?:确认|审批|批准|授权)",
            "an instruction to do without the user",
            Finding,
        ),
        (
            r"(?:无需|不需要|不用|无须)(?:经过|征得|等待|请求)?(?:用户|老师|人工)(?:的)?(?:确认|同意|批准|审批)",
            "words about doing without the user",
            Hint,
        ),
        (r"你(?:现在|从现在起|已经|不再)(?:就)?是", "an instruction about what the model is", Finding),
        (r"系统提示词|系统指令", "words about the system prompt", Hint),
        (r"(?:使用|调用)(?:任何|其他|其它|所有)(?:的)?工具(?:之)?前", "an instruction about other tools", Finding),
        (
            r"(?:必须|务必|一定要|始终|总是)(?:首先|先|优先)?(?:使用|调用)(?:本|此|这个|该)工具",
            "an instruction to prefer this tool",
            Finding,
        ),
        // Markers of roles and of turns.
        (r"<\|[A-Za-z_]{2,24}\|>|\[/?INST\]|<</?SYS>>|\[/?SYSTEM\]", "a marker of a role", Finding),
        (
            r"(?i)</?(?:system|assistant|instructions?|important|thinking|tool_call|tool_result|function_calls?|function_results?|user_message|developer|antml:\w+)\s*>",
            "a marker of a role",
            Finding,
        ),
        (
            r"(?i)(?:^|\n)\s*(?:#+\s*)?(?:system|assistant|developer|human)\s+(?:prompt|message|instructions?|note)?\s*[:：]|(?:^|\n)\s*#+\s*(?:system|assistant|developer|human)\s*(?:\n|$)",
            "a marker of a role",
            Finding,
        ),
        (r"(?i)(?:^|\n)\s*(?:assistant|human|developer)\s*[:：]", "a marker of a role", Finding),
        (r"(?i)(?:^|\n)\s*system\s*[:：]", "what may be a marker of a role", Hint),
        (r"(?:^|\n)\s*(?:系统|助手|开发者)(?:消息|提示|指令)?[:：]", "a marker of a role", Finding),
        // Markup.
        (
            r"(?i)<!--|</?(?:script|iframe|img|style|object|embed|svg|link|meta|html|body|div|span|form|input|button|video|audio|details|marquee|base)(?:\s[^<>]*)?/?>|<a\s[^<>]*href",
            "markup",
            Finding,
        ),
        (
            r"!\[[^\]]*\]\([^)]*\)|\[[^\]]+\]\((?:https?:|data:|javascript:|//)[^)]*\)",
            "a link or picture in markup",
            Finding,
        ),
        // Links.
        (r"(?i)\b(?:javascript|vbscript):\S|\bdata:text/html|\bfile://\S", "a link that acts", Finding),
        (
            r"(?i)\b(?:visit|open|follow|click|go\s+to|navigate\s+to|download|fetch|load|see\s+instructions\s+at|read\s+instructions\s+(?:at|from))\s+(?:\w+\s+){0,3}https?://|(?:访问|打开|点击|前往|下载)(?:\p{Han}{0,6})?\s*https?://",
            "a link to follow",
            Finding,
        ),
    ];
    let compiled = forms.iter().map(|(form, what, severity)| Form {
        form: Regex::new(form).unwrap_or_else(|error| panic!("a regular expression of this file: {error}")),
        what,
        severity: *severity,
    });
    compiled.collect()
});

static LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)\bhttps?://(?:[^\s/@]*@)?([^\s/:?#"'<>()]+)"#).expect("a regular expression of this file")
});

/// Members whose texts are no prose: a link or a bracket in them is what they are for.
const NO_PROSE: Words = Words("pattern $schema $id $ref $dynamicRef schema_dialect format");

/// TC-17.
pub fn texts(provider: &Provider, desk: &mut Desk<'_>) {
    each_text(&provider.info, &mut |text| look(desk, &text));
    for tool in &provider.tools {
        let mut desk = desk.of(tool);
        each_text(&tool.descriptor, &mut |text| look(&mut desk, &text));
    }
}

fn look(desk: &mut Desk<'_>, found: &Text<'_>) {
    let Text { text, member, .. } = *found;
    let unseen = unseen(text);
    if let Some(c) = unseen.first() {
        let count = unseen.len();
        let more = if count > 1 { format!(", and {} more like it", count - 1) } else { String::new() };
        let seen = format!(
            "The text holds U+{:04X}{more}, which a reader does not see or which turns text around.",
            *c as u32
        );
        desk.finding(&found.pointer(), seen, "Take it out.");
    }
    if NO_PROSE.has(member) {
        return;
    }
    // What hides between letters must not hide the words.
    let plain: String = text.chars().filter(|c| !unseen.contains(c)).collect();
    let mut told: Vec<&str> = Vec::new();
    for form in FORMS.iter() {
        if told.contains(&form.what) {
            continue;
        }
        if let Some(words) = form.form.find(&plain) {
            told.push(form.what);
            let seen = format!("The text holds {}: {}.", form.what, quoted(words.as_str().trim()));
            desk.say(form.severity, &found.pointer(), seen, DO);
        }
    }
    let linked = told.iter().any(|what| what.contains("link"));
    let foreign = |host: &str| !reserved(host);
    if !linked
        && let Some(host) =
            LINK.captures_iter(&plain).filter_map(|link| link.get(1)).map(|m| m.as_str()).find(|h| foreign(h))
    {
        let seen = format!("The text holds a link to {}.", quoted(host));
        desk.hint(&found.pointer(), seen, "Leave links out of what a model reads; example.org is for examples.");
    }
}

/// Names that are kept for examples and this machine (RFC 2606, RFC 6761), and those of JSON Schema's dialects.
fn reserved(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_lowercase();
    let ends = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    ["example.com", "example.org", "example.net", "example", "test", "invalid", "localhost", "json-schema.org"]
        .iter()
        .any(|d| ends(d))
        || host == "127.0.0.1"
        || host.starts_with(['{', '<', '$'])
}

/// The characters of a text that nobody sees, or that turn its direction. Where a script or an emoji needs one it is none.
fn unseen(text: &str) -> Vec<char> {
    let chars: Vec<char> = text.chars().collect();
    let rtl =
        chars.iter().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'));
    let mut out = Vec::new();
    for (n, c) in chars.iter().enumerate() {
        let before = n.checked_sub(1).map(|n| chars[n]);
        let after = chars.get(n + 1).copied();
        let hides = (acts(*c) && !matches!(c, '\t' | '\r'))
            || matches!(
                c,
                '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            )
            || matches!(c, '\u{fe00}'..='\u{fe0e}' | '\u{e0080}'..='\u{e0fff}' | '\u{2800}')
            || (*c == '\u{fe0f}' && !before.is_some_and(pictured));
        let needed = match c {
            // Joiners: within an emoji, and between letters of scripts that join.
            '\u{200d}' | '\u{200c}' => {
                let emoji = before.is_some_and(pictured) && after.is_some_and(pictured);
                let letters =
                    |c: Option<char>| c.is_some_and(|c| matches!(c, '\u{600}'..='\u{dff}' | '\u{fb50}'..='\u{fefc}'));
                emoji || (letters(before) && letters(after))
            }
            // Marks of direction in a text that has both.
            '\u{200e}' | '\u{200f}' | '\u{61c}' => rtl,
            // A Japanese or Chinese variant of a sign.
            '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => before.is_some_and(crate::audit::words::is_han),
            _ => false,
        };
        if hides && !needed {
            out.push(*c);
        }
    }
    out
}

/// Whether a character can be shown as a picture, roughly.
fn pictured(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
        || matches!(
            c,
            '\u{fe0f}' | '#' | '*' | '0'
                ..='9' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        )
}
