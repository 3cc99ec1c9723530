//! What names and texts say: words, verbs, and whether they say reading or writing. The main functions are [`action`] of a
//! name and [`opening`] of a text.
//!
//! It is lists of words, no understanding. Where a word is also a noun (`book`, `order`), only its place decides, and what
//! rests on that alone is marked as uncertain.

/// A list of words. As one text it can be read at a glance, and widened without a change of lines.
#[derive(Clone, Copy)]
pub struct Words(pub &'static str);

impl Words {
    /// Its words.
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }

    /// Whether a word is among them.
    pub fn has(self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }

    /// Whether one of some words is among them.
    pub fn has_any(self, words: &[String]) -> bool {
        words.iter().any(|word| self.has(word))
    }
}

/// Verbs of writing that are hardly ever nouns at the beginning of a name.
const WRITES: Words = Words(
    "create delete remove send pay add append insert write save upload submit cancel approve reject revoke grant \
     publish deploy drop erase wipe purge destroy buy sell refund withdraw reserve edit modify rename overwrite merge \
     archive restore enable disable install uninstall restart reboot reset unregister subscribe unsubscribe notify \
     broadcast forward assign unassign reopen put kill terminate ban invite clear upsert update set request reply \
     truncate announce push dismiss finalize click attach detach",
);

/// Those of them that are nouns where they do not come first: `last_update`, `data_set_info`, `pull_request_read`.
const LATER_NOUNS: Words = Words("update set request reply upload reset push click refund");

/// Verbs of writing that are nouns as often.
const MAYBE_WRITES: Words = Words(
    "book order post message transfer share schedule email mail charge deposit purchase tweet copy move register \
     import start stop place",
);

/// Verbs of writing that are nouns more often: `comment_thread`, `rate_limit`, `release_notes`.
const FAINT_WRITES: Words = Words(
    "comment record log tag label change store patch trade block pin rate close sync release fork lock unlock star",
);

/// Those of the nouns that are acts where they come last: `account_transfer`.
const LAST_ACTS: Words = Words("transfer purchase deposit");

/// Verbs that make something, of which only the annotations know whether it stays.
const MAKES: Words = Words("generate make build prepare");

/// What is sent in a name that a list of reading words has too: `email_report`.
const DOCUMENTS: Words = Words("report summary draft details info logs");

/// Verbs of reading and computing that are hardly ever nouns in a name.
const READS: Words = Words(
    "get fetch find lookup retrieve read describe inspect show verify validate compare browse explore estimate \
     calculate compute convert parse hash encode decode summarize recommend analyze predict translate resolve detect \
     suggest is has can simulate echo normalize count sum round sort checksum render list search",
);

/// Those of them that are acts where they come last: `pull_request_read`, `start_time_lookup`.
const LAST_READS: Words = Words("get fetch find lookup read retrieve check view");

/// Verbs of reading that are nouns as often, and nouns that only something to be read has.
const MAYBE_READS: Words = Words(
    "query check view scan status history preview draft report download export details info summary stats quote watch \
     diff format availability catalog logs settings policy",
);

/// What says that a thing is only prepared: nothing takes effect outside.
const PREPARES: Words = Words("draft preview simulate estimate quote proposal dry mock");

/// Verbs that change nothing and read nothing: they compute from their arguments.
const COMPUTES: Words =
    Words("calculate compute convert format parse hash encode decode validate normalize sum round checksum");

/// Verbs that reach other people.
const COMMUNICATES: Words =
    Words("send post publish share notify broadcast email mail message invite reply forward tweet announce request");

/// Verbs of what is of high impact or hard to take back.
const GRAVE: Words = Words(
    "pay transfer refund purchase buy sell trade withdraw deploy delete remove wipe purge erase destroy drop truncate \
     grant revoke charge terminate uninstall",
);

