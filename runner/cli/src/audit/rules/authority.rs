//! Neither identity nor secrets by argument (§4.2, §6.1, §14.2).

use crate::audit::finding::{Desk, Severity, quoted};
use crate::audit::shape::{Value, values};
use crate::audit::tool::{Provider, Tool};
use crate::audit::words::{Words, singular, tokens};
use regex::Regex;
use std::sync::LazyLock;

/// Parameters by which a caller would say who it is or what it may.
const IDENTITY: Words = Words(
    "is_admin admin is_superuser is_root is_owner is_staff as_admin caller caller_id caller_uid calling_user \
     on_behalf_of behalf_of acting_user acting_as act_as run_as as_user impersonate impersonate_user sudo principal \
     principal_id privileges privilege_level access_level auth_level elevated user_role current_user current_user_id \
     authenticated_user actor_id requester_id bypass_auth skip_auth my_user_id is_authorized authorized approved_by \
     x_user_id session_user 管理员 角色",
);

/// Parameters that do so unless the tool is about users.
const SUBJECT: Words = Words("user_id userid uid user_name username user role roles permissions");

/// Words in the name of a tool whose object is somebody: then a user or role is what it is about.
const SOMEBODY: Words = Words(
    "user member role account profile person people contact employee customer collaborator invite grant revoke assign \
     permission team group follower friend author student owner participant staff login client patient subscriber job \
     candidate actor",
);

/// TC-15.
pub fn identity(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    const DO: &str =
        "Take it out: who calls and what they may comes from the authenticated caller, never from an argument.";
    let Some((pointer, schema)) = tool.input() else { return };
    let about_somebody = tokens(&tool.name).iter().any(|word| SOMEBODY.has(&singular(word)));
    for value in values(pointer, schema).list.iter().filter(|value| !value.name.is_empty() && !value.alternative) {
        let name = tokens(&value.name).join("_");
        if IDENTITY.has(&name) {
            desk.finding(&value.pointer, format!("{} says who the caller is or what it may.", quoted(&value.name)), DO);
        } else if SUBJECT.has(&name) && value.depth == 1 && !about_somebody {
            let plain = ["user_id", "userid", "role"].contains(&name.as_str());
            let severity = if plain { Severity::Finding } else { Severity::Hint };
            let seen =
                format!("{} looks like the caller's own, as the tool's name is about nobody.", quoted(&value.name));
            desk.say(severity, &value.pointer, seen, DO);
        }
    }
}

/// Last words of the names of secrets.
const SECRET: Words = Words(
    "password passwd pwd passphrase passcode secret cookie jwt credential otp cvv apikey cvc privatekey accesstoken \
     authtoken 密码 口令 密钥 令牌",
);

/// What makes a secret of a key.
const KEYS: Words = Words("api access secret private signing encryption auth ssh master service license");

/// What makes a secret of a token.
const TOKENS: Words = Words(
    "auth access refresh bearer id session user security bot oauth api personal login csrf admin app github slack",
);

/// Whether the name of a value is that of a secret. `max_tokens` and `page_token` are none, nor is `password_policy`.
fn names_secret(name: &str) -> bool {
    let words = tokens(name);
    let Some(last) = words.last() else { return false };
    let before = words.len().checked_sub(2).map(|n| words[n].as_str());
    let asked = ["has", "is", "require", "requires", "needs", "use", "with", "show", "no", "reset"];
    if words.len() > 1 && asked.contains(&words[0].as_str()) {
        return false;
    }
    let one = singular(last);
    match last.as_str() {
        "token" => before.is_none_or(|word| TOKENS.has(word)),
        "key" | "keys" => before.is_some_and(|word| KEYS.has(word)),
        "authorization" => words.len() == 1 || before == Some("http"),
        _ => SECRET.has(&one) || SECRET.has(last),
    }
}

/// Whether a value can carry a secret.
fn carries(value: &Value<'_>) -> bool {
    let types = value.types();
    let number = ["otp", "cvv", "cvc"].iter().any(|word| tokens(&value.name).iter().any(|said| said == word));
    !value.is_listed()
        && (types.is_empty()
            || types.iter().any(|name| ["string", "object", "array"].contains(name))
            || (number && types.contains(&"integer")))
}

/// Texts that are secrets.
static SECRETS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let forms = [
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----", "a private key"),
        (r"\bAKIA[0-9A-Z]{16}\b", "an access key"),
        (r"\bgh[pousr]_[A-Za-z0-9]{36,}", "an access token"),
        (r"\bxox[abprs]-[A-Za-z0-9-]{10,}", "an access token"),
        (r"\bsk-[A-Za-z0-9_-]{20,}", "an API key"),
        (r"\bAIza[A-Za-z0-9_-]{35}", "an API key"),
        (r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", "a signed token"),
        (r"(?i)\bbearer\s+[a-z0-9._~+/-]{20,}", "a bearer token"),
        (
            r#"(?i)\b(?:password|passwd|api[_-]?key|secret|token)\s*[=:]\s*["']?[A-Za-z0-9+/_-]*[0-9][A-Za-z0-9+/_-]{7,}"#,
            "a secret",
        ),
        (r"(?i)://[^/\s:@]+:[^/\s:@]{3,}@", "an address with a password"),
    ];
    forms.map(|(form, what)| (Regex::new(form).expect("a regular expression of this file"), what)).into()
});

/// TC-16.
pub fn secrets(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    if let Some((pointer, schema)) = tool.input() {
        for value in values(pointer, schema).list.iter().filter(|value| !value.alternative && carries(value)) {
            if names_secret(&value.name) {
                let seen = format!("{} is a secret, and the model would have to know it.", quoted(&value.name));
                desk.finding(
                    &value.pointer,
                    seen,
                    "Take it out: the provider holds credentials, with least scope and a short life.",
                );
            }
        }
    }
    if let Some((pointer, schema)) = tool.output() {
        for value in values(pointer, schema).list.iter().filter(|value| !value.alternative && carries(value)) {
            if names_secret(&value.name) {
                let seen = format!("The result has {}, which would come before the model.", quoted(&value.name));
                desk.hint(&value.pointer, seen, "Leave it out of the result, or give a reference to it.");
            }
        }
    }
    super::injection::each_text(&tool.descriptor, &mut |found| {
        if let Some((_, what)) = SECRETS.iter().find(|(form, _)| form.is_match(found.text)) {
            // It is not repeated: a report must not spread it.
            desk.finding(
                &found.pointer(),
                format!("The text holds what looks like {what}."),
                "Take it out, and change it: it is known now.",
            );
        }
    });
}
