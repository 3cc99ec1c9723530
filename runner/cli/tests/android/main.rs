//! The adapter for adb against servers and devices that are made up: what a device that is well leads to, and that a sick
//! one never leads to a verdict. The real adb server is in `android-harness/device-standin/suite.sh`.

mod fake;

use fake::{BINARY, Fake, Sick};
use serde_json::Value as Json;
use std::process::Command;
use std::time::{Duration, Instant};

const ONE: &str = "emulator-5554          device product:p model:Made_up transport_id:1\n";

/// A vector in whose middle the provider is restarted.
const RESTARTING: &str = "cetp2/provider/4.4/create-is-not-repeated-after-a-restart";

/// A vector in whose middle the fixture crashes; a target that dies or hangs there fails (§5).
const CRASHING: &str = "cetp2/provider/5/exception-becomes-internal-error";

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    /// Both texts with their lines joined, since they are wrapped for people.
    fn told(&self) -> String {
        format!("{} {}", self.out, self.err).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn assert_tells(&self, code: i32, words: &[&str]) {
        let told = self.told();
        assert_eq!(self.code, Some(code), "{told}");
        for word in words {
            assert!(told.contains(word), "no {word:?} in: {told}");
        }
    }
}

fn cetp(arguments: &[&str]) -> Ran {
    let mut command = Command::new(BINARY);
    for name in ["ADB_SERVER_SOCKET", "ANDROID_SERIAL", "ANDROID_ADB_SERVER_PORT", "ANDROID_ADB_SERVER_ADDRESS"] {
        command.env_remove(name);
    }
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Runs vectors over the fake server; what the program said, and the outcomes of the report where there is one.
fn run(fake: &Fake, android: &str, vectors: &[&str]) -> (Ran, Option<Json>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("target.toml");
    let toml = format!(
        "name = 'made-up'\nrole = 'provider'\nadapter = 'adb'\nsubjects = ['app.apk']\n[android]\nserver = '{}'\npackage = 'org.example.app'\n\
         {android}\n[limits]\nverb_ms = 3000\n",
        fake.address
    );
    std::fs::write(&file, toml).unwrap();
    std::fs::write(folder.path().join("app.apk"), "what is tested").unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.path().join("report"));
    let mut arguments = vec!["run", "--target", file, "--report", out.to_str().unwrap()];
    arguments.extend(vectors);
    let ran = cetp(&arguments);
    let report = std::fs::read(out.join("report.json")).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap());
    (ran, report)
}

fn outcome(report: &Json) -> &str {
    report["results"][0]["outcome"].as_str().unwrap()
}

#[test]
fn a_device_that_is_well_is_driven_and_left_as_it_was() {
    let fake = Fake::new(ONE, Sick::Not);
    let (ran, report) = run(&fake, "", &["cetp2/provider/6/"]);
    ran.assert_tells(0, &[]);
    let report = report.unwrap();
    assert_eq!(report["target"]["adapter"], "adb");
    assert_eq!(report["environment"]["device_model"], "Made up");
    let commands = fake.commands();
    let has = |wanted: &str| commands.iter().any(|command| command == wanted);
    assert!(has("settings put global window_animation_scale 0"), "{commands:#?}");
    // One session for all of them, though the machine has several processors.
    assert_eq!(commands.iter().filter(|command| command.starts_with("am instrument ")).count(), 1, "{commands:#?}");
    let instrument = commands.iter().find(|command| command.starts_with("am instrument ")).unwrap();
    assert!(instrument.contains("--no-hidden-api-checks -e target org.example.app"), "{instrument}");
    for restored in [
        "settings put global window_animation_scale 1.0",
        "settings put global transition_animation_scale 0.5",
        "settings delete global animator_duration_scale",
        "settings put global stay_on_while_plugged_in 7",
        "settings put global stay_on_while_plugged_in 0",
        "appops set org.cetp.driver.a SYSTEM_ALERT_WINDOW allow",
        "appops set org.cetp.driver.a SYSTEM_ALERT_WINDOW default",
    ] {
        assert!(has(restored), "{restored}: {commands:#?}");
    }
}

