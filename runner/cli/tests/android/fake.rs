//! An adb server that is made up, with a device that is made up: it speaks the server's protocol, its shell knows what the
//! adapter asks, and behind the harness's socket sits the reference as a program. It can be sick in many ways.

use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub const BINARY: &str = env!("CARGO_BIN_EXE_cetp-conformance");

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sick {
    /// Nothing.
    Not,
    /// The server takes connections and never answers.
    Stalled,
    /// It answers with the half of an `OKAY`.
    CutInReply,
    /// The list of devices ends in its middle.
    CutInList,
    /// Something else listens at the port.
    OtherProtocol,
    /// Nobody listens on the harness's socket.
    RefusedStream,
    /// The device's shell closes every command without an exit code.
    ShellWithoutEnd,
    /// The instrumentation is not installed.
    NoInstrumentation,
    /// The device never comes up.
    Booting,
    /// The stream to the harness is cut in the middle of its answer about [`MARK`].
    CutInAnswer,
    /// From [`MARK`] on nothing comes from the device any more.
    StalledInCall,
    /// At [`MARK`] the device is unplugged.
    UnpluggedInCall,
    /// The harness answers everything but what is about [`MARK`]: it is the provider that hangs.
    HungProvider,
    /// Nothing; but the provider has no control for decisions, and asks on the screen. Every first touch is lost.
    AsksOnScreen,
    /// As that, and its screen never comes up.
    NoScreen,
    /// Nothing; but the provider has no control for restarts.
    EndedBySystem,
    /// As that, and it is in use, so that the system ends it by force only.
    EndedByForce,
    /// As that, and nothing ends it.
    NeverEnds,
    /// Nothing; but it is Android 9, which tells less of a PendingIntent.
    OldAndroid,
}

impl Sick {
    fn is_without_restart(self) -> bool {
        matches!(self, Sick::EndedBySystem | Sick::EndedByForce | Sick::NeverEnds)
    }

    fn is_without_hook(self) -> bool {
        matches!(self, Sick::AsksOnScreen | Sick::NoScreen)
    }
}

/// The provider's question, as `uiautomator dump` tells it.
const QUESTION: &str = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation=\"0\">\
    <node index=\"0\" text=\"Approve\" package=\"com.android.systemui\" enabled=\"true\" bounds=\"[0,0][100,100]\" />\
    <node index=\"1\" text=\"\" package=\"org.example.app\" enabled=\"true\" bounds=\"[0,0][1080,2280]\">\
    <node index=\"0\" text=\"Transfer &quot;7&quot; to x?\" package=\"org.example.app\" enabled=\"true\" bounds=\"[40,200][1040,300]\" />\
    <node index=\"1\" text=\"Nein\" package=\"org.example.app\" enabled=\"true\" bounds=\"[40,2000][480,2100]\" />\
    <node index=\"2\" text=\"APPROVE\" package=\"org.example.app\" enabled=\"true\" bounds=\"[600,2000][1040,2100]\" />\
    </node></hierarchy>";

/// What is on the screen otherwise.
const HOME: &str = "<hierarchy rotation=\"0\"><node text=\"Approve\" package=\"com.example.launcher\" enabled=\"true\" \
    bounds=\"[0,0][1080,2280]\" /></hierarchy>";

/// The screen of a provider that asks on it.
#[derive(Default)]
struct Screen {
    /// Whether the question is up.
    up: bool,
    /// Touches of this question.
    touches: u32,
    /// What was touched.
    decision: Option<&'static str>,
}

/// The number of the one message that the device itself sends to the reference.
const OWN_ID: u64 = 987_654_321;

/// What is in the message at which a session falls sick.
pub const MARK: &str = "fixture_crash";

/// The server, until the end of the test.
pub struct Fake {
    pub address: String,
    shared: Arc<Shared>,
}

struct Shared {
    version: String,
    rows: String,
    sick: Sick,
    commands: Mutex<Vec<String>>,
    /// Whether the harness's session is over, which ends the instrumentation.
    over: AtomicBool,
    /// Whether the device was unplugged, and how often it was asked for since.
    gone: AtomicBool,
    asked_in_vain: AtomicU32,
    screen: Mutex<Screen>,
    /// How the reference's program is told something, and how often its process was ended.
    input: Mutex<Option<ChildStdin>>,
    ended: AtomicU32,
    /// How often that was tried gently.
    kills: AtomicU32,
}

