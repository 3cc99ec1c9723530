//! stub
/// Language
pub enum Language {
    /// e
    English,
    /// c
    Chinese,
    /// r
    Readers,
}
/// x
pub fn html(_: &crate::view::View<'_>, _: Language) -> String {
    String::new()
}