#[test]
fn nothing_of_the_second_package_stays_on_the_device() {
    let file = "rm -f /data/local/tmp/cetp-driver-a-second.apk";
    let fake = Fake::new(ONE, Sick::Not);
    let (ran, _) = run(&fake, "second = 'app.apk'", &["--exact", "cetp2/provider/2.2/reply-has-every-member"]);
    ran.assert_tells(0, &[]);
    let commands = fake.commands();
    let last = |wanted: &str| commands.iter().rposition(|command| command == wanted);
    // The last vector may have been one in which driver a had it.
    assert!(last("pm uninstall org.cetp.driver.a.second").is_some() && last(file).is_some(), "{commands:#?}");

    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target.toml");
    let android =
        format!("[android]\nserver = '{}'\npackage = 'org.example.app'\nsecond = 'target.toml'\n", fake.address);
    std::fs::write(&target, format!("name = 'made-up'\nrole = 'provider'\nadapter = 'adb'\n{android}")).unwrap();
    cetp(&["android", "doctor", target.to_str().unwrap()]).assert_tells(0, &["Nothing is wrong"]);
    assert_eq!(
        fake.commands().iter().filter(|command| *command == file).count(),
        2,
        "the doctor leaves nothing either"
    );
}

#[test]
fn devices_that_cannot_be_used_are_named_with_what_to_do() {
    let no_permissions = "????????????           no permissions (missing udev rules? user is in the plugdev group); \
                          see [http://developer.android.com/tools/device.html] usb:1-4 transport_id:3\n";
    for (rows, words) in [
        ("", &["no device is connected"][..]),
        ("emulator-5554          offline transport_id:1\n", &["emulator-5554", "offline", "adb reconnect"]),
        (
            "R58M                   unauthorized usb:1 transport_id:1\n",
            &["R58M", "unauthorized", "accept the question"],
        ),
        (no_permissions, &["no permissions", "udev rule"]),
        ("R58M                   recovery transport_id:1\n", &["recovery", "boot Android"]),
    ] {
        let fake = Fake::new(rows, Sick::Not);
        let (ran, report) = run(&fake, "", &[CRASHING]);
        ran.assert_tells(3, words);
        assert!(report.is_none());
        cetp(&["android", "devices", "--server", &fake.address]).assert_tells(3, words.get(1..2).unwrap_or_default());
        cetp(&["android", "doctor", "--server", &fake.address]).assert_tells(3, words);
    }
}

#[test]
fn one_row_without_permissions_does_not_hide_the_others() {
    let rows = format!("????????????           no permissions usb:1-4 transport_id:3\n{ONE}");
    let fake = Fake::new(&rows, Sick::Not);
    cetp(&["android", "devices", "--server", &fake.address]).assert_tells(0, &["emulator-5554", "????????????"]);
    let (ran, _) = run(&fake, "serial = 'emulator-5554'", &["cetp2/provider/2.2/", "--list"]);
    ran.assert_tells(0, &["cetp2/provider/2.2/"]);
}

#[test]
fn among_several_devices_a_serial_is_needed() {
    let fake = Fake::new(&format!("{ONE}R58M                   device model:Phone transport_id:2\n"), Sick::Not);
    let (ran, report) = run(&fake, "", &[CRASHING]);
    ran.assert_tells(3, &["2 devices are connected", "serial", "emulator-5554", "R58M", "Phone"]);
    assert!(report.is_none());
    let (ran, report) = run(&fake, "serial = 'emulator-5554'", &["--exact", CRASHING]);
    ran.assert_tells(0, &[]);
    assert_eq!(outcome(&report.unwrap()), "pass");
    let (ran, _) = run(&fake, "serial = 'R59'", &[CRASHING]);
    ran.assert_tells(3, &["no device \"R59\"", "R58M"]);
}

#[test]
fn a_server_that_is_sick_is_no_verdict_and_no_hang() {
    for (sick, words) in [
        (Sick::Stalled, &["did not answer within"][..]),
        (Sick::CutInReply, &["in the middle of a message"]),
        (Sick::CutInList, &["in the middle of a message"]),
        (Sick::OtherProtocol, &["is no adb server"]),
    ] {
        let fake = Fake::new(ONE, sick);
        let begun = Instant::now();
        let (ran, report) = run(&fake, "", &[CRASHING]);
        ran.assert_tells(3, words);
        assert!(report.is_none());
        assert!(begun.elapsed() < Duration::from_secs(60), "{sick:?} took {:?}", begun.elapsed());
    }
    let (ran, _) = run(&Fake::of_version("0001", ONE, Sick::Not), "", &[CRASHING]);
    ran.assert_tells(3, &["version 1", "update"]);
    let (ran, _) = run(&Fake::of_version("new!", ONE, Sick::Not), "", &[CRASHING]);
    ran.assert_tells(3, &["the version \"new!\""]);
    // Nothing to name in a report.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("target.toml");
    std::fs::write(&file, "name = 'x'\nrole = 'provider'\nadapter = 'adb'\n[android]\npackage = 'a.b'\n").unwrap();
    cetp(&["run", "--target", file.to_str().unwrap()]).assert_tells(2, &["nothing says what is tested"]);
    // Nobody listens at all.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    cetp(&["android", "devices", "--server", &port.to_string()]).assert_tells(3, &["adb start-server"]);
}