impl Fake {
    pub fn new(rows: &str, sick: Sick) -> Fake {
        Fake::of_version("0029", rows, sick)
    }

    pub fn of_version(version: &str, rows: &str, sick: Sick) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            version: version.into(),
            rows: rows.into(),
            sick,
            commands: Mutex::default(),
            over: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            asked_in_vain: AtomicU32::new(0),
            screen: Mutex::default(),
            input: Mutex::default(),
            ended: AtomicU32::new(0),
            kills: AtomicU32::new(0),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                thread::spawn(move || {
                    let _ = serve(connection, &shared);
                });
            }
        });
        Fake { address, shared }
    }

    /// How often a device was asked for that was unplugged.
    pub fn asked_in_vain(&self) -> u32 {
        self.shared.asked_in_vain.load(Ordering::SeqCst)
    }

    /// The commands that the device's shell was given.
    pub fn commands(&self) -> Vec<String> {
        self.shared.commands.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    if shared.sick == Sick::Stalled {
        thread::sleep(Duration::from_secs(120));
        return Ok(());
    }
    // Read before anything is answered: a connection that is closed with something unread is reset.
    let asked = request(&mut stream)?;
    match shared.sick {
        Sick::CutInReply => return stream.write_all(b"OK"),
        Sick::OtherProtocol => return stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n"),
        _ => {}
    }
    let text = |body: &str| format!("OKAY{:04x}{body}", body.len());
    if asked == "host:version" {
        return stream.write_all(text(&shared.version).as_bytes());
    }
    if asked == "host:devices-l" {
        let whole = text(&shared.rows);
        let cut = if shared.sick == Sick::CutInList { whole.len() - 5 } else { whole.len() };
        return stream.write_all(&whole.as_bytes()[..cut]);
    }
    if asked.ends_with(":features") {
        return stream.write_all(text("shell_v2,cmd").as_bytes());
    }
    let Some(serial) = asked.strip_prefix("host:transport:") else { return fail(&mut stream, "unknown host service") };
    if shared.gone.load(Ordering::SeqCst) {
        shared.asked_in_vain.fetch_add(1, Ordering::SeqCst);
        return fail(&mut stream, &format!("device '{serial}' not found"));
    }
    if !shared.rows.contains(serial) {
        return fail(&mut stream, &format!("device '{serial}' not found"));
    }
    stream.write_all(b"OKAY")?;
    let service = request(&mut stream)?;
    if let Some(command) = service.strip_prefix("shell,v2,raw:") {
        stream.write_all(b"OKAY")?;
        shared.commands.lock().unwrap().push(command.to_owned());
        return shell(stream, command, shared);
    }
    if service == "sync:" {
        stream.write_all(b"OKAY")?;
        return take_file(stream);
    }
    if service.starts_with("localabstract:") {
        if shared.sick == Sick::RefusedStream {
            return fail(&mut stream, "closed");
        }
        stream.write_all(b"OKAY")?;
        harness(stream, shared);
        shared.over.store(true, Ordering::SeqCst);
        return Ok(());
    }
    fail(&mut stream, "closed")
}

/// One file of adb's file service, which is thrown away.
fn take_file(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head)?;
        if head.starts_with(b"DONE") {
            return stream.write_all(b"OKAY\0\0\0\0");
        }
        let length = u32::from_le_bytes(head[4..].try_into().unwrap());
        stream.read_exact(&mut vec![0; usize::try_from(length).unwrap()])?;
    }
}

fn request(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut digits = [0; 4];
    stream.read_exact(&mut digits)?;
    let length = usize::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(String::from_utf8(body).unwrap())
}

fn fail(stream: &mut TcpStream, why: &str) -> std::io::Result<()> {
    stream.write_all(format!("FAIL{:04x}{why}", why.len()).as_bytes())
}

fn packet(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind][..], &u32::try_from(bytes.len()).unwrap().to_le_bytes(), bytes].concat()
}

