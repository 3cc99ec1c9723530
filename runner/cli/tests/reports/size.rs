//! The page of a large run stays small enough to be mailed.

use crate::rig::SIGNED;
use cetp_reports::check::check;
use cetp_reports::html::{Language, MOST_BYTES, html};
use cetp_reports::markdown;
use cetp_reports::model::Packed;
use cetp_reports::read;
use cetp_reports::view::View;
use cetp_vectors::load::Catalogue;
use cetp_vectors::machine::Answer;
use cetp_vectors::transcript::Transcript;
use serde_json::json;

/// 600 vectors, each with 60 messages of some length, half of which failed.
#[test]
fn six_hundred_vectors_with_transcripts_stay_below_five_megabytes() {
    let mut catalogue = Catalogue::embedded();
    let text = std::fs::read(SIGNED.path("report.json")).unwrap();
    let mut report = read::report(&text).unwrap();
    let judged = check(&report, &catalogue, env!("CARGO_PKG_VERSION")).unwrap();
    let with_transcript: Vec<usize> = (0..judged.len()).filter(|n| report.results[*n].transcript.is_some()).collect();
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    let vectors = std::mem::take(&mut catalogue.vectors);
    for n in 0..600 {
        let from = with_transcript[n % with_transcript.len()];
        let mut row = report.results[from].clone();
        let mut vector = vectors.iter().find(|vector| vector.id == row.vector).unwrap().clone();
        row.vector = format!("{}-{n:03}", row.vector);
        vector.id.clone_from(&row.vector);
        let mut transcript = Transcript::from_json(&row.transcript.unwrap().json()).unwrap();
        let entries = transcript.entries.clone();
        transcript.entries = entries.iter().cycle().take(60).cloned().collect();
        for (n, entry) in transcript.entries.iter_mut().enumerate() {
            entry.at = format!("{n}");
            if let Answer::Result(result) = &mut entry.answer {
                result["bundle"]["more"] = json!({"string": "abcdefghij".repeat(200)});
            }
        }
        row.transcript = Some(Packed::new(&transcript.to_json()));
        catalogue.vectors.push(vector);
        rows.push(row);
        all.push(judged[from].clone());
    }
    catalogue.vectors.sort_by(|a, b| a.id.cmp(&b.id));
    report.results = rows;
    let view = View { report: &report, judged: &all, catalogue: &catalogue, signer: None, sha256: "" };
    let page = html(&view, Language::Readers);
    assert!(page.len() <= MOST_BYTES, "{} bytes", page.len());
    assert!(page.len() > MOST_BYTES / 8, "little of it is shown: {} bytes", page.len());
    assert_eq!(page.matches("<details class=\"v ").count(), 600);
    assert!(markdown::summary(&view).len() <= markdown::MOST_BYTES);
}
