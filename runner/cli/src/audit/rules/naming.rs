//! Names and descriptions (§3.2).

use crate::audit::finding::{Desk, quoted};
use crate::audit::tool::{Form, Provider, Tool};
use crate::audit::words::{Words, is_han, is_verb, tokens};

/// Words that say no business: a name of nothing but them fits any tool.
const GENERAL: Words = Words(
    "run execute exec call do tool api manage manager process action perform handle handler invoke operate operation \
     task work use util utils helper command data function method service general generic thing stuff main any \
     anything all it item object entity resource apply crud",
);

/// Acts without an object: alone they are as general, and add nothing to a general word.
const BARE: Words =
    Words("search query request get set fetch create update delete list find read write send submit start stop check");

/// TC-01.
pub fn name(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    const DO: &str = "Name the business action: a verb and its object, as in search_catalog.";
    // A Chinese name has no spaces to tell its words by.
    if tool.name.chars().any(is_han) {
        return;
    }
    let words = tokens(&tool.name);
    let shown = quoted(&tool.name);
    if words.is_empty() {
        desk.finding("/name", format!("The name {shown} has no word in it."), DO);
    } else if general(&words) {
        desk.finding("/name", format!("The name {shown} is general: it fits any tool."), DO);
    } else if words.len() == 1 {
        let what =
            if is_verb(&words[0]) { "says an act and not on what" } else { "is one word: no verb with its object" };
        desk.hint("/name", format!("The name {shown} {what}."), DO);
    }
}

fn general(words: &[String]) -> bool {
    let plain = |word: &String| GENERAL.has(word);
    let bare = |word: &String| BARE.has(word);
    words.iter().all(|word| plain(word) || bare(word)) && (words.len() == 1 || words.iter().any(plain))
}

/// Signs of each thing that a description says, in small letters.
struct Says {
    /// The thing.
    what: &'static str,
    /// Parts of texts that say it, with bars between them.
    signs: &'static str,
}

const NEGATIVE: &str = " no |do not|don't|does not|doesn't|not for|never|cannot|can't|instead of|rather than|only for|without |\
            isn't|is not|are not|won't|will not|not to be|不要|不适合|不用于|不能|请勿|勿|不会|不可|\
            不得|不包含|不包括|不返回|不发送|不适用|不支持|不修改|不改变|不创建|\
            不提供|并非|仅|无法";

const SAYS: &[Says] = &[
    Says {
        what: "when to use it",
        signs: "when |use this|use it|use for|used for|used to|for use|if you|if the|once |before |after |whenever|\
            suitable for|helps |needs to|need to|to be used|当|时使用|用于|需要|适合|适用|的时候|\
            在此|之前|之后|用来",
    },
    Says { what: "when not to use it", signs: NEGATIVE },
    Says {
        what: "what it returns",
        signs: "return|gives |yields|produces|result|output|responds|answers with|reports |lists |shows |返回|结果|\
            给出|输出|列出|得到",
    },
];

/// Frequent English words; a text of some length that has none of them is in another language.
const ENGLISH: Words = Words(
    "the a an of to and in for is it with by or from this that on as when what its are be not which one all your no \
     at into",
);

/// TC-02.
pub fn description(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    const DO: &str = "Say when to use the tool, when not to, what it returns and what it does not, and whether it has a side effect.";
    let text = tool.text("description").trim();
    if text.is_empty() {
        let pointer = if tool.descriptor.get("description").is_some() { "/description" } else { "" };
        desk.finding(pointer, "There is no description.", DO);
        return;
    }
    let same = |other: &str| !other.is_empty() && tokens(other) == tokens(text);
    if same(&tool.name) || (same(tool.text("title")) && tokens(text).len() < 3) {
        desk.finding("/description", format!("The description {} only repeats the name.", quoted(text)), DO);
        return;
    }
    let lower = format!(" {} ", text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "));
    let words = tokens(&lower);
    let chinese = lower.chars().any(is_han);
    let english = words.iter().any(|word| ENGLISH.has(word));
    let latin = lower.chars().filter(|c| c.is_alphabetic()).all(|c| c.is_ascii());
    if !chinese && (!latin || (words.len() > 5 && !english)) {
        desk.unjudged("the description is neither English nor Chinese: this audit does not read it");
        return;
    }
    let mut missing: Vec<&str> = Vec::new();
    for says in SAYS {
        if !says.signs.split('|').any(|sign| lower.contains(sign)) {
            missing.push(says.what);
        }
    }
    if !missing.is_empty() {
        let form = if tool.form == Form::V1 { " Consumers of v1 have nothing else to go by." } else { "" };
        let seen = format!("The description does not seem to say {}.{form}", listed(&missing));
        desk.hint("/description", seen, DO);
    }
}

/// `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}
