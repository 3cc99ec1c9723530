//! Taking secrets out of everything before it is written. The main type is [`Redactor`].
//!
//! In the place of a secret stands `[redacted NAME]`, so that a reader sees that something was taken out. It is taken out of
//! whole transcripts, requests and answers alike: what a vector captures and sends back is then the same in both, and the
//! transcript can still be judged. Where it cannot (the secret's length or digest was judged), [`Redactor::judged`] says so.

use crate::error::ReportError;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use cetp_vectors::expr::hex;
use cetp_vectors::judge::{Judgement, judge};
use cetp_vectors::machine::Answer;
use cetp_vectors::model::Vector;
use cetp_vectors::transcript::{Ended, Entry, Transcript};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Takes secrets out. Without secrets it changes nothing.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Every form of every secret with the marker that takes its place, longest first.
    needles: Vec<(String, String)>,
    /// The secrets themselves, for texts that were cut in the middle of one.
    secrets: Vec<(String, String)>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.secrets.iter().map(|(marker, _)| marker)).finish()
    }
}

/// A shorter secret would be found by chance in what is none.
pub const SHORTEST: usize = 6;

/// So much of the beginning or end of a secret is taken out where a text was cut.
const SHORTEST_PART: usize = 4;

/// Encoded forms shorter than this are not looked for.
const SHORTEST_ENCODED: usize = 10;

/// What stands in the place of a secret.
pub fn marker(name: &str) -> String {
    format!("[redacted {name}]")
}