fn shell(mut stream: TcpStream, command: &str, shared: &Shared) -> std::io::Result<()> {
    if shared.sick == Sick::ShellWithoutEnd {
        return stream.write_all(&packet(1, b"half an ans"));
    }
    if let Some(rest) = command.strip_prefix("am instrument ") {
        if shared.sick == Sick::NoInstrumentation {
            let said = "INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for: ComponentInfo{x/y}\n\
                        INSTRUMENTATION_STATUS_CODE: -1\n";
            stream.write_all(&packet(1, said.as_bytes()))?;
            return stream.write_all(&packet(3, &[1]));
        }
        let name = rest.split(" -e socket ").nth(1).unwrap().split(' ').next().unwrap();
        let said = format!("INSTRUMENTATION_STATUS: socket={name}\nINSTRUMENTATION_STATUS_CODE: 1\n");
        // In two pieces, as any stream may bring it.
        let whole = packet(1, said.as_bytes());
        stream.write_all(&whole[..20])?;
        thread::sleep(Duration::from_millis(20));
        stream.write_all(&whole[20..])?;
        while !shared.over.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
        stream.write_all(&packet(1, b"INSTRUMENTATION_CODE: -1\n"))?;
        return stream.write_all(&packet(3, &[0]));
    }
    if let Some(said) = on_screen(command, shared) {
        stream.write_all(&packet(1, said.as_bytes()))?;
        return stream.write_all(&packet(3, &[0]));
    }
    let ends = match shared.sick {
        // The first time somebody still uses it.
        Sick::EndedBySystem => {
            command == "am kill org.example.app" && shared.kills.fetch_add(1, Ordering::SeqCst) % 2 == 1
        }
        Sick::EndedByForce => command == "am force-stop org.example.app",
        _ => false,
    };
    if ends {
        shared.ended.fetch_add(1, Ordering::SeqCst);
        let message =
            json!({ "jsonrpc": "2.0", "id": OWN_ID, "method": "control.restart", "params": { "mode": "kill" } });
        writeln!(shared.input.lock().unwrap().as_mut().unwrap(), "{message}")?;
    }
    let process = (99 + shared.ended.load(Ordering::SeqCst)).to_string();
    let booted = if shared.sick == Sick::Booting { "" } else { "1" };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().to_string();
    let said = match command {
        "getprop sys.boot_completed" => booted,
        "getprop ro.build.version.sdk" if shared.sick == Sick::OldAndroid => "28",
        "getprop ro.build.version.sdk" => "34",
        "getprop ro.product.model" => "Made up",
        "pm list packages" => "package:android\npackage:org.cetp.driver.a\npackage:org.example.app",
        "settings get global window_animation_scale" => "1.0",
        "settings get global transition_animation_scale" => "0.5",
        "settings get global animator_duration_scale" => "null",
        "settings get global stay_on_while_plugged_in" => "0",
        "date +%s" => &now,
        "pidof org.cetp.driver.a org.example.app" => "66 99",
        "pidof org.example.app" => &process,
        log if log.starts_with("logcat ") => {
            "11-30 08:00:00.100 500 510 I ActivityManager: Start proc 77:org.example.app/u0a1 for content provider\n\
             11-30 08:00:00.200 77 77 E App: the words of the app\n\
             11-30 08:00:00.200 99 99 E App: the words of a process that was there before\n\
             11-30 08:00:00.300 88 88 E Other: the words of another"
        }
        _ => "",
    };
    stream.write_all(&packet(1, format!("{said}\n").as_bytes()))?;
    stream.write_all(&packet(3, &[0]))
}

/// What the screen does with a command that is for it.
fn on_screen(command: &str, shared: &Shared) -> Option<String> {
    let mut screen = shared.screen.lock().unwrap();
    if command.contains("uiautomator dump ") {
        let shown = if screen.up { QUESTION } else { HOME };
        return Some(format!("UI hierchary dumped to: /data/local/tmp/x.xml\n{shown}"));
    }
    let touched = match command {
        "input tap 820 2050" => "approve",
        "input tap 260 2050" => "deny",
        "input keyevent KEYCODE_BACK" => "dismiss",
        _ => return None,
    };
    screen.touches += 1;
    if screen.up && screen.touches > 1 {
        screen.up = false;
        screen.decision = Some(touched);
    }
    Some(String::new())
}