#[test]
fn a_device_on_which_the_harness_does_not_come_up_is_no_verdict() {
    for (sick, android, words) in [
        (Sick::RefusedStream, "", &["refuses", "localabstract", "closed"][..]),
        (Sick::ShellWithoutEnd, "boot_ms = 3000", &["before", "came to its end"]),
        (Sick::NoInstrumentation, "", &["does not come up", "Unable to find instrumentation"]),
        (Sick::Booting, "boot_ms = 3000", &["was not up within 3 s", "still booting"]),
        (Sick::Not, "instrumentation = 'org.else/.Harness'", &["org.else is not installed"]),
    ] {
        let (ran, report) = run(&Fake::new(ONE, sick), android, &[CRASHING]);
        ran.assert_tells(3, words);
        assert!(report.is_none(), "{sick:?}");
    }
}

/// The step names a requirement that forbids the *provider* to die or hang. A device may do both.
#[test]
fn a_device_that_is_lost_in_a_call_is_an_error_and_never_a_fail() {
    for (sick, words) in [
        (Sick::CutInAnswer, "the stream to the harness was closed in the middle of a line"),
        (Sick::StalledInCall, "its harness does not answer"),
    ] {
        let (ran, report) = run(&Fake::new(ONE, sick), "", &["--exact", CRASHING]);
        ran.assert_tells(3, &[words, "the words of the app", "the words of a process that was there before"]);
        assert!(!ran.told().contains("the words of another"), "the log is not cut to what concerns the package");
        let report = report.unwrap();
        assert_eq!(outcome(&report), "error", "{sick:?}");
        assert_eq!(report["claims"].as_array().map(Vec::len), Some(0));
    }
}

#[test]
fn a_device_that_is_unplugged_is_given_up_soon() {
    let fake = Fake::new(ONE, Sick::UnpluggedInCall);
    let (ran, report) = run(&fake, "", &["cetp2/provider/5/"]);
    ran.assert_tells(3, &["not found", "given up after 3 starts"]);
    let report = report.unwrap();
    let results = report["results"].as_array().unwrap();
    let outcomes: Vec<&str> = results.iter().filter_map(|result| result["outcome"].as_str()).collect();
    assert!(outcomes.len() > 10 && outcomes.contains(&"pass") && outcomes.contains(&"error"), "{outcomes:?}");
    assert!(!outcomes.contains(&"fail"), "{outcomes:?}");
    assert!(fake.asked_in_vain() < 12, "asked {} times for a device that is gone", fake.asked_in_vain());
}

#[test]
fn a_provider_that_hangs_while_the_harness_answers_fails() {
    let (ran, report) = run(&Fake::new(ONE, Sick::HungProvider), "", &["--exact", CRASHING]);
    ran.assert_tells(1, &["did not answer within 3 s"]);
    assert_eq!(outcome(&report.unwrap()), "fail");
}

#[test]
fn the_doctor_says_what_is_there() {
    let fake = Fake::new(ONE, Sick::Not);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("target.toml");
    let toml = |package: &str| {
        let android = format!("[android]\nserver = '{}'\npackage = '{package}'\n", fake.address);
        format!("name = 'made-up'\nrole = 'provider'\nadapter = 'adb'\n{android}")
    };
    std::fs::write(&file, toml("org.example.app")).unwrap();
    let path = file.to_str().unwrap();
    cetp(&["android", "doctor", path]).assert_tells(0, &["API level 34", "the harness listens", "Nothing is wrong"]);
    let old = Fake::new(ONE, Sick::OldAndroid);
    let told = ["below API level 29 whether a PendingIntent is explicit", "below API level 31"];
    cetp(&["android", "doctor", "--server", &old.address]).assert_tells(0, &told);
    std::fs::write(&file, toml("org.example.absent")).unwrap();
    cetp(&["android", "doctor", path]).assert_tells(3, &["WRONG", "org.example.absent is not installed"]);
}