/// Objects behind which an ambiguous verb is a verb: `transfer_money`, `book_table`.
const OBJECTS: Words = Words(
    "money funds amount payment table room flight ticket seat hotel appointment meeting file user to item it now",
);

/// Nouns at the end before which an update, change or import is a thing and no act.
const THINGS: Words = Words("history list status log logs info details count stats policy notes feed time times");

/// Chinese words of writing that the text and the ledger name, and their near relatives.
const HAN_WRITES: Words = Words(
    "发送 删除 创建 更新 支付 付款 转账 预订 预约 修改 新增 添加 提交 上传 发布 下单 购买 退款 取消 移除 清空 写入 新建 撤销 批准 部署 注销 群发 转发",
);

/// Chinese words of writing whose effect is grave.
const HAN_GRAVE: Words = Words("删除 支付 付款 转账 退款 清空 移除 购买 下单 部署 注销");

/// Chinese words of writing that reach other people.
const HAN_COMMUNICATES: Words = Words("发送 发布 群发 转发");

/// Chinese words of reading.
const HAN_READS: Words = Words("查询 读取 获取 列出 查看 搜索 检索 返回 核对 浏览 统计 计算 查找 显示");

/// What makes a noun of the Chinese word before it: 支付记录, 更新日志.
const HAN_NOUN_ENDS: Words = Words("记录 状态 历史 日志 信息 列表 详情 结果 时间 的 情况 次数 金额 方式 任务");

/// The words of a name, in small letters: parted by whatever is no letter or digit, and where small letters turn into large.
pub fn tokens(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (n, c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            out.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            continue;
        }
        let before = n.checked_sub(1).map(|n| chars[n]);
        let after = chars.get(n + 1);
        // getURLOf: a word begins at U and at O.
        let begins = c.is_uppercase()
            && (before.is_some_and(|b| b.is_lowercase() || b.is_ascii_digit())
                || (before.is_some_and(char::is_uppercase) && after.is_some_and(|a| a.is_lowercase())));
        if begins {
            out.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        word.extend(c.to_lowercase());
    }
    out.extend(Some(word).filter(|word| !word.is_empty()));
    out
}

/// The singular of an English noun, roughly.
pub fn singular(word: &str) -> String {
    match word {
        _ if word.len() < 4 || word.ends_with("ss") || word.ends_with("us") => word.to_owned(),
        _ if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if word.ends_with("ches") || word.ends_with("shes") || word.ends_with("xes") => {
            word[..word.len() - 2].to_owned()
        }
        _ => word.strip_suffix('s').unwrap_or(word).to_owned(),
    }
}

/// What a name or a text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What kind of act.
    pub kind: Kind,
    /// The word that says so; empty where none does.
    pub word: String,
    /// How sure that is.
    pub sure: Sure,
}

/// How sure it is that a word is a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// It is a noun as well as not: worth a guess, not a word.
    Faint,
    /// It may be a noun.
    Likely,
    /// It is hardly anything else.
    Plain,
}

/// Kinds of acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It changes something.
    Write,
    /// It reads or computes.
    Read,
    /// No known word says.
    Unknown,
}

impl Action {
    fn new(kind: Kind, word: &str, sure: Sure) -> Action {
        Action { kind, word: word.to_owned(), sure }
    }

    fn unknown() -> Action {
        Action::new(Kind::Unknown, "", Sure::Faint)
    }

    /// Whether its effect is grave.
    pub fn is_grave(&self) -> bool {
        GRAVE.has(&self.word) || HAN_GRAVE.has(&self.word)
    }

    /// Whether it reaches other people.
    pub fn communicates(&self) -> bool {
        COMMUNICATES.has(&self.word) || HAN_COMMUNICATES.has(&self.word)
    }

    /// Whether it only computes.
    pub fn computes(&self) -> bool {
        COMPUTES.has(&self.word)
    }
}

/// Whether a word is a verb of these lists, a noun or not.
pub fn is_verb(word: &str) -> bool {
    may_write(word) || may_read(word) || MAKES.has(word)
}