/// A harness whose package has no control for decisions: what it does of its own, and what is left for the reference.
fn without_hook(line: &str, shared: &Shared, finishing: &Mutex<Vec<Json>>) -> Result<String, String> {
    let mut message: Json = serde_json::from_str(line).unwrap();
    let mut screen = shared.screen.lock().unwrap();
    match message["method"].as_str().unwrap_or_default() {
        "driver.launch" => {
            *screen = Screen { up: shared.sick == Sick::AsksOnScreen, ..Screen::default() };
            Err(json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} }).to_string())
        }
        "driver.finished" => {
            finishing.lock().unwrap().push(message["id"].clone());
            message["method"] = json!("control.user");
            message["params"]["decision"] = json!(screen.decision.expect("the screen is gone, so somebody touched it"));
            Ok(message.to_string())
        }
        "control.user" => panic!("this harness has no such control"),
        _ => Ok(line.to_owned()),
    }
}

/// The reference's answer, as such a harness has it.
fn answer_without_hook(line: &str, finishing: &Mutex<Vec<Json>>) -> String {
    let mut message: Json = serde_json::from_str(line).unwrap();
    if let Some(controls) = message.pointer_mut("/result/controls").and_then(Json::as_array_mut) {
        controls.retain(|control| control != "user_decision");
    }
    if finishing.lock().unwrap().contains(&message["id"]) {
        message["result"] = message["result"]["activity_finished"].clone();
    }
    message.to_string()
}

/// The reference as a program, and lines carried between it and the runner.
fn harness(stream: TcpStream, shared: &Shared) {
    let sick = shared.sick;
    let mut child = Command::new(BINARY)
        .args(["reference", "provider"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    *shared.input.lock().unwrap() = child.stdin.take();
    let output = BufReader::new(child.stdout.take().unwrap());
    let fallen = Arc::new(AtomicBool::new(false));
    let falls = Arc::clone(&fallen);
    let finishing = Arc::new(Mutex::new(Vec::new()));
    let finished = Arc::clone(&finishing);
    let back = Arc::new(Mutex::new(stream.try_clone().unwrap()));
    let own = Arc::clone(&back);
    let answers = thread::spawn(move || {
        for line in output.lines() {
            let Ok(mut line) = line else { break };
            if sick.is_without_hook() {
                line = answer_without_hook(&line, &finished);
            }
            if sick.is_without_restart() {
                if line.contains(&OWN_ID.to_string()) {
                    continue;
                }
                line = line.replace("\"restart\",", "");
            }
            let whole = format!("{line}\n");
            let mut back = back.lock().unwrap();
            match (sick, falls.load(Ordering::SeqCst)) {
                (Sick::CutInAnswer, true) => {
                    let _ = back.write_all(&whole.as_bytes()[..whole.len() / 2]);
                    let _ = back.shutdown(Shutdown::Both);
                    break;
                }
                (Sick::StalledInCall, true) => {}
                _ => {
                    if back.write_all(whole.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        }
        let _ = back.lock().unwrap().shutdown(Shutdown::Both);
    });
    let closing = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(mut line) = line else { break };
        if sick.is_without_hook() {
            line = match without_hook(&line, shared, &finishing) {
                Ok(line) => line,
                Err(answer) => {
                    let _ = writeln!(own.lock().unwrap(), "{answer}");
                    continue;
                }
            };
        }
        if line.contains(MARK) {
            fallen.store(true, Ordering::SeqCst);
            if sick == Sick::UnpluggedInCall {
                shared.gone.store(true, Ordering::SeqCst);
                break;
            }
            if sick == Sick::HungProvider {
                continue;
            }
        }
        assert!(!sick.is_without_restart() || !line.contains("control.restart"), "this harness has no such control");
        if writeln!(shared.input.lock().unwrap().as_mut().unwrap(), "{line}").is_err() {
            break;
        }
    }
    if shared.gone.load(Ordering::SeqCst) {
        let _ = closing.shutdown(Shutdown::Both);
    }
    drop(shared.input.lock().unwrap().take());
    let _ = child.wait();
    let _ = answers.join();
}
