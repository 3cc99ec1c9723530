//! `report verify` and `keygen`.

use crate::rig::{FEW, SIGNED, cetp, refused, text};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn says_who_signed_what_was_tested_and_what_follows() {
    let public = SIGNED.path("key.pub.pem");
    let said = cetp(&["report", "verify", SIGNED.folder(), "--key", text(&public)], 0);
    for part in
        ["signed by  SHA256:", "cetp-reference", "provider, reached by in-process", "again from their transcripts"]
    {
        assert!(said.contains(part), "{part:?} is missing in:\n{said}");
    }
    assert!(said.contains("A signature shows who vouches for the transcripts, not that they took place."), "{said}");
}

#[test]
fn subjects_are_compared_with_files() {
    let public = SIGNED.path("key.pub.pem");
    let tested = crate::rig::BINARY;
    let said = cetp(&["report", "verify", SIGNED.folder(), "--key", text(&public), "--subject", tested], 0);
    assert!(said.contains("(the file that was given)"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("cetp-conformance");
    std::fs::write(&other, "another").unwrap();
    let said = refused(&["report", "verify", SIGNED.folder(), "--key", text(&public), "--subject", text(&other)], 1);
    assert!(said.contains("cetp-conformance was not tested"), "{said}");
}

#[test]
fn demands_that_do_not_hold_are_named() {
    let public = SIGNED.path("key.pub.pem");
    let verify = |more: &[&str]| {
        refused(&[["report", "verify", SIGNED.folder(), "--key", text(&public)].as_slice(), more].concat(), 1)
    };
    assert!(verify(&["--suite-version", "9.9.9"]).contains("9.9.9 is demanded"));
    assert!(verify(&["--claim", "cetp-v2-core"]).contains("cetp-v2-core is demanded"));
    assert!(verify(&["--max-age", "1ms"]).contains("nothing before"));
    cetp(&["report", "verify", SIGNED.folder(), "--key", text(&public), "--max-age", "30d"], 0);
}

#[test]
fn a_signer_must_be_among_those_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let (other, allowed) = (folder.path().join("other.pem"), folder.path().join("allowed.pem"));
    cetp(&["keygen", text(&other)], 0);
    let stranger = folder.path().join("other.pub.pem");
    let said = refused(&["report", "verify", SIGNED.folder(), "--key", text(&stranger)], 1);
    assert!(said.contains("none of the keys that were given"), "{said}");
    let pem = |path| std::fs::read_to_string(path).unwrap();
    let both = format!("# Stranger\n{}\n# The release key\n{}", pem(stranger), pem(SIGNED.path("key.pub.pem")));
    std::fs::write(&allowed, both).unwrap();
    let said = cetp(&["report", "verify", SIGNED.folder(), "--allowed", text(&allowed)], 0);
    assert!(said.contains("(The release key)"), "{said}");
}

#[test]
fn a_report_that_nobody_signed_is_taken_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(SIGNED.path("report.json"), folder.path().join("report.json")).unwrap();
    let public = SIGNED.path("key.pub.pem");
    let said = refused(&["report", "verify", text(folder.path()), "--key", text(&public)], 1);
    assert!(said.contains("is not signed"), "{said}");
    cetp(&["report", "verify", text(folder.path()), "--unsigned"], 0);
    refused(&["report", "verify", text(folder.path())], 2);
}

#[test]
fn keys_are_written_for_their_owner_alone_and_never_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    let said = cetp(&["keygen", text(&key)], 0);
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let pem = std::fs::read_to_string(&key).unwrap();
    let secret = pem.lines().nth(1).unwrap();
    assert!(!said.contains(secret), "the key is told");
    refused(&["keygen", text(&key)], 2);
    assert_eq!(std::fs::read_to_string(&key).unwrap(), pem);
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    cetp(&["keygen", text(&key)], 0);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let out = folder.path().join("out");
    let said = refused(&["run", "--report", text(&out), "--sign", text(&key)], 2);
    assert!(said.contains("others can read this private key"), "{said}");
}

#[test]
fn a_key_of_openssl_signs_from_a_variable_whose_name_no_target_sees() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let openssl = |words: &[&str]| assert!(Command::new("openssl").args(words).status().unwrap().success());
    openssl(&["genpkey", "-algorithm", "ed25519", "-out", text(&at("key.pem"))]);
    openssl(&["pkey", "-in", text(&at("key.pem")), "-pubout", "-out", text(&at("pub.pem"))]);
    let pem = std::fs::read_to_string(at("key.pem")).unwrap();
    let run = |variable: &str| {
        let mut command = crate::rig::command(&["run", "--report", text(&at("out")), FEW]);
        command.args(["--sign", &format!("env:{variable}")]).env(variable, &pem).output().unwrap()
    };
    assert_eq!(run("SIGNING_KEY").status.code(), Some(2));
    let output = run("CETP_SIGNING_KEY");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    cetp(&["report", "verify", text(&at("out")), "--key", text(&at("pub.pem"))], 0);
    let secret = pem.lines().nth(1).unwrap();
    for file in ["report.json", "report.dsse.json"] {
        assert!(!std::fs::read_to_string(at("out").join(file)).unwrap().contains(secret));
    }
    assert!(!String::from_utf8_lossy(&output.stdout).contains(secret));
}

#[test]
fn other_formats_are_refused_with_a_clear_message() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("report.json");
    for (content, words) in [
        ("{\"format\": \"cetp-conformance-report/2\"}", "its format is \"cetp-conformance-report/2\""),
        ("{\"results\": []}", "it has no format"),
        ("{\"format\": 1, \"format\": 2}", "the member \"format\" occurs twice"),
        ("{\"format\": \"cetp-conformance-report/1\"}", "missing field"),
        ("nothing", "not JSON"),
    ] {
        std::fs::write(&place, content).unwrap();
        let said = refused(&["report", "verify", text(folder.path()), "--unsigned"], 1);
        assert!(said.contains(words), "{content}: {said}");
    }
}