/// Whether a word is a verb of writing that is hardly a noun.
pub fn writes(word: &str) -> bool {
    WRITES.has(word)
}

/// Whether a word is a verb of writing, be it a noun too.
pub fn may_write(word: &str) -> bool {
    [WRITES, MAYBE_WRITES, FAINT_WRITES].iter().any(|list| list.has(word))
}

/// Whether a word is a verb of reading or computing, be it a noun too.
pub fn may_read(word: &str) -> bool {
    READS.has(word) || MAYBE_READS.has(word)
}

/// Whether a name is about something that is only prepared.
pub fn prepares(tokens: &[String]) -> bool {
    tokens.iter().any(|word| PREPARES.has(&singular(word)))
}

/// What a name says.
pub fn action(name: &str) -> Action {
    use Kind::{Read, Write};
    use Sure::{Faint, Likely, Plain};
    if name.chars().any(is_han) {
        return han(name);
    }
    let tokens = tokens(name);
    let Some(first) = tokens.first().map(String::as_str) else { return Action::unknown() };
    let rest: Vec<&str> = tokens[1..].iter().map(String::as_str).collect();
    let last = rest.last().copied();
    let ends = |list: Words| last.is_some_and(|last| list.has(last));
    let reading = rest.iter().find(|word| may_read(word)).copied();
    let writing = rest.iter().find(|word| writes(word) && !LATER_NOUNS.has(word)).copied();
    if READS.has(first) {
        return Action::new(Read, first, Plain);
    }
    if MAKES.has(first) {
        return Action::unknown();
    }
    if writes(first) {
        let thing = ends(THINGS) || ends(LAST_READS);
        return match thing {
            true if LATER_NOUNS.has(first) && ends(MAYBE_READS) => Action::new(Read, last.unwrap_or(first), Likely),
            true => Action::new(Write, first, Likely),
            false if first == "request" || first == "reset" && ends(MAYBE_READS) => Action::new(Write, first, Likely),
            false => Action::new(Write, first, Plain),
        };
    }
    if MAYBE_READS.has(first) {
        return Action::new(Read, first, if writing.is_none() { Plain } else { Likely });
    }
    if MAYBE_WRITES.has(first) || FAINT_WRITES.has(first) {
        let object = rest.iter().any(|word| OBJECTS.has(word));
        return match (reading, writing) {
            (Some(word), _) if DOCUMENTS.has(word) && COMMUNICATES.has(first) => Action::new(Write, first, Likely),
            (Some(word), _) => Action::new(Read, word, Plain),
            (None, Some(word)) => Action::new(Write, word, Plain),
            (None, None) if object || (rest.is_empty() && MAYBE_WRITES.has(first)) => Action::new(Write, first, Plain),
            (None, None) => Action::new(Write, first, if MAYBE_WRITES.has(first) { Likely } else { Faint }),
        };
    }
    // The first is the app or the object: notes_add, github_create_issue.
    if ends(LAST_READS) {
        return Action::new(Read, last.unwrap_or_default(), Plain);
    }
    let later = |word: &str| writes(word) && !LATER_NOUNS.has(word);
    let alone = if reading.is_none() && !ends(THINGS) { Plain } else { Likely };
    match (rest.first().copied(), last) {
        (Some(word), _) if READS.has(word) => Action::new(Read, word, Plain),
        (Some(word), _) if later(word) => Action::new(Write, word, alone),
        (_, Some(word)) if later(word) => Action::new(Write, word, alone),
        (_, Some(word)) if LAST_ACTS.has(word) => Action::new(Write, word, Likely),
        _ => match (reading, writing, rest.iter().find(|word| may_write(word))) {
            (Some(word), ..) => Action::new(Read, word, Plain),
            (None, Some(word), _) => Action::new(Write, word, Likely),
            (None, None, Some(word)) => Action::new(Write, word, Faint),
            (None, None, None) => Action::unknown(),
        },
    }
}