impl Redactor {
    /// A redactor of secrets, each a name and its value.
    ///
    /// # Errors
    /// A secret that is too short to be found for certain.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Result<Redactor, ReportError> {
        let mut redactor = Redactor::default();
        for (name, value) in secrets {
            if value.len() < SHORTEST {
                let message =
                    format!("the secret {name} is shorter than {SHORTEST} bytes: it would be found everywhere");
                return Err(ReportError::Demand(message));
            }
            let marker = marker(&name);
            redactor.needles.extend(forms(&value).into_iter().map(|form| (form, marker.clone())));
            redactor.secrets.push((marker, value));
        }
        redactor.needles.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        Ok(redactor)
    }

    /// Whether there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// A text without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        loop {
            let found =
                self.needles.iter().filter_map(|(form, marker)| Some((rest.find(form.as_str())?, form, marker)));
            // The first, and of those at one place the longest, which comes first in the list.
            let Some((at, form, marker)) = found.min_by_key(|(at, ..)| *at) else {
                out.push_str(rest);
                return out;
            };
            out.push_str(&rest[..at]);
            out.push_str(marker);
            rest = &rest[at + form.len()..];
        }
    }

    /// A text for people that may have been cut at either end: a part of a secret there is taken out too.
    pub fn cut_text(&self, text: &str) -> String {
        let mut out = self.text(text);
        for (marker, secret) in &self.secrets {
            let starts = secret.char_indices().map(|(n, _)| n).skip(1);
            let tails = starts.map(|n| &secret[n..]).filter(|part| part.len() >= SHORTEST_PART);
            if let Some(tail) = tails.into_iter().find(|tail| out.starts_with(*tail)) {
                out.replace_range(..tail.len(), marker);
            }
            let body = out.trim_end_matches('…').len();
            let ends = secret.char_indices().map(|(n, _)| n).rev();
            let heads = ends.map(|n| &secret[..n]).filter(|part| part.len() >= SHORTEST_PART);
            if let Some(head) = heads.into_iter().find(|head| out[..body].ends_with(*head)) {
                out.replace_range(body - head.len()..body, marker);
            }
        }
        out
    }

    /// A value without secrets, in names of members too.
    pub fn json(&self, json: &Json) -> Json {
        match json {
            Json::String(text) => Json::String(self.text(text)),
            Json::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Json::Object(members) => {
                Json::Object(members.iter().map(|(name, value)| (self.text(name), self.json(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// A transcript without secrets.
    pub fn transcript(&self, transcript: &Transcript) -> Transcript {
        let mut out = transcript.clone();
        out.start.target = self.json(&out.start.target);
        out.entries = transcript.entries.iter().map(|entry| self.entry(entry)).collect();
        for request in &mut out.incoming {
            request.params = self.json(&request.params);
            request.answer = self.json(&request.answer);
        }
        out.ended = transcript.ended.as_ref().map(|e| Ended { at: e.at.clone(), why: self.cut_text(&e.why) });
        out
    }

    fn entry(&self, entry: &Entry) -> Entry {
        let answer = match &entry.answer {
            Answer::Result(result) => Answer::Result(self.json(result)),
            Answer::Refused { code, message } => Answer::Refused { code: *code, message: self.cut_text(message) },
            Answer::Broken { kind, why } => Answer::Broken { kind: *kind, why: self.cut_text(why) },
            Answer::Unread => Answer::Unread,
        };
        Entry { params: self.json(&entry.params), answer, ..entry.clone() }
    }

    /// A transcript without secrets and the judgement that it leads to. Where it leads to another outcome than the live one,
    /// or to none, the verdict rests on a secret and nobody could check it: then the reason for which it is nobody's.
    ///
    /// # Errors
    /// That reason.
    pub fn judged(
        &self,
        vector: &Vector,
        transcript: Transcript,
        live: Judgement,
    ) -> Result<(Transcript, Judgement), String> {
        let redacted = self.transcript(&transcript);
        if redacted == transcript {
            return Ok((transcript, live));
        }
        match judge(vector, &redacted) {
            Ok(again)
                if again.outcome == live.outcome
                    && again.judged == live.judged
                    && again.failed_requirements() == live.failed_requirements()
                    && again.warned_requirements() == live.warned_requirements() =>
            {
                Ok((redacted, again))
            }
            _ => Err(format!(
                "the verdict ({}) rests on a value that is secret: without it the transcript cannot be judged again, so it \
                 is not kept, and the verdict is nobody's",
                live.outcome.name()
            )),
        }
    }

    /// How often each secret was taken out of a text.
    pub fn count(&self, text: &str) -> BTreeMap<String, u64> {
        let names: BTreeSet<&str> = self.secrets.iter().map(|(marker, _)| marker.as_str()).collect();
        let name = |marker: &str| marker.trim_start_matches("[redacted ").trim_end_matches(']').to_owned();
        let count = |marker: &str| u64::try_from(text.matches(marker).count()).unwrap_or(u64::MAX);
        names.into_iter().map(|marker| (name(marker), count(marker))).collect()
    }
}

/// The forms in which a secret can occur: as it is, inside JSON as the usual writers escape it, and encoded.
fn forms(secret: &str) -> Vec<String> {
    let quoted = Json::String(secret.to_owned()).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let mut utf16 = [0; 2];
    let unicode =
        |c: char| -> String { c.encode_utf16(&mut utf16).iter().map(|unit| format!("\\u{unit:04x}")).collect() };
    let mut unicode = unicode;
    let ascii: String = escaped.chars().map(|c| if c.is_ascii() { c.to_string() } else { unicode(c) }).collect();
    let mut forms = vec![secret.to_owned()];
    for form in [escaped, ascii] {
        forms.push(form.replace('/', "\\/"));
        // JSON inside JSON: `args` and `data` are texts in a message.
        let again = Json::String(form.clone()).to_string();
        forms.push(again[1..again.len() - 1].to_owned());
        forms.push(form);
    }
    let hex = hex(secret.as_bytes());
    let mut encoded = vec![hex.to_uppercase(), hex];
    for shift in 0..3 {
        // The characters that depend on the secret alone, whatever stands before and behind it.
        let bytes = [vec![0; shift], secret.as_bytes().to_vec()].concat();
        let (from, to) = ((8 * shift).div_ceil(6), 8 * bytes.len() / 6);
        encoded.push(STANDARD_NO_PAD.encode(&bytes)[from..to].to_owned());
        encoded.push(URL_SAFE_NO_PAD.encode(&bytes)[from..to].to_owned());
    }
    forms.extend(encoded.into_iter().filter(|form| form.len() >= SHORTEST_ENCODED));
    forms.sort();
    forms.dedup();
    forms
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    fn redactor(secret: &str) -> Redactor {
        Redactor::new([("TOKEN".to_owned(), secret.to_owned())]).unwrap()
    }

    #[test]
    fn no_form_of_a_secret_is_left() {
        let secret = "pa/ss \"wört\" 9";
        let redactor = redactor(secret);
        let inner = json!({ "k": secret, secret: 1 }).to_string();
        let twice = json!({ "text": inner }).to_string();
        let ascii = "x pa/ss \\\"w\\u00f6rt\\\" 9 y";
        for text in [secret, &inner, &twice, ascii, "pa\\/ss \\\"wört\\\" 9"] {
            let out = redactor.text(text);
            assert!(out.contains("[redacted TOKEN]") && !out.contains("ss ") && !out.contains(" 9"), "{out}");
        }
        for before in ["", "a", "ab", "abc"] {
            let encoded = STANDARD.encode(format!("{before}{secret}tail"));
            assert!(redactor.text(&encoded).contains("[redacted TOKEN]"), "{encoded}");
        }
    }

    #[test]
    fn a_part_at_a_cut_is_taken_out() {
        let redactor = redactor("correct-horse");
        assert_eq!(redactor.cut_text("horse and more"), "[redacted TOKEN] and more");
        assert_eq!(redactor.cut_text("it wrote correct-h…"), "it wrote [redacted TOKEN]…");
        assert_eq!(redactor.cut_text("nothing of the kind"), "nothing of the kind");
    }

    #[test]
    fn its_debug_form_tells_nothing() {
        assert_eq!(format!("{:?}", redactor("correct-horse")), "[\"[redacted TOKEN]\"]");
    }

    #[test]
    fn short_secrets_are_refused() {
        assert!(Redactor::new([("PIN".to_owned(), "1234".to_owned())]).is_err());
    }
}
