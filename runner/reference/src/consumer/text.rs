//! Text of a provider that people or the agent will read (§7.3). The main function is [`shown`].
//!
//! Nothing makes such a text harmless: it stays data wherever it goes. What is done here keeps it from being endless,
//! and from not looking like what it is: characters that are invisible, that turn the direction of others around, or that
//! control a terminal, go.

/// A text as it may be shown: without characters that hide or deceive, and cut after so many.
pub fn shown(text: &str, most_chars: usize) -> String {
    let mut out = String::new();
    let mut kept = text.chars().filter(|c| !deceives(*c)).map(|c| if c.is_control() { ' ' } else { c });
    out.extend(kept.by_ref().take(most_chars));
    if kept.next().is_some() {
        out.push('…');
    }
    out
}

/// Whether a character has no picture of its own, or changes that of others.
fn deceives(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        || (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_hides_or_deceives_goes_and_the_rest_stays() {
        assert_eq!(shown("Preis für 测试 ✓", 100), "Preis für 测试 ✓");
        assert_eq!(shown("a\u{202e}b\u{200b}c\u{e0041}d\u{feff}\0\u{1b}[2Je", 100), "abcd[2Je");
        assert_eq!(shown("line\nline", 100), "line line");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(shown("测测测", 2), "测测…");
        assert_eq!(shown("测测", 2), "测测");
        assert_eq!(shown(&"x".repeat(10 << 20), 3), "xxx…");
    }
}