/// Whether a character is of the Han script, roughly.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// What the first clause of a title or description says with its first word: `Sends a message`, 发送消息.
pub fn opening(text: &str) -> Action {
    let text = text.trim_start();
    if text.chars().take(4).any(is_han) {
        let clause: String = text.chars().take_while(|c| !"。；，,.;：:（(\n".contains(*c)).collect();
        return han(&clause);
    }
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else { return Action::unknown() };
    let first = first.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let next = words.next().unwrap_or_default().to_lowercase();
    let determined = ["a", "an", "the", "this", "one", "all", "your", "its", "their", "any", "some"].contains(&&*next);
    let verb = base(&first);
    if READS.has(&verb) || MAYBE_READS.has(&verb) {
        return Action::new(Kind::Read, &verb, Sure::Plain);
    }
    // "Updates of the app", "Book titles" and "Order history" are no acts.
    let nounlike = !writes(&verb) || LATER_NOUNS.has(&verb);
    if nounlike && !determined {
        return Action::unknown();
    }
    if may_write(&verb) { Action::new(Kind::Write, &verb, Sure::Plain) } else { Action::unknown() }
}

/// The verb of `sends`, `modifies` or `publishes`.
pub fn base(word: &str) -> String {
    if is_verb(word) {
        return word.to_owned();
    }
    let stems = [word.strip_suffix("s"), word.strip_suffix("es"), word.strip_suffix("ed"), word.strip_suffix("d")];
    if let Some(stem) = stems.into_iter().flatten().find(|stem| is_verb(stem)) {
        return stem.to_owned();
    }
    word.strip_suffix("ies").map(|stem| format!("{stem}y")).filter(|verb| is_verb(verb)).unwrap_or(word.to_owned())
}

/// What a Chinese clause says with its first words.
fn han(clause: &str) -> Action {
    let clause: String = clause.chars().filter(|c| !c.is_whitespace()).collect();
    let place = |words: Words| {
        let found = words.iter().filter_map(|word| clause.find(word).map(|at| (at, word)));
        found.min_by_key(|(at, word)| (*at, usize::MAX - word.len()))
    };
    let write = place(HAN_WRITES).filter(|(at, word)| {
        let before = &clause[..*at];
        let after = &clause[at + word.len()..];
        let negated =
            ["不", "不要", "不会", "不能", "已", "未", "可", "可以", "勿", "待"].iter().any(|no| before.ends_with(no));
        !negated && !HAN_NOUN_ENDS.iter().any(|end| after.starts_with(end))
    });
    let sure = |at: usize| if at == 0 { Sure::Plain } else { Sure::Likely };
    match (write, place(HAN_READS)) {
        (Some((at, word)), Some((read, _))) if at < read => Action::new(Kind::Write, word, sure(at)),
        (_, Some((_, word))) => Action::new(Kind::Read, word, Sure::Plain),
        // 为指定证券创建价格提醒: a few words may come before the verb.
        (Some((at, word)), None) => Action::new(Kind::Write, word, sure(at)),
        (None, None) => Action::unknown(),
    }
}