/// Approval, refusal by a text of the target file's own, and a question that is left.
#[test]
fn a_user_decides_by_touching_the_screen() {
    for (vector, touch) in [
        ("approved-call-executes-once", "input tap 820 2050"),
        ("denial-is-user-cancelled", "input tap 260 2050"),
        ("dismissed-confirmation-is-no-approval", "input keyevent KEYCODE_BACK"),
    ] {
        let fake = Fake::new(ONE, Sick::AsksOnScreen);
        let android = "[android.decisions]\ndeny = ['nein']";
        let vector = format!("cetp2/provider/4.3/{vector}");
        let (ran, report) = run(&fake, android, &["--check-protocol", "--exact", &vector]);
        ran.assert_tells(0, &[]);
        assert_eq!(outcome(&report.unwrap()), "pass", "{vector}");
        // The first touch is lost. What looks the same and belongs to another app is left alone.
        let commands = fake.commands();
        let inputs: Vec<&String> = commands.iter().filter(|command| command.starts_with("input ")).collect();
        assert_eq!(inputs, ["input keyevent KEYCODE_WAKEUP", touch, touch], "{vector}");
        let instrument = commands.iter().find(|command| command.starts_with("am instrument ")).unwrap();
        assert!(instrument.contains("-e automation none"), "{instrument}");
    }
}

#[test]
fn a_question_that_does_not_come_or_stays_is_an_error_and_never_a_verdict() {
    let denied = "cetp2/provider/4.3/denial-is-user-cancelled";
    for (sick, decisions, words) in [
        (Sick::NoScreen, "wait_ms = 1500", "no screen of org.example.app came up"),
        (Sick::AsksOnScreen, "wait_ms = 1500\ndeny = ['never']", "no button says one of"),
        (Sick::Not, "wait_ms = 1500", ""),
    ] {
        let begun = Instant::now();
        let fake = Fake::new(ONE, sick);
        let (ran, report) = run(&fake, &format!("[android.decisions]\n{decisions}"), &["--exact", denied]);
        let touched = fake.commands().iter().any(|command| command.starts_with("input tap"));
        assert!(!touched, "{sick:?}");
        let report = report.unwrap();
        if sick == Sick::Not {
            // The package has the control, and it comes first.
            assert_eq!(outcome(&report), "pass");
            continue;
        }
        ran.assert_tells(3, &[words]);
        assert_eq!(outcome(&report), "error", "{sick:?}");
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}

/// An app without the control is ended by the system, gently where that is enough.
#[test]
fn a_provider_without_a_control_for_it_is_restarted_by_the_system() {
    for (sick, force) in [(Sick::EndedBySystem, false), (Sick::EndedByForce, true)] {
        let fake = Fake::new(ONE, sick);
        let (ran, report) = run(&fake, "", &["--check-protocol", "--exact", RESTARTING]);
        ran.assert_tells(0, &[]);
        assert_eq!(outcome(&report.unwrap()), "pass", "{sick:?}");
        let commands = fake.commands();
        let has = |wanted: &str| commands.iter().any(|command| command == wanted);
        assert!(has("am kill org.example.app") && has("am force-stop org.example.app") == force, "{commands:#?}");
    }
    let (ran, report) = run(&Fake::new(ONE, Sick::NeverEnds), "", &["--exact", RESTARTING]);
    ran.assert_tells(3, &["the process of org.example.app does not end"]);
    assert_eq!(outcome(&report.unwrap()), "error");
}

#[test]
fn decisions_on_the_screen_leave_no_room_for_a_second_package() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("target.toml");
    std::fs::write(folder.path().join("second.apk"), "an app").unwrap();
    let toml = "name = 'x'\nrole = 'provider'\nadapter = 'adb'\nsubjects = ['second.apk']\n\
                [android]\npackage = 'a.b'\nsecond = 'second.apk'\n[android.decisions]\n";
    std::fs::write(&file, toml).unwrap();
    cetp(&["run", "--target", file.to_str().unwrap()]).assert_tells(2, &["do not go together"]);
}