/// The verb of writing that the first sentence of a text joins to a reading one: `Searches … and sends …`, 查询并发送.
pub fn joined(text: &str) -> Option<String> {
    let end = text.find(['。', '\n']).unwrap_or(text.len());
    let sentence = &text[..end];
    let sentence = sentence.split(". ").next().unwrap_or(sentence);
    if sentence.chars().any(is_han) {
        let opens = han(sentence).kind == Kind::Read;
        let joins = ["并", "然后", "再", "后"];
        let found = HAN_WRITES.iter().find(|word| joins.iter().any(|join| sentence.contains(&format!("{join}{word}"))));
        return found.filter(|_| opens).map(str::to_owned);
    }
    if opening(sentence).kind != Kind::Read {
        return None;
    }
    let words: Vec<String> = sentence.split_whitespace().map(|word| word.to_lowercase()).collect();
    words.windows(3).find_map(|three| {
        let [and, then, verb] = three else { return None };
        let word = match (and.as_str(), then.as_str()) {
            ("and", "then" | "also" | "automatically" | "immediately") => verb,
            ("and", word) => word,
            _ => return None,
        };
        let verb = base(word.trim_end_matches(|c: char| !c.is_alphanumeric()));
        writes(&verb).then_some(verb)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parted_into_words() {
        for (name, words) in [
            ("get_book_details", &["get", "book", "details"][..]),
            ("getBookDetails", &["get", "book", "details"]),
            ("getURLOf", &["get", "url", "of"]),
            ("notes.add-one", &["notes", "add", "one"]),
            ("HTTPGet2", &["http", "get2"]),
            ("__", &[]),
        ] {
            assert_eq!(tokens(name), words, "{name}");
        }
    }

    #[test]
    fn names_say_reading_or_writing() {
        use Kind::{Read, Unknown, Write};
        use Sure::{Faint, Likely, Plain};
        for (name, kind, sure) in [
            ("send_message", Write, Plain),
            ("sendMessage", Write, Plain),
            ("notes_add", Write, Plain),
            ("github_create_issue", Write, Plain),
            ("transfer_money", Write, Plain),
            ("book_table", Write, Plain),
            ("order_cancel", Write, Plain),
            ("delete_search", Write, Plain),
            ("create_report", Write, Plain),
            ("email_report", Write, Likely),
            ("fixture_transfer", Write, Likely),
            ("update_history", Read, Likely),
            ("start_server", Write, Likely),
            ("close_issue", Write, Faint),
            ("rate_limit", Write, Faint),
            ("phone_book", Write, Faint),
            ("last_update", Write, Faint),
            ("permission_set", Write, Faint),
            ("删除记录", Unknown, Faint),
            ("删除图书", Write, Plain),
            ("get_update", Read, Plain),
            ("get_book_details", Read, Plain),
            ("book_search", Read, Plain),
            ("order_history", Read, Plain),
            ("pull_request_read", Read, Plain),
            ("fileUploadStatus", Read, Plain),
            ("check_update", Read, Plain),
            ("list_orders", Read, Plain),
            ("payment_status", Read, Plain),
            ("generate_release_notes", Unknown, Faint),
            ("fixture_ledger", Unknown, Faint),
        ] {
            let action = action(name);
            assert_eq!((action.kind, action.sure), (kind, sure), "{name}: {action:?}");
        }
    }

    #[test]
    fn openings_say_reading_or_writing() {
        for (text, kind) in [
            ("Sends a message to a class", Kind::Write),
            ("Delete files of a folder", Kind::Write),
            ("Books a table", Kind::Write),
            ("Books of the library that match", Kind::Unknown),
            ("Updates of the app since a day", Kind::Unknown),
            ("Lists the messages that were sent", Kind::Read),
            ("发送消息到班级群", Kind::Write),
            ("支付记录", Kind::Unknown),
            ("查询可预约的图书", Kind::Read),
            ("不发送消息，只查询", Kind::Unknown),
            ("为指定证券创建价格提醒", Kind::Write),
        ] {
            assert_eq!(opening(text).kind, kind, "{text}: {:?}", opening(text));
        }
    }

    #[test]
    fn a_read_that_goes_on_to_write_is_noticed() {
        assert_eq!(joined("Searches the catalogue and sends the result").as_deref(), Some("send"));
        assert_eq!(joined("Reads the file and then deletes it.").as_deref(), Some("delete"));
        assert_eq!(joined("查询图书并发送推荐卡").as_deref(), Some("发送"));
        assert_eq!(joined("Gets name and address. Sends nothing."), None);
        assert_eq!(joined("Creates a card and sends it"), None);
    }
}
